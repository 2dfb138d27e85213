#pragma once

/** @file
    The statistics of managers as text for Prometheus. Optional: `redlock.hpp` does not include it. docs/metrics.md
    lists the metrics.
*/

#include <redlock/detail/metrics_writer.hpp>
#include <redlock/metrics_source.hpp>
#include <redlock/stats.hpp>

#include <span>
#include <string>
#include <utility>

namespace redlock::inline v1 {

namespace detail {

inline void write_acquisitions(metrics_writer& to)
{
    to.counter("redlock_acquisitions_begun", "Acquisitions that have begun, including resumptions.",
               to.by_group([&](lock_stats const& s) { to.sample(s.begun); }));
    to.counter("redlock_acquisitions", "Acquisitions that have ended.", to.by_group([&](lock_stats const& s) {
        to.sample(s.acquired, {{"outcome", "acquired"}});
        to.sample(s.joined, {{"outcome", "joined"}});
        to.sample(s.contended, {{"outcome", "contended"}});
        to.sample(s.no_quorum, {{"outcome", "no_quorum"}});
        to.sample(s.validity_exhausted, {{"outcome", "validity_exhausted"}});
        to.sample(s.quarantined, {{"outcome", "quarantined"}});
        to.sample(s.cancelled, {{"outcome", "cancelled"}});
        to.sample(s.failed, {{"outcome", "failed"}});
    }));
    to.durations("redlock_acquire_duration_seconds", "The time from the call to its outcome.",
                 to.by_group([&](lock_stats const& s) {
                     to.lengths(s.time_to_acquire, {{"outcome", "acquired"}});
                     to.lengths(s.time_to_fail, {{"outcome", "failed"}});
                 }));
    to.durations("redlock_wait_seconds",
                 "The part of an acquisition before the round that was won: for holders and connections.",
                 to.by_group([&](lock_stats const& s) { to.lengths(s.time_waited); }));
    to.counter("redlock_rounds", "Rounds of acquisitions, won or lost.", [&](stats const& s) { to.sample(s.rounds); });
    to.counter("redlock_second_rounds", "Second rounds with fencing, because too few nodes took the proposed token.",
               [&](stats const& s) { to.sample(s.second_rounds); });
    to.gauge("redlock_waiters", "Acquisitions under way that may wait.", [&](stats const& s) { to.sample(s.waiting); });
    to.gauge("redlock_operations", "Operations under way or waiting, including renewals.",
             [&](stats const& s) { to.sample(s.running); });
}

inline void write_locks(metrics_writer& to)
{
    to.gauge("redlock_held", "Locks that are held.", [&](stats const& s) { to.sample(s.held); });
    to.durations("redlock_hold_seconds", "How long locks were held: released, detached or lost.",
                 to.by_group([&](lock_stats const& s) { to.lengths(s.time_held); }));
    to.durations("redlock_validity_left_seconds", "The validity left when locks were released.",
                 to.by_group([&](lock_stats const& s) { to.lengths(s.validity_left); }));
    to.counter("redlock_released", "Locks that were released before they were lost.",
               to.by_group([&](lock_stats const& s) { to.sample(s.released); }));
    to.counter("redlock_detached", "Locks that were left to another process.",
               to.by_group([&](lock_stats const& s) { to.sample(s.detached); }));
    to.counter("redlock_lost", "Locks that were held and could not be kept, by the reason.",
               to.by_group([&](lock_stats const& s) {
                   to.sample(s.lost_expired, {{"reason", "expired"}});
                   to.sample(s.lost_refused, {{"reason", "refused"}});
                   to.sample(s.lost_max_hold, {{"reason", "max_hold"}});
               }));
    to.durations("redlock_loop_lag_seconds",
                 "How late the manager's alarms rang: a handler blocked the event loop, or the process was paused.",
                 [&](stats const& s) { to.lengths(s.loop_lag); });
    to.durations("redlock_renewal_slack_seconds", "The validity left when automatic extensions succeeded.",
                 to.by_group([&](lock_stats const& s) { to.lengths(s.renewal_slack); }));
    to.counter("redlock_renewals_late", "Automatic extensions with less than a fifth of the validity left.",
               [&](stats const& s) { to.sample(s.renewals_late); });
    to.counter("redlock_renewals", "Automatic extensions, by their outcome.", [&](stats const& s) {
        to.sample(s.renewals, {{"outcome", "extended"}});
        to.sample(s.renewals_failed, {{"outcome", "failed"}});
    });
    to.counter("redlock_keys_healed", "Keys set again on nodes that had forgotten them.",
               [&](stats const& s) { to.sample(s.healed); });
    to.counter("redlock_keys_cleaned", "Keys released in the background.",
               [&](stats const& s) { to.sample(s.cleaned); });
    to.gauge("redlock_keys_to_clean", "Keys still to be released in the background.",
             [&](stats const& s) { to.sample(s.cleaning); });
}

inline void write_nodes(metrics_writer& to)
{
    auto const of_each = [](auto then) {
        return [then](stats const& s) {
            for (auto const& n : s.nodes)
                then(n);
        };
    };
    to.gauge("redlock_node_up", "Whether the manager is connected to a node.", of_each([&](node_stats const& n) {
                 to.sample(int(n.connected), {{"node", n.name}});
             }));
    to.gauge("redlock_quarantined", "Whether a node has restarted and does not vote yet.",
             of_each([&](node_stats const& n) {
                 to.sample(int(n.quarantine.count() > 0), {{"node", n.name}});
             }));
    to.counter("redlock_node_votes", "Votes of nodes in acquisitions and extensions.",
               of_each([&](node_stats const& n) {
                   to.sample(n.granted, {{"node", n.name}, {"vote", "granted"}});
                   to.sample(n.denied, {{"node", n.name}, {"vote", "denied"}});
                   to.sample(n.unknown, {{"node", n.name}, {"vote", "unknown"}});
               }));
    to.counter("redlock_node_connections", "Connections that were made.", of_each([&](node_stats const& n) {
                   to.sample(n.connections, {{"node", n.name}});
               }));
    to.durations("redlock_node_rtt_seconds", "From a request to the node's answer.", of_each([&](node_stats const& n) {
                     to.lengths(n.round_trip, {{"node", n.name}});
                 }));
}

}  // namespace detail

/** Writes all statistics of managers as text for Prometheus, or for OpenMetrics.

    docs/metrics.md lists the names, which do not change.

    There is no label for resources, because their number is not limited. A manager with N nodes has 163 + 29 N samples.
    Each group (`acquire_options::group`) adds 152; there are at most 65, besides acquisitions without a group.

    @param sources One source for each manager of the process, with labels that distinguish them. Each metric is
    described once for all sources.
    @param format The format that the client reads: see @ref metrics_format_for .

    @return the whole text, to be sent as it is

    @par Thread safety
    May be called from any thread. It reads only its arguments, and waits for nothing.
*/
inline std::string prometheus_text(std::span<metrics_source const> sources,
                                   metrics_format format = metrics_format::prometheus)
{
    detail::metrics_writer to(sources, format);
    detail::write_acquisitions(to);
    detail::write_locks(to);
    detail::write_nodes(to);
    return to.finish();
}

/// Writes the statistics of the only manager of a process: `prometheus_text(locks.stats())`. The other function of this
/// name is for several managers.
inline std::string prometheus_text(stats s, metrics_format format = metrics_format::prometheus)
{
    metrics_source const only{.stats = std::move(s)};
    return prometheus_text({&only, 1}, format);
}

/// The earlier name of @ref prometheus_text .
[[deprecated("use prometheus_text")]] inline std::string to_metrics(std::span<metrics_source const> sources,
                                                                    metrics_format format = metrics_format::prometheus)
{
    return prometheus_text(sources, format);
}

/// The earlier name of @ref prometheus_text .
[[deprecated("use prometheus_text")]] inline std::string to_metrics(stats s,
                                                                    metrics_format format = metrics_format::prometheus)
{
    return prometheus_text(std::move(s), format);
}

}  // namespace redlock
