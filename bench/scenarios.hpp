#pragma once

#include "options.hpp"
#include "result.hpp"

#include <functional>
#include <string>
#include <vector>

namespace redlock::bench {

std::vector<std::string> scenario_names();

/// Called with what is being measured, before each measurement.
using progress = std::function<void(std::string const& what)>;

/// @throws std::runtime_error if a scenario cannot be run, or a server fails
std::vector<result> run_scenario(std::string const& name, options const&, progress const&);

}  // namespace redlock::bench
