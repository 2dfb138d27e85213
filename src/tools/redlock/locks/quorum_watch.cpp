#include "tools/redlock/locks/quorum_watch.hpp"

#include "tools/redlock/locks/lasting_cause.hpp"
#include "tools/redlock/args/output.hpp"
#include "core/quarantine.hpp"

#include <boost/asio/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <string_view>
#include <utility>

namespace redlock::cli {

namespace {

using namespace std::chrono_literals;

// How long a cause may last that often passes. The name of a pod appears when it is ready. A new password reaches the
// server and its clients at different times.
constexpr clock::duration patience = 1min;

// Whether the address of @p node always means the same server. Sentinels, a cluster or a list of hosts do not.
bool names_one_server(std::string_view node)
{
    auto const is_in_name = [node](std::string_view part) { return node.find(part) != node.npos; };
    return !is_in_name(",") && !is_in_name("-sentinel://") && !is_in_name("-cluster://");
}

bool is_missing(node_report const& n) { return n.vote == vote::unknown && n.error; }

}  // namespace

void quorum_watch::acquisition_begun(events::acquisition_begun const& e) { since_ = e.when; }

void quorum_watch::round_decided(events::round_decided const& e)
{
    if (e.draws_token || e.outcome == boost::asio::error::operation_aborted)
        return;
    bool const had_quorum = !nodes_.empty() && !lacks_quorum();
    outcome_ = e.outcome;
    now_ = e.when;
    nodes_.assign(e.nodes.begin(), e.nodes.end());
    if (had_quorum && lacks_quorum())
        since_ = e.when;
    for (auto const& n : nodes_)
        note_node(n);
    if (changed)
        changed();
}

void quorum_watch::node_quarantined(events::node_quarantined const& e)
{
    histories_[std::string(e.node)].quarantined_until = e.when + e.remaining;
}

void quorum_watch::note_node(node_report const& n)
{
    auto& h = histories_[n.name];
    h.has_voted = h.has_voted || n.vote != vote::unknown;
    auto const cause = is_unknown_host(n) ? error_code(boost::asio::error::host_not_found) : n.error;
    if (cause != std::exchange(h.cause, cause))
        h.since = now_;
}

bool quorum_watch::lacks_quorum() const { return outcome_ == errc::no_quorum || outcome_ == errc::quarantined; }

std::optional<exit_status> quorum_watch::lasting_status() const
{
    return lasting_status_of(nodes_, [this](auto& n) { return lasts(n); });
}

// Whether the cause of a missing vote is lasting. A node that has voted before may vote again. A read-only one was the
// primary. A server that refuses a password, or cannot be used, is being changed.
bool quorum_watch::lasts(node_report const& n) const
{
    auto const& h = histories_.find(n.name)->second;
    if (n.error == errc::node_read_only)
        return !h.has_voted && names_one_server(n.name);
    if (is_unknown_host(n))
        return now_ - h.since >= patience && names_one_server(n.name);
    bool const is_old = now_ - h.since >= patience;
    if (n.error == errc::unsupported_server)  // also if a name leads to two servers for a while, or tables are made
        return is_old && names_one_server(n.name);
    return n.error != errc::authentication_failed || !h.has_voted || is_old;
}

std::string quorum_watch::missing_nodes() const { return nodes_in_words(is_missing); }

std::string quorum_watch::news() const
{
    return nodes_in_words([this](auto& n) { return is_news(n); });
}

std::string quorum_watch::nodes_in_words(std::function<bool(node_report const&)> const& counts) const
{
    std::string missing;
    for (auto const& n : nodes_) {
        if (counts(n))
            missing += fmt::format("{}{} ({})", missing.empty() ? "" : ", ", n.name, why(n));
    }
    bool const waits = outcome_ == errc::quarantined;
    bool const all_are_new = waits && std::ranges::all_of(nodes_, [this](auto& n) { return is_new(n); });
    return fmt::format("too few nodes {}: {}{}{}", waits ? "vote yet" : "answer", printable(missing),
                       all_are_new ? "; " : "", all_are_new ? core::way_to_found : std::string_view());
}

std::string quorum_watch::why(node_report const& n) const
{
    auto const until = histories_.find(n.name)->second.quarantined_until;
    auto const left = std::chrono::ceil<std::chrono::milliseconds>(until - clock::now());
    if (n.reason && left > 0ms)
        return fmt::format("{}; it votes in {}", core::in_words(*n.reason), in_words(left));
    return n.error.message() + (n.message.empty() ? "" : ": ") + n.message;
}

// Whether the node may be one of a set that nobody has founded yet. A node that is away may be one, too.
bool quorum_watch::is_new(node_report const& n) const
{
    bool const may_be_new = n.error != errc::quarantined || n.reason == quarantine_reason::fresh;
    return n.vote == vote::unknown && !histories_.find(n.name)->second.has_voted && may_be_new;
}

bool quorum_watch::is_news(node_report const& n) const
{
    return is_missing(n) && !told_.contains(cause(n.name, n.error));
}

bool quorum_watch::has_news() const
{
    return std::ranges::any_of(nodes_, [this](auto& n) { return is_news(n); });
}

void quorum_watch::set_told()
{
    for (auto const& n : nodes_) {
        if (is_missing(n))
            told_.emplace(n.name, n.error);
    }
}

}  // namespace redlock::cli
