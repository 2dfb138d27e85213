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

/// For people: which resources, and what became of them. Without what could disturb a terminal.
std::string about(detail::selection const&, std::string_view what);

/// What to tell a person about an acquisition, or what goes on with one, that ended with the report's `outcome`: @p
/// what became of it.
/// @p refused: what is wrong, if nothing was sent. @p taken: see below.
std::string explain(quorum::node_set const&, detail::selection const&, std::string_view what, std::string_view refused,
                    attempt_report const&, std::string_view taken = {});

/// The same about an acquisition that ended with `outcome`. Its message is not read. @p taken: which of several
/// resources somebody else has; empty: that is not known.
std::string explain(config const&, quorum::node_set const&, detail::selection const&, acquire_options const&,
                    attempt_report const&, std::string_view taken = {});

/// Which nodes did not vote, and why; how many of those that did have granted, and how many would have to. Empty if
/// nobody is missing.
std::string missing_votes(std::vector<node_report> const&, std::size_t needed);

/// Gives the caller the reports that it asked for: in @p wanted, and, if the call @p explains, in an error. @p make
/// makes them.
template <class Make>
void give_reports(detail::reported_error& outcome, attempt_report* wanted, bool explains, Make make) noexcept
try {
    if (wanted)
        *wanted = make();
    if (outcome && explains)
        outcome.report = std::make_shared<attempt_report const>(wanted ? *wanted : make());
} catch (...) {  // out of memory: the code must do
}

}  // namespace redlock::locks
