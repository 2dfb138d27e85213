#pragma once

#include "locks/manager_state.hpp"
#include "events/shown_name.hpp"

#include <redlock/detail/selection.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/lock_error.hpp>
#include <redlock/options.hpp>
#include <redlock/report.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::inline v1::locks {

/// Why operations end that the manager's shutdown aborts.
inline constexpr std::string_view was_shut_down = "the manager was shut down";

/// Text for people: the resources and what happened to them, without characters that could disturb a terminal.
std::string about(detail::selection const&, std::string_view what);

/// The message of @p ec. If an operation was aborted, the message tells whether the manager has ended. On the strand.
std::string explain(manager_state const&, error_code ec);

/// If the process did not run the manager for a considerable part of the time since @p since: a sentence about that,
/// with "; " at its end. Otherwise empty. On the strand.
std::string stall_first(manager_state const&, clock::time_point since);

/// The holder of the lock that an acquisition was denied, as far as it is known.
struct other_holder {
    std::string_view resource{};  ///< the one of several resources that is held; empty: unknown
    std::string_view value{};     ///< the value of that resource, if a node has told it
    bool is_here = false;         ///< this manager holds it
};

/// The message about an acquisition or resumption that ended with the report's `outcome`.
/// @param what what happened
/// @param refused why nothing was sent; empty: something was
std::string explain(manager_state const&, detail::selection const&, std::string_view what, std::string_view refused,
                    attempt_report const&, other_holder const& = {});

/// The message about an acquisition that ended with the report's `outcome`; the report's own message is not read.
std::string explain(manager_state const&, detail::selection const&, acquire_options const&, attempt_report const&,
                    other_holder const& = {});

/// Lists the nodes that did not vote and their errors, and counts the votes. Empty if no node failed.
std::string missing_votes(std::vector<node_report> const&, std::size_t needed);

/// The report of an acquisition or resumption after the execution context has ended, or in a fork. Any thread.
/// @param what what happened
attempt_report report_of_end(manager_state const&, detail::selection const&, std::string_view what);

/// The report if there is no memory for another one.
extern std::shared_ptr<attempt_report const> const memory_ran_out;

/// Adds the report to @p outcome that @p make makes.
template <class Make>
void give_report(detail::reported_error& outcome, Make make) noexcept
try {
    outcome.report = std::make_shared<attempt_report const>(make());
} catch (...) {  // out of memory
}

/// Gives the caller the report that it asked for: in @p outcome, and in @p lock if `acquire_options::explain` is set.
/// @param explains an error needs one, too
template <class Make>
void give_report(detail::reported_error& outcome, lock_handle& lock, acquire_options const& options, bool explains,
                 Make make) noexcept
{
    if (options.explain || (outcome && explains))
        give_report(outcome, make);
    if (options.explain)
        detail::access::report_of(lock) = outcome.report ? outcome.report : memory_ran_out;
}

/// Ends such a call. Any thread.
inline void end_without_context(manager_state const& manager, detail::selection const& wanted, std::string_view what,
                                acquire_options const& options, bool explains, detail::acquire_handler handler)
{
    detail::reported_error outcome(asio::error::operation_aborted);
    lock_handle none;
    give_report(outcome, none, options, explains, [&] { return report_of_end(manager, wanted, what); });
    handler(std::move(outcome), std::move(none));
}

}  // namespace redlock::locks
