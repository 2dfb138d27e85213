#pragma once

#include "testbed/local_server.hpp"
#include "testbed/process.hpp"

#include <boost/json/object.hpp>
#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <fcntl.h>
#include <fstream>
#include <iterator>
#include <memory>
#include <poll.h>
#include <pty.h>
#include <sys/ioctl.h>
#include <string>
#include <string_view>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <utility>
#include <vector>

namespace redlock::test {

using namespace std::chrono_literals;
using testbed::local_server;

/// How the tool has ended, and what it has said.
struct outcome {
    int status = -1;
    std::string out{};
    std::string err{};

    boost::json::object json() const { return boost::json::parse(out).as_object(); }
};

inline std::string text_in(std::string const& path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

/// A token as the library would write it.
inline std::string token_of(std::string_view owner, char digit = 'a')
{
    return std::string(32, digit).append(":").append(owner);
}

/// Calls @p done until it says so. @return whether it did within half a minute
template <class Condition>
bool comes_true(Condition done)
{
    for (auto const end = std::chrono::steady_clock::now() + 30s; std::chrono::steady_clock::now() < end; std::this_thread::sleep_for(5ms)) {
        if (done())
            return true;
    }
    return false;
}

/// Real servers, and the tool beside them.
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

    /// On all servers, or the first @p count.
    void ask(std::vector<std::string> const& command, std::size_t count = 99)
    {
        for (std::size_t i = 0; i < std::min(count, servers.size()); ++i)
            BOOST_TEST_REQUIRE(!servers[i]->ask(command).starts_with('-'));
    }

    void set(std::string const& key, std::string const& value, std::size_t count = 99) { ask({"SET", key, value, "PX", "3600000"}, count); }

    std::vector<std::string> environment() const
    {
        // Patient, as the machine may be busy; and nothing of whoever runs the tests.
        return {"REDLOCK_URLS=" + urls, "REDLOCK_NODE_TIMEOUT=3s", "REDLOCK_CONFIG=", "REDLOCK_PREFIX=", "NO_COLOR="};
    }

    /// @param redirections  of a shell, such as ">/dev/full", or "| head"
    outcome run(std::vector<std::string> const& arguments, std::vector<std::string> const& more = {}, std::string const& redirections = "") const
    {
        auto const said = folder_.path + "/said";
        auto p = start(arguments, more, "2>" + said + " " + redirections);
        outcome o;
        o.out = p.read();
        o.status = p.wait().code();
        o.err = text_in(said);
        return o;
    }

    /// The tool as it holds a lock, which it does when this returns. It lets go when it is told to end.
    testbed::process hold(std::vector<std::string> arguments) const
    {
        arguments.insert(arguments.begin(), {"hold", "--ttl", "60s"});  // longer than a busy machine stands still
        auto p = start(arguments);
        BOOST_TEST_REQUIRE(!p.read('\n').empty());
        return p;
    }

    testbed::process start(std::vector<std::string> const& arguments, std::vector<std::string> const& more = {}, std::string const& redirections = "") const
    {
        std::vector<std::string> words{"/usr/bin/env"};
        using list = std::vector<std::string>;
        for (auto const& all : {environment(), more, list{"/bin/sh", "-c", "exec \"$0\" \"$@\" </dev/null " + redirections, REDLOCK_TOOL}, arguments})
            words.insert(words.end(), all.begin(), all.end());
        return testbed::process(words, {.piped = true});
    }

    std::vector<std::unique_ptr<local_server>> servers;
    std::string urls;

private:
    testbed::temporary_folder folder_;
};

/// A terminal, and a program that runs on it.
class terminal {
public:
    terminal(std::vector<std::string> const& words, std::vector<std::string> const& environment, unsigned short rows = 24, unsigned short columns = 100)
    {
        struct winsize const size {rows, columns, 0, 0};
        pid_ = ::forkpty(&master_, nullptr, nullptr, &size);
        BOOST_TEST_REQUIRE(pid_ >= 0);
        if (pid_ > 0)
            return;
        for (auto const& variable : environment) {
            auto const end = variable.find('=');
            ::setenv(variable.substr(0, end).c_str(), variable.substr(end + 1).c_str(), 1);
        }
        std::vector<char*> all;
        for (auto const& word : words)
            all.push_back(const_cast<char*>(word.c_str()));
        all.push_back(nullptr);
        ::execv(all.front(), all.data());
        ::_exit(127);
    }

    ~terminal()
    {
        if (pid_ > 0) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, nullptr, 0);
        }
        ::close(master_);
    }
    terminal(terminal const&) = delete;
    terminal& operator=(terminal const&) = delete;

    void type(std::string_view text) { BOOST_TEST_REQUIRE(::write(master_, text.data(), text.size()) == static_cast<ssize_t>(text.size())); }

    void resize(unsigned short rows, unsigned short columns)
    {
        struct winsize const size {rows, columns, 0, 0};
        ::ioctl(master_, TIOCSWINSZ, &size);
    }

    void signal(int number) { ::kill(pid_, number); }

    /// Whether the screen has shown @p text by now, or does within half a minute.
    bool shows(std::string_view text)
    {
        return comes_true([&] {
            read_on(10);
            return shown.find(text) != shown.npos;
        });
    }

    /// What is left to be read, and the end. @return the exit status; 128 and the signal
    int wait()
    {
        while (read_on(30'000)) {}
        int status = 0;
        ::waitpid(std::exchange(pid_, -1), &status, 0);
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

    std::string shown;

private:
    // @return whether something came
    bool read_on(int patience_ms)
    {
        pollfd p{master_, POLLIN, 0};
        char buffer[4096];
        if (::poll(&p, 1, patience_ms) <= 0)
            return false;
        auto const n = ::read(master_, buffer, sizeof buffer);
        if (n > 0)
            shown.append(buffer, static_cast<std::size_t>(n));
        return n > 0;
    }

    int master_ = -1;
    pid_t pid_ = -1;
};

}  // namespace redlock::test
