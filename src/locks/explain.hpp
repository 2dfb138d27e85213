#pragma once

#include "quorum/node_set.hpp"
#include "runtime/shown_name.hpp"

#include <redlock/config.hpp>
#include <redlock/detail/selection.hpp>
#include <redlock/error.hpp>
#include <redlock/options.hpp>
#include <redlock/lock_error.hpp>
#include <redlock/report.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::inline v0::locks {

/// Text for people: the resources and what happened to them, without characters that could disturb a terminal.
std::string about(detail::selection const&, std::string_view what);

/// The message about an acquisition or resumption that ended with the report's `outcome`.
/// @param what what happened
/// @param refused why nothing was sent; empty: something was
/// @param taken see below
/// @param holder the value of that resource, if a node has told it
std::string explain(quorum::node_set const&, detail::selection const&, std::string_view what, std::string_view refused,
                    attempt_report const&, std::string_view taken = {}, std::string_view holder = {});

/// The message about an acquisition that ended with the report's `outcome`; the report's own message is not read.
/// @param taken the resource that somebody else holds; empty: unknown
/// @param holder the value of that resource, if a node has told it
std::string explain(config const&, quorum::node_set const&, detail::selection const&, acquire_options const&,
                    attempt_report const&, std::string_view taken = {}, std::string_view holder = {});

/// Lists the nodes that did not vote and their errors, and counts the votes. Empty if no node failed.
std::string missing_votes(std::vector<node_report> const&, std::size_t needed);

/// Gives the caller the reports that it asked for: in @p wanted, and in the error if the call @p explains.
/// @p make makes a report.
template <class Make>
void give_reports(detail::reported_error& outcome, attempt_report* wanted, bool explains, Make make) noexcept
try {
    if (wanted)
        *wanted = make();
    if (outcome && explains)
        outcome.report = std::make_shared<attempt_report const>(wanted ? *wanted : make());
} catch (...) {  // out of memory: the caller gets only the error code
}

}  // namespace redlock::locks
