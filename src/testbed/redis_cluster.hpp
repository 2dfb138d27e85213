#pragma once

#include "testbed/local_server.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::testbed {

/// Masters that share the slots of a cluster, and their replicas.
class redis_cluster {
public:
    /// Waits until all is well. Each master has @p replicas. Behind the masters come the replicas of the first one, and
    /// so on.
    explicit redis_cluster(std::size_t masters = 3, std::size_t replicas = 0, std::vector<std::string> options = {});

    local_server& operator[](std::size_t i) { return servers_[i]; }
    std::string url(std::string const& credentials = {}) const;

    /// Which of the servers is the master that has the slot of @p key, by the word of those that are running.
    std::size_t owner(std::string const& key) const;

    /// Moves the slot of @p key, with what is in it, from one master to another.
    void begin_to_move(std::string const& key, std::size_t from, std::size_t to);
    void end_moving(std::string const& key, std::size_t from, std::size_t to);

    /// Gives the slot of @p key to a master by the word of the operator, as `redis-cli --cluster fix` does; nothing is
    /// moved.
    void give(std::string const& key, std::size_t to);

    /// Waits until a running server says that server @p i, which is dead or hangs, has failed.
    void wait_for_failure(std::size_t i) const;

    /// Until each running server says that the cluster is well.
    void wait() const;

private:
    std::string slot(std::string const& key) const { return servers_.front().ask({"CLUSTER", "KEYSLOT", key}); }
    std::string id(std::size_t i) const { return servers_[i].ask({"CLUSTER", "MYID"}); }

    std::deque<local_server> servers_;
};

}  // namespace redlock::testbed
