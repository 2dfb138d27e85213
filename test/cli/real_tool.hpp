#pragma once

#include "cli/started_tool.hpp"
#include "testbed/process.hpp"

#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// The program `redlock` as it was built, in an environment that names no nodes.
class real_tool {
public:
    /// @param environment  "NAME=value", on top of ours
    explicit real_tool(std::vector<std::string> environment = {}) : environment_(std::move(environment))
    {
        for (auto const* name : {"REDLOCK_URLS", "REDLOCK_CONFIG", "REDLOCK_PREFIX", "NO_COLOR"})
            environment_.push_back(std::string(name) + '=');
        environment_.emplace_back("REDLOCK_RESTART_GUARD=automatic");  // the servers are new
    }

    /// Runs it to its end.
    tool_run run(std::vector<std::string> arguments) const { return started_tool(std::move(arguments), environment_).wait(); }

    /// Starts it; what it prints is for process::read.
    testbed::process start(std::vector<std::string> arguments) const
    {
        arguments.insert(arguments.begin(), REDLOCK_TOOL);
        return testbed::process(std::move(arguments), {.environment = environment_, .piped = true});
    }

private:
    std::vector<std::string> environment_;
};

}  // namespace redlock::test
