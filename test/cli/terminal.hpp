#pragma once

#include "cli/started_tool.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <poll.h>
#include <pty.h>
#include <regex>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

namespace redlock::test {

/// A terminal with a program that runs on it.
class terminal {
public:
    /// @param environment  "NAME=value", added to the environment of this process
    terminal(std::vector<std::string> const& words, std::vector<std::string> const& environment,
             unsigned short rows = 24, unsigned short columns = 100)
    {
        struct winsize const size{rows, columns, 0, 0};
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
        testbed::process::default_signals();
        ::execvp(all.front(), all.data());
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

    void type(std::string_view text)
    {
        BOOST_TEST_REQUIRE(::write(master_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
    }

    void resize(unsigned short rows, unsigned short columns)
    {
        struct winsize const size{rows, columns, 0, 0};
        ::ioctl(master_, TIOCSWINSZ, &size);
    }

    void signal(int number) { ::kill(pid_, number); }

    /// Whether the screen shows @p text within a minute, after the text of the previous call.
    bool shows(std::string_view text)
    {
        auto const found = comes_true([&] {
            read_on(10);
            return shown.find(text, seen_) != shown.npos;
        });
        if (found)
            seen_ = shown.find(text, seen_) + text.size();
        else
            BOOST_TEST_MESSAGE(shown);
        return found;
    }

    /// Whether the screen shows text that matches the pattern within a minute.
    bool shows(std::regex const& pattern)
    {
        return comes_true([&] {
            read_on(10);
            return std::regex_search(shown.substr(seen_), pattern);
        });
    }

    /// Makes later calls of @ref shows ignore the text that is shown until now.
    void forget() { seen_ = shown.size(); }

    /// Whether the program is stopped within a minute. Call it before you send SIGCONT, which is lost if it comes
    /// before the stop.
    bool stops()
    {
        return comes_true([&] {
            read_on(10);
            return text_of("/proc/" + std::to_string(pid_) + "/stat").find(") T ") != std::string::npos;
        });
    }

    /// Whether another process group than that of the program has the terminal within a minute.
    bool gives_the_terminal_away()
    {
        return comes_true([&] {
            read_on(10);
            return ::tcgetpgrp(master_) != pid_;
        });
    }

    /// Reads the rest of the output, and waits for the end. Kills the program if it does not end within a minute.
    /// @return the exit status, or 128 + the signal
    int wait()
    {
        int status = 0;
        if (!comes_true([&] {
                while (read_on(10)) {
                }
                return ::waitpid(pid_, &status, WNOHANG) == pid_;
            })) {
            ::kill(pid_, SIGKILL);
            ::waitpid(pid_, &status, 0);
        }
        pid_ = -1;
        while (read_on(0)) {
        }
        return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }

    int end_by(std::string_view keys)
    {
        type(keys);
        return wait();
    }

    std::string shown;

private:
    // @return whether there was output
    bool read_on(int timeout_ms)
    {
        pollfd p{master_, POLLIN, 0};
        char buffer[4096];
        if (::poll(&p, 1, timeout_ms) <= 0)
            return false;
        auto const n = ::read(master_, buffer, sizeof buffer);
        if (n > 0)
            shown.append(buffer, static_cast<std::size_t>(n));
        return n > 0;
    }

    std::size_t seen_ = 0;
    int master_ = -1;
    pid_t pid_ = -1;
};

}  // namespace redlock::test
