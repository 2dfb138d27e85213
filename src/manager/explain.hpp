#pragma once

#include <redlock/error.hpp>
#include <redlock/options.hpp>
#include <redlock/report.hpp>

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::detail {

class engine;

/// For people: which resource, and what became of it. Without what could disturb a terminal.
std::string about(std::string_view resource, std::string_view what);

/// What to tell a person about an acquisition that ended with `outcome`. Its message is not read.
std::string explain(engine const&, std::string const& resource, acquire_options const&, attempt_report const&);

/// Which nodes did not vote, and why; how many of those that did have granted, and how many would have to. Empty if nobody is missing.
std::string missing_votes(std::vector<node_report> const&, std::size_t needed);

}  // namespace redlock::detail
