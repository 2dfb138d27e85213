#pragma once

/** @file
    The statistics of managers as text for Prometheus. Optional: `redlock.hpp` does not include it. docs/metrics.md
    lists the metrics.
*/

#include <redlock/histogram.hpp>
#include <redlock/stats.hpp>

#include <array>
#include <charconv>
#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::inline v1 {

/// The text format of metrics.
enum class metrics_format : std::uint8_t {
    prometheus,   ///< The Prometheus text format, version 0.0.4. Every version of Prometheus reads it.
    openmetrics,  ///< OpenMetrics 1.0.0. Append nothing to it.
};

/// The value of the response's header field Content-Type for a format.
constexpr char const* content_type(metrics_format f) noexcept
{
    return f == metrics_format::prometheus ? "text/plain; version=0.0.4; charset=utf-8"
                                           : "application/openmetrics-text; version=1.0.0; charset=utf-8";
}

/// The best format for a client, from the request's header field Accept.
constexpr metrics_format metrics_format_for(std::string_view accept) noexcept
{
    return accept.find("application/openmetrics-text") == accept.npos ? metrics_format::prometheus
                                                                      : metrics_format::openmetrics;
}

/// One of several managers: `{.stats = orders.stats(), .labels = {{"manager", "orders"}}}`.
struct metrics_source {
    redlock::stats stats{};  ///< The statistics of the manager: `lock_manager::stats()`.
    /// Labels on each of its samples, which distinguish it from other sources. The names must be valid for Prometheus,
    /// and must not be `group`, `le`, `node`, `outcome`, `reason` or `vote`.
    std::vector<std::pair<std::string, std::string>> labels{};
};

namespace detail {

/// The upper bounds of buckets. A bound belongs to its bucket, as exactly as lengths are known.
struct metrics_bound {
    std::chrono::nanoseconds length;
    std::string_view seconds;  ///< in OpenMetrics' canonical form
};

inline constexpr std::array<metrics_bound, 20> metrics_bounds{{
    {std::chrono::microseconds(100), "0.0001"},
    {std::chrono::microseconds(250), "0.00025"},
    {std::chrono::microseconds(500), "0.0005"},
    {std::chrono::milliseconds(1), "0.001"},
    {std::chrono::microseconds(2500), "0.0025"},
    {std::chrono::milliseconds(5), "0.005"},
    {std::chrono::milliseconds(10), "0.01"},
    {std::chrono::milliseconds(25), "0.025"},
    {std::chrono::milliseconds(50), "0.05"},
    {std::chrono::milliseconds(100), "0.1"},
    {std::chrono::milliseconds(250), "0.25"},
    {std::chrono::milliseconds(500), "0.5"},
    {std::chrono::seconds(1), "1.0"},
    {std::chrono::milliseconds(2500), "2.5"},
    {std::chrono::seconds(5), "5.0"},
    {std::chrono::seconds(10), "10.0"},
    {std::chrono::seconds(30), "30.0"},
    {std::chrono::seconds(60), "60.0"},
    {std::chrono::minutes(5), "300.0"},
    {std::chrono::hours(1), "3600.0"},
}};

/// Writes metric families, each with the samples of all sources.
class metrics_writer {
public:
    using label = std::pair<std::string_view, std::string_view>;

    metrics_writer(std::span<metrics_source const> sources, metrics_format format) : sources_(sources), format_(format)
    {
    }

    /// @param samples called with the stats of each source; it calls @ref sample
    template <class F>
    void counter(std::string_view name, std::string_view help, F samples)
    {
        begin(name, "counter", {}, help, "_total");
        of_all(samples);
    }

    template <class F>
    void gauge(std::string_view name, std::string_view help, F samples)
    {
        begin(name, "gauge", {}, help, {});
        of_all(samples);
    }

    /// A family of durations, in seconds. @param samples calls @ref lengths
    template <class F>
    void durations(std::string_view name, std::string_view help, F samples)
    {
        begin(name, "histogram", "seconds", help, {});
        of_all(samples);
    }

    /// Calls @p samples for each group, or once for all acquisitions if there are no groups.
    template <class F>
    auto by_group(F samples)
    {
        return [this, samples](stats const& s) {
            if (s.groups.empty())
                return samples(s);
            for (auto const& g : s.groups) {
                group_ = g.name;
                samples(g);
            }
            group_ = {};
        };
    }

    template <std::integral T>
    void sample(T value, std::initializer_list<label> labels = {})
    {
        line(suffix_, labels, static_cast<std::uint64_t>(value));
    }

    /// A value that may have a sign or a fraction.
    void sample(double value, std::initializer_list<label> labels = {}) { line(suffix_, labels, value); }

    void lengths(histogram const& h, std::initializer_list<label> labels = {})
    {
        auto const all = h.count();
        for (auto const& b : metrics_bounds)
            line("_bucket", labels, h.count_below(b.length), b.seconds);
        line("_bucket", labels, all, "+Inf");
        line("_sum", labels, std::chrono::duration<double>(h.sum()).count());
        line("_count", labels, all);
    }

    std::string finish()
    {
        if (format_ == metrics_format::openmetrics)
            text_ += "# EOF\n";
        return std::move(text_);
    }

private:
    void begin(std::string_view name, std::string_view type, std::string_view unit, std::string_view help,
               std::string_view suffix)
    {
        name_ = name;
        suffix_ = suffix;
        // OpenMetrics calls a family by what its samples' names have in common; Prometheus by the sample's whole name.
        auto const said =
            std::string(name).append(format_ == metrics_format::openmetrics ? std::string_view() : suffix);
        text_.append("# HELP ").append(said).append(" ").append(help);
        text_.append("\n# TYPE ").append(said).append(" ").append(type).append("\n");
        if (format_ == metrics_format::openmetrics && !unit.empty())
            text_.append("# UNIT ").append(said).append(" ").append(unit).append("\n");
    }

    template <class F>
    void of_all(F samples)
    {
        for (auto const& source : sources_) {
            source_ = &source;
            samples(source.stats);
        }
    }

    template <class T>
    void line(std::string_view suffix, std::initializer_list<label> labels, T value, std::string_view le = {})
    {
        text_.append(name_).append(suffix);
        char next = '{';
        auto add = [&](std::string_view name, std::string_view content) {
            text_ += std::exchange(next, ',');
            text_.append(name).append("=\"");
            quote(content);
            text_ += '"';
        };
        for (auto const& [name, content] : source_->labels)
            add(name, content);
        for (auto const& [name, content] : labels)
            add(name, content);
        if (!group_.empty())
            add("group", group_);
        if (!le.empty())
            add("le", le);
        if (next == ',')
            text_ += '}';
        std::array<char, 32> digits{};
        auto const end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        text_.append(" ").append(digits.data(), end).append("\n");
    }

    void quote(std::string_view content)
    {
        for (char const c : content) {
            if (c == '\\' || c == '"')
                text_ += '\\';
            c == '\n' ? text_.append("\\n") : text_.append(1, c);
        }
    }

    std::span<metrics_source const> sources_;
    metrics_format format_;
    metrics_source const* source_ = nullptr;
    std::string_view name_, suffix_, group_;
    std::string text_;
};

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
