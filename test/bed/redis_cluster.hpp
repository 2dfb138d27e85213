#pragma once

#include "bed/local_server.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::testbed {

/// A Redis Cluster: masters that share the slots, and their replicas.
class redis_cluster {
public:
    /// Starts the cluster, and waits until it is ready. Each master has @p replicas. The masters have the first
    /// indexes; then come the replicas of the first master, and so on.
    explicit redis_cluster(std::size_t masters = 3, std::size_t replicas = 0, std::vector<std::string> options = {});

    local_server& operator[](std::size_t i) { return servers_[i]; }
    std::string url(std::string const& credentials = {}) const;

    /// The index of the running master that serves the slot of @p key. Each server is asked about itself.
    std::size_t owner(std::string const& key) const;

    /// The two functions move the slot of @p key and its keys from one master to another.
    void begin_to_move(std::string const& key, std::size_t from, std::size_t to);
    void end_moving(std::string const& key, std::size_t from, std::size_t to);

    /// Tells all servers that master @p to serves the slot of @p key, as `redis-cli --cluster fix` does. No key is
    /// moved.
    void give(std::string const& key, std::size_t to);

    /// Waits until all other servers say that server @p i, which is dead or hangs, has failed.
    void wait_for_failure(std::size_t i) const;

    /// Waits until each running server says that the cluster is ok and complete.
    void wait() const;

private:
    std::string slot(std::string const& key) const { return servers_.front().ask({"CLUSTER", "KEYSLOT", key}); }
    std::string id(std::size_t i) const { return servers_[i].ask({"CLUSTER", "MYID"}); }

    std::deque<local_server> servers_;
};

}  // namespace redlock::testbed
