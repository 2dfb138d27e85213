#include "locks/explain.hpp"

#include "core/key.hpp"
#include "core/quarantine.hpp"
#include "events/utc_text.hpp"
#include "locks/check.hpp"

#include <redlock/detail/outcome.hpp>

#include <boost/asio/error.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>

namespace redlock::inline v1::locks {

namespace {

constexpr std::size_t nodes_shown = 9;

// For example `web-3:4121 for "nightly report" since 2026-11-27T10:04:12Z`. Empty: the holder leaves no label.
std::string in_words(core::holder const& by)
{
    if (by.owner.empty() && by.note.empty())
        return {};
    auto text = by.owner.empty() ? std::string("a client without a name") : events::in_one_line(by.owner);
    if (!by.note.empty())
        text += fmt::format(" for \"{}\"", events::in_one_line(by.note));
    std::chrono::seconds const since(by.since / 1000);
    if (by.since != 0 && since < events::year_10000)
        text += " since " + events::utc_text(std::chrono::sys_seconds(since));
    return text;
}

// When the last round of a failed acquisition began, or earlier: it may have waited for a connection.
clock::time_point beginning_of(manager_state const& manager, attempt_report const& r)
{
    clock::duration const round = manager.settings.connect_timeout + 2 * manager.quorum.nodes.longest_timeout();
    return manager.now() - (r.elapsed.count() > 0 ? std::min<clock::duration>(r.elapsed, round) : round);
}

}  // namespace

std::string about(detail::selection const& selected, std::string_view what)
{
    return fmt::format("redlock: {} {}", what, std::string_view(events::shown_name(selected.resources, selected.any)));
}

std::string explain(manager_state const& manager, error_code ec)
{
    if (ec != boost::asio::error::operation_aborted)
        return ec.message();
    if (manager.abandoned())
        return "the execution context of the manager has ended, or this process is a fork";
    return manager.shutdown.open() ? ec.message() : std::string(was_shut_down);
}

std::string stall_first(manager_state const& manager, clock::time_point since)
{
    auto const stall = manager.runtime.stalled_since(since);
    auto const span = manager.now() - since;
    clock::duration const answer = manager.quorum.nodes.longest_timeout();
    return stall < std::max(answer / 2, span / 10) ? std::string() : runtime::about_stall(stall) + "; ";
}

std::string explain(manager_state const& manager, detail::selection const& wanted, acquire_options const& options,
                    attempt_report const& r, other_holder const& by)
{
    auto const& nodes = manager.quorum.nodes;
    std::string refused;
    if (r.outcome == errc::invalid_argument)
        refused = check(wanted, options, manager.settings);
    if (r.outcome == errc::invalid_argument && refused.empty())
        refused = nodes.check_ttl(options.ttl);
    if (r.outcome == errc::unsupported)
        refused = nodes.lack(wanted, options.mode);
    return explain(manager, wanted, "cannot hold", refused, r, by);
}

std::string explain(manager_state const& manager, detail::selection const& wanted, std::string_view what,
                    std::string_view refused, attempt_report const& r, other_holder const& by)
{
    auto const& nodes = manager.quorum.nodes;
    auto text = about(wanted, what) + ": ";
    if (!refused.empty())
        return text.append(refused);
    auto const name = by.resource.empty() ? std::string() : std::string(events::shown_name(by.resource));
    if (by.is_here && wanted.wants_one_of_several()) {
        text += "this manager holds all of them itself";
    } else if (by.is_here) {
        text += fmt::format("this manager holds {} itself: pass the lock on, or use lock_scope",
                            name.empty() ? "it" : fmt::format("\"{}\"", name));
    } else {
        if (detail::outcome_of(r.outcome).after_stall)
            text += stall_first(manager, beginning_of(manager, r));
        text += explain(manager, r.outcome);
        if (!name.empty())
            text += fmt::format(": \"{}\"", name);
        if (auto const holder = in_words(core::holder_in(by.value)); !holder.empty())
            text += ", held by " + holder;
    }
    if (r.quarantine.count() > 0)
        text += fmt::format("; a majority votes again in {} ms", r.quarantine.count());
    if (r.outcome == boost::asio::error::operation_aborted)
        return text;
    auto const missing = missing_votes(r.nodes, nodes.quorum());
    if (!missing.empty())
        text += "; " + missing;
    bool const has_new = std::ranges::any_of(r.nodes, [](auto& n) { return n.reason == quarantine_reason::fresh; });
    if (has_new && !nodes.is_known_as_old())
        text.append("; ").append(core::way_to_found);
    return text;
}

std::shared_ptr<attempt_report const> const memory_ran_out = std::make_shared<attempt_report const>(
    attempt_report{.outcome = make_error_code(boost::system::errc::not_enough_memory),
                   .message = "redlock: memory ran out, so there is no report"});

attempt_report report_of_end(manager_state const& manager, detail::selection const& wanted, std::string_view what)
{
    attempt_report r{.outcome = boost::asio::error::operation_aborted};
    r.message = explain(manager, wanted, what, {}, r);
    return r;
}

std::string missing_votes(std::vector<node_report> const& nodes, std::size_t needed)
{
    auto const votes = [&](vote v) {
        return std::count_if(nodes.begin(), nodes.end(), [v](auto& n) { return n.vote == v; });
    };
    std::string reasons;
    std::size_t missing = 0;
    bool all_are_well = true;
    for (auto const& n : nodes) {
        if (n.vote != vote::unknown)
            continue;
        all_are_well = all_are_well && !n.error;
        if (++missing > nodes_shown)
            continue;
        bool const says_all = n.error == errc::quarantined && !n.message.empty();
        auto const what = says_all ? std::string() : n.error ? n.error.message() : "not waited for";
        reasons += fmt::format("{}{} ({}{}{})", reasons.empty() ? "" : ", ", n.name, what,
                               what.empty() || n.message.empty() ? "" : ": ", n.message);
    }
    if (all_are_well)
        return {};
    if (missing > nodes_shown)
        reasons += fmt::format(" and {} more", missing - nodes_shown);
    return fmt::format("{} of {} granted, {} denied, {} needed; no vote from {}", votes(vote::granted), nodes.size(),
                       votes(vote::denied), needed, reasons);
}

}  // namespace redlock::locks
