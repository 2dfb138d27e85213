#pragma once

#include "testbed/process.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <sys/types.h>
#include <vector>

namespace redlock::testbed {

/// A folder that goes when this object does.
class temporary_folder {
public:
    temporary_folder();
    ~temporary_folder();
    temporary_folder(temporary_folder const&) = delete;
    temporary_folder& operator=(temporary_folder const&) = delete;
    std::string const path;
};

/// The server program to use: $REDLOCK_SERVER, or "redis-server".
std::string server_program();

/** A real server process on loopback, on a port that was free.

    It dies with this object, and with the thread that started it, even if that is killed.
    The port stays the same when it is started again.
*/
class local_server {
public:
    /// Starts @p program with @p options, and with @p environment ("NAME=value") on top of ours, and waits until it answers.
    /// @throws std::runtime_error if it does not within ten seconds, with its log
    explicit local_server(std::vector<std::string> options = {}, std::string program = server_program(),
                          std::vector<std::string> environment = {});

    std::uint16_t port() const noexcept { return port_; }
    pid_t pid() const noexcept { return process_ ? process_->pid() : -1; }
    std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }
    std::string folder() const { return folder_.path; }

    void kill();    ///< SIGKILL
    void start();   ///< again, after kill
    void launch();  ///< the same, without waiting until it answers
    void pause();   ///< SIGSTOP
    void resume();  ///< SIGCONT

    /// Asks the server, over a connection made for it. See plain_client::ask.
    std::string ask(std::vector<std::string> const& command) const;

    /// How many keys it has, as text, besides those that each manager keeps there: life marker and settings.
    std::string count_keys() const;

private:
    void start_once();
    std::string log() const;

    std::vector<std::string> options_;
    std::string program_;
    std::vector<std::string> environment_;
    temporary_folder folder_;
    std::uint16_t port_ = 0;
    std::optional<process> process_;
};

/// The highest port of a server in a cluster: it talks to the others on a port that is 10,000 higher.
inline constexpr std::uint16_t highest_cluster_port = 55'535;

/// A port of the loopback interface on which nobody listens at the moment, not above @p highest.
/// @throws std::runtime_error if there is none
std::uint16_t free_port(std::uint16_t highest = 65'535);

}  // namespace redlock::testbed
