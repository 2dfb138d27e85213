#pragma once

#include "bed/process.hpp"

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::testbed {

/// A program of this project that serves on loopback, and prints its address first: "http://127.0.0.1:PORT/".
class service {
public:
    /// Starts @p program with @p options, and adds @p environment ("NAME=value") to ours.
    /// @throws std::runtime_error if it does not print its address
    service(std::string const& program, std::vector<std::string> options, std::vector<std::string> environment = {});

    std::uint16_t port() const noexcept { return port_; }
    pid_t pid() const noexcept { return process_.pid(); }

    /// Sends @p signal, and waits for the end. @return the exit status; -1: a signal ended it, or it had ended before
    int stop(int signal = SIGTERM);

private:
    process process_;
    std::uint16_t port_ = 0;
};

}  // namespace redlock::testbed
