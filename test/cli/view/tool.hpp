#pragma once

#include "cli/started_tool.hpp"
#include "bed/local_server.hpp"
#include "bed/process.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::test {

using namespace std::chrono_literals;
using testbed::local_server;

/// A token in the form of the library.
inline std::string token_of(std::string_view owner, char digit = 'a')
{
    return std::string(32, digit).append(":").append(owner);
}

/// Real servers, and the tool with their addresses.
class tool {
public:
    explicit tool(std::size_t count, std::vector<std::string> const& options = {})
    {
        for (std::size_t i = 0; i < count; ++i)
            servers.push_back(std::make_unique<local_server>(options));
        for (auto const& s : servers)
            urls += (urls.empty() ? "" : ",") + s->url();
    }

    local_server& operator[](std::size_t i) { return *servers[i]; }

    /// Sends a command to all servers, or to the first @p count.
    void ask(std::vector<std::string> const& command, std::size_t count = 99)
    {
        for (std::size_t i = 0; i < std::min(count, servers.size()); ++i)
            BOOST_TEST_REQUIRE(!servers[i]->ask(command).starts_with('-'));
    }

    void set(std::string const& key, std::string const& value, std::size_t count = 99)
    {
        ask({"SET", key, value, "PX", "3600000"}, count);
    }

    std::vector<std::string> environment() const
    {
        // The timeouts are long because the machine may be busy. The empty values hide the caller's environment.
        return {"REDLOCK_URLS=" + urls,
                "REDLOCK_RESTART_GUARD=automatic",
                "REDLOCK_NODE_TIMEOUT=3s",
                "REDLOCK_CONNECT_TIMEOUT=5s",
                "REDLOCK_CONFIG=",
                "REDLOCK_PREFIX=",
                "NO_COLOR="};
    }

    /// Runs the tool to its end. @param redirections  for a shell, such as ">/dev/full" or "| head"
    tool_run run(std::vector<std::string> const& arguments, std::vector<std::string> const& more = {},
                 std::string const& redirections = "") const
    {
        auto const said = folder_.path + "/said";
        auto p = start(arguments, more, "2>" + said + " " + redirections);
        tool_run o;
        o.out = p.read();
        o.status = p.wait().code();
        o.err = text_of(said);
        return o;
    }

    /// Starts `redlock hold`, and returns when it holds the lock. It releases the lock when it ends.
    testbed::process hold(std::vector<std::string> arguments) const
    {
        arguments.insert(arguments.begin(), {"hold", "--ttl", "60s"});  // longer than pauses of a busy machine
        auto p = start(arguments);
        BOOST_TEST_REQUIRE(!p.read('\n').empty());
        return p;
    }

    testbed::process start(std::vector<std::string> const& arguments, std::vector<std::string> const& more = {},
                           std::string const& redirections = "") const
    {
        std::vector<std::string> words{"/usr/bin/env"};
        using list = std::vector<std::string>;
        for (auto const& all :
             {environment(), more, list{"/bin/sh", "-c", "exec \"$0\" \"$@\" </dev/null " + redirections, REDLOCK_TOOL},
              arguments})
            words.insert(words.end(), all.begin(), all.end());
        return testbed::process(words, {.piped = true});
    }

    std::vector<std::unique_ptr<local_server>> servers;
    std::string urls;

private:
    testbed::temporary_folder folder_;
};

/// A fixture with real servers.
template <std::size_t servers>
struct with_servers {
    tool t{servers};
};

/// A fixture in which "web" holds the lock x on all servers.
template <std::size_t servers>
struct held_by_web : with_servers<servers> {
    held_by_web() { this->t.set("lock:x", token_of("web")); }
};

}  // namespace redlock::test
