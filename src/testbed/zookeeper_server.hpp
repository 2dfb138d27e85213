#pragma once

#include "testbed/local_server.hpp"
#include "testbed/process.hpp"

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace redlock::testbed {

/// The jars of a ZooKeeper server, as a class path: $REDLOCK_ZOOKEEPER, or those of Debian's packages. Empty: there is none, or no Java.
std::string zookeeper_class_path();

/** A real ZooKeeper server on loopback, on ports that were free. Its tick is a tenth of a second. It dies with this object, and with the thread
    that started it. The ports stay the same when it is started again.
*/
class zookeeper_server {
public:
    /// What a server of an ensemble is told of the others.
    struct place {
        std::uint16_t port;
        int number;                        ///< from 1 on; 0: it is alone
        std::vector<std::string> servers;  ///< such as "server.1=127.0.0.1:2:3"
    };

    /// Alone. @p settings: lines of zoo.cfg. @p properties: such as "-Dzookeeper.enforceQuota=true"
    /// @throws std::runtime_error if it does not start within a minute, with its log
    explicit zookeeper_server(std::vector<std::string> settings = {}, std::vector<std::string> properties = {});

    /// One of several; does not wait until it answers.
    explicit zookeeper_server(place);

    std::uint16_t port() const noexcept { return place_.port; }
    pid_t pid() const noexcept { return process_ ? process_->pid() : -1; }
    std::string url(std::string const& rest = {}) const { return "zookeeper://127.0.0.1:" + std::to_string(port()) + rest; }
    std::string folder() const { return folder_.path + "/data"; }

    void kill();      ///< SIGKILL
    void start();     ///< again, after kill, and waits until it answers
    void launch();    ///< without waiting
    void wait();      ///< until it answers
    void pause();     ///< SIGSTOP
    void resume();
    void forget();    ///< deletes its data, after kill

    /// What it says to a word of four letters, such as "srvr" or "dump"; empty: nothing.
    std::string ask(std::string const& word) const;

private:
    std::string log() const;

    place place_;
    std::vector<std::string> settings_, properties_;
    temporary_folder folder_;
    std::optional<process> process_;
};

/// Several that are one ensemble.
class zookeeper_ensemble {
public:
    explicit zookeeper_ensemble(std::size_t members);

    zookeeper_server& operator[](std::size_t i) { return members_[i]; }
    zookeeper_server& leader();  ///< waits until there is one
    std::string url(std::string const& rest = {}) const;

private:
    std::deque<zookeeper_server> members_;
};

}  // namespace redlock::testbed
