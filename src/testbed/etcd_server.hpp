#pragma once

#include "testbed/local_server.hpp"
#include "testbed/process.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace redlock::testbed {

/// The program: $REDLOCK_ETCD, or the one that is found in the path. Empty: there is none.
std::string etcd_program();

/// What talks to it for @ref etcd_server::ask, which Debian has in another package, etcd-client. Empty: there is none.
std::string etcdctl_program();

/** A real etcd member on loopback, on ports that were free. It dies with this object, and with the thread that started it. The ports stay
    the same when it is started again.
*/
class etcd_server {
public:
    /// What a member of a cluster is told of the others.
    struct place {
        std::uint16_t port, peer_port;
        std::string name;
        std::string cluster;  ///< such as "a=http://127.0.0.1:1,b=…"
        std::string client_scheme = "http";
    };

    /// Alone. @p options: such as "--quota-backend-bytes=1000000"
    /// @throws std::runtime_error if it does not start within a minute, with its log
    explicit etcd_server(std::vector<std::string> options = {}, std::string scheme = "http");

    /// One of several; does not wait until it answers.
    etcd_server(place, std::vector<std::string> options);

    std::uint16_t port() const noexcept { return place_.port; }
    pid_t pid() const noexcept { return process_ ? process_->pid() : -1; }
    std::string url(std::string const& parameters = {}) const { return "etcd://127.0.0.1:" + std::to_string(port()) + parameters; }
    std::string folder() const { return folder_.path + "/data"; }

    void kill();      ///< SIGKILL
    void start();     ///< again, after kill, and waits until it answers
    void launch();    ///< without waiting
    void wait();      ///< until it answers
    void pause();     ///< SIGSTOP
    void resume();
    void forget();    ///< deletes its data, after kill

    /// What etcdctl prints, without the last line feed; "error: …"
    std::string ask(std::vector<std::string> words) const;

private:
    std::string log() const;

    place place_;
    std::vector<std::string> options_;
    temporary_folder folder_;
    std::optional<process> process_;
};

/// Several that are one cluster.
class etcd_cluster {
public:
    explicit etcd_cluster(std::size_t members);

    etcd_server& operator[](std::size_t i) { return members_[i]; }
    etcd_server& leader();  ///< waits until there is one
    std::string url(std::string const& parameters = {}) const;
    std::string url_of_others(etcd_server const&, std::string const& parameters = {}) const;

private:
    std::deque<etcd_server> members_;
};

}  // namespace redlock::testbed
