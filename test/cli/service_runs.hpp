#pragma once

#include "cli/running_service.hpp"

#include <algorithm>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// Starts the tool with these services or nodes. The timeouts are for busy machines.
inline started_tool start_over(std::vector<std::string> const& all, std::vector<std::string> arguments,
                               std::string const& connect_timeout = "30s")
{
    std::vector<std::string> line{"--node-timeout", "3s"};
    for (auto const& url : all)
        line.insert(line.end(), {"-u", url});
    line.insert(line.end(), arguments.begin(), arguments.end());
    auto environment = without_nodes();
    environment.insert(environment.end(), {"TOOL=" REDLOCK_TOOL, "REDLOCK_CONNECT_TIMEOUT=" + connect_timeout});
    return started_tool(std::move(line), std::move(environment));
}

inline tool_run over(std::vector<std::string> const& all, std::vector<std::string> arguments)
{
    return start_over(all, std::move(arguments)).wait();
}

/// A service with two instances on three servers.
struct two_instances {
    real_servers r{3};
    std::unique_ptr<service> one = std::make_unique<service>(r, std::vector<std::string>{"--fencing"});
    service two{r, {"--fencing"}};
    testbed::temporary_folder folder;

    std::vector<std::string> both() const { return {one->url(), two.url()}; }

    std::vector<std::string> nodes() const
    {
        std::vector<std::string> all;
        for (auto const& s : r.servers)
            all.push_back(s->url());
        return all;
    }

    bool is_held(std::string const& name)
    {
        return two.ask(verb::get, "/v1/locks/" + name).json().at("locked").as_bool();
    }

    void end_command() { std::ofstream(folder.path + "/end") << "now"; }

    /// A shell command that prints "in", and runs until end_command().
    std::string lasting_command() const
    {
        return "echo in; while ! [ -e " + folder.path + "/end ]; do sleep 0.05; done";
    }

    long left_of(std::string const& name) { return std::stol(r[0].ask({"PTTL", "lock:" + name})); }

    /// Whether the lock is renewed from now on.
    bool is_renewed(std::string const& name)
    {
        auto lowest = left_of(name);
        return comes_true([&] {
            auto const left = left_of(name);
            lowest = std::min(lowest, left);
            return left > lowest;
        });
    }
};

}  // namespace redlock::test
