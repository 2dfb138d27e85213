#pragma once

#include "testbed/process.hpp"

#include <csignal>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::testbed {

/// A program of ours that serves on loopback, and says on its first line where: "http://127.0.0.1:PORT/".
class service {
public:
    /// Starts @p program with @p options, and with @p environment ("NAME=value") on top of ours.
    /// @throws std::runtime_error if it does not say so
    service(std::string const& program, std::vector<std::string> options, std::vector<std::string> environment = {});

    std::uint16_t port() const noexcept { return port_; }
    pid_t pid() const noexcept { return process_.pid(); }

    /// Waits for its end. @return its exit status; -1: it was killed by a signal, or had been stopped before
    int stop(int signal = SIGTERM);

private:
    process process_;
    std::uint16_t port_ = 0;
};

}  // namespace redlock::testbed
