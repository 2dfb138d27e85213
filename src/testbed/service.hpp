#pragma once

#include <csignal>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace redlock::testbed {

/// A program of ours that serves on loopback, and says on its first line where: "http://127.0.0.1:PORT/".
class service {
public:
    /// Starts @p program with @p options, and with @p environment ("NAME=value") on top of ours.
    /// @throws std::runtime_error if it does not say so
    service(std::string program, std::vector<std::string> options, std::vector<std::string> environment = {});
    ~service();  ///< SIGKILL, unless it was stopped
    service(service const&) = delete;
    service& operator=(service const&) = delete;

    std::uint16_t port() const noexcept { return port_; }
    pid_t pid() const noexcept { return pid_; }

    /// Waits for its end. @return its exit status; -1: it was killed by a signal, or had been stopped before
    int stop(int signal = SIGTERM);

private:
    pid_t pid_ = -1;
    std::uint16_t port_ = 0;
};

}  // namespace redlock::testbed
