#pragma once

#include "testbed/local_server.hpp"
#include "testbed/process.hpp"

#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// How a run of the tool has ended.
struct tool_run {
    int status = 0;         ///< -1: by a signal
    std::string out{};
    std::string err{};

    /// Each line of what it printed, which must be JSON.
    std::vector<boost::json::object> documents() const
    {
        std::vector<boost::json::object> all;
        std::istringstream lines(out);
        for (std::string line; std::getline(lines, line);)
            all.push_back(boost::json::parse(line).as_object());
        return all;
    }
};

/// The program `redlock` as it was built, in an environment that names no nodes.
class real_tool {
public:
    /// @param environment  "NAME=value", on top of ours
    explicit real_tool(std::vector<std::string> environment = {}) : environment_(std::move(environment))
    {
        for (auto const* name : {"REDLOCK_URLS", "REDLOCK_CONFIG", "REDLOCK_PREFIX", "NO_COLOR"})
            environment_.push_back(std::string(name) + '=');
    }

    /// Runs it to its end.
    tool_run run(std::vector<std::string> arguments) const
    {
        testbed::temporary_folder const folder;
        auto const out = folder.path + "/out", err = folder.path + "/err";
        std::vector<std::string> words{"/bin/sh", "-c", "exec \"$@\" >" + out + " 2>" + err + " </dev/null", "sh", REDLOCK_TOOL};
        words.insert(words.end(), arguments.begin(), arguments.end());
        testbed::process program(words, {.environment = environment_});
        auto const end = program.wait();
        return {.status = end.code(), .out = content(out), .err = content(err)};
    }

    /// Starts it; what it prints is for process::read.
    testbed::process start(std::vector<std::string> arguments) const
    {
        arguments.insert(arguments.begin(), REDLOCK_TOOL);
        return testbed::process(std::move(arguments), {.environment = environment_, .piped = true});
    }

private:
    static std::string content(std::string const& path)
    {
        std::ifstream file(path);
        return {std::istreambuf_iterator<char>(file), {}};
    }

    std::vector<std::string> environment_;
};

}  // namespace redlock::test
