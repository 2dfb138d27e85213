#pragma once

#include "cli/started_tool.hpp"
#include "bed/local_server.hpp"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// Real servers, and the tool with their addresses.
struct servers {
    explicit servers(std::size_t count = 1) : all(count) {}

    std::vector<std::string> environment() const
    {
        std::vector<std::string> urls;
        for (auto const& s : all)
            urls.push_back(s.url());
        // The timeouts are long because the machine may be busy.
        return {"REDLOCK_URLS=" + one_of(urls), "REDLOCK_RESTART_GUARD=automatic", "REDLOCK_NODE_TIMEOUT=500ms",
                "REDLOCK_CONNECT_TIMEOUT=5s", "TOOL=" REDLOCK_TOOL};
    }

    tool_run tool(std::vector<std::string> arguments) const
    {
        return started_tool(std::move(arguments), environment()).wait();
    }

    tool_run run(std::vector<std::string> arguments, std::string const& redirection = "") const
    {
        return start(std::move(arguments), redirection).wait();
    }

    started_tool start(std::vector<std::string> arguments, std::string const& redirection = "") const
    {
        arguments.insert(arguments.begin(), "run");
        return started_tool(std::move(arguments), environment(), redirection);
    }

    std::string key(std::string const& name) const { return all.front().ask({"GET", "lock:" + name}); }
    bool is_free(std::string const& name) const { return key(name) == "(nil)"; }

    std::vector<testbed::local_server> all;
};

/// A fixture with real servers.
template <std::size_t count>
struct with_servers {
    servers s{count};
};

}  // namespace redlock::test
