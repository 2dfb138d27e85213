#include "tools/redlock/locks/lasting_cause.hpp"

#include "core/quorum.hpp"

#include <redlock/detail/outcome.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <cstddef>

namespace redlock::cli {

namespace {

constexpr lasting_cause unknown_host{wrong_configuration, "correct the name of the host"};

}  // namespace

// Compares messages: every store resolves names with Asio and passes on its message. If the name server does not
// answer, the message is different.
bool is_unknown_host(node_report const& n)
{
    auto const words = error_code(boost::asio::error::host_not_found).message();
    return n.error == errc::node_unreachable && n.message.find(words) != n.message.npos;
}

std::optional<lasting_cause> lasting_cause_of(node_report const& n)
{
    if (n.vote != vote::unknown)
        return std::nullopt;
    if (is_unknown_host(n))
        return unknown_host;
    auto const known = detail::outcome_of(n.error);
    if (known.kind != detail::outcome_kind::node || known.temporary)
        return std::nullopt;
    lasting_cause cause{static_cast<exit_status>(known.exit_status), known.way_out};
    bool const is_redis = n.name.starts_with("redis") || n.name.starts_with("unix://");
    if (n.error == errc::permission_denied && !is_redis)
        cause.way_out = "let an administrator grant what is missing";
    return cause;
}

std::optional<exit_status> lasting_status_of(std::span<node_report const> nodes,
                                             std::function<bool(node_report const&)> const& lasts)
{
    std::size_t lasting = 0;
    exit_status status = no_quorum;
    for (auto const& n : nodes) {
        auto const cause = lasting_cause_of(n);
        if (!cause || !lasts(n))
            continue;
        ++lasting;
        bool const is_refused = status == no_permission || cause->status == no_permission;
        status = is_refused ? no_permission : std::max(status, cause->status);
    }
    return nodes.size() - lasting < core::majority(nodes.size()) ? std::optional(status) : std::nullopt;
}

std::string ways_out(std::span<node_report const> nodes)
{
    std::string all;
    for (auto const& n : nodes) {
        auto const cause = lasting_cause_of(n);
        if (cause && all.find(cause->way_out) == all.npos)
            all.append("; ").append(cause->way_out);
    }
    return all;
}

exit_status status_of(error_code ec) { return static_cast<exit_status>(detail::outcome_of(ec).exit_status); }

// If waiting cannot help, the status tells the caller not to try again.
exit_status status_of(attempt_report const& r)
{
    auto const status = status_of(r.outcome);
    return status == no_quorum ? lasting_status_of(r.nodes).value_or(no_quorum) : status;
}

}  // namespace redlock::cli
