#pragma once

#include "bed/server_process.hpp"
#include "versus/peers.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::versus {

/// The servers of a trial. Workers keep their locks there.
class lock_store {
public:
    virtual ~lock_store() = default;

    virtual std::size_t size() const { return 1; }
    virtual testbed::server_process& server(std::size_t) = 0;

    /// The URL for a worker that connects to @p port on 127.0.0.1.
    virtual std::string url(std::uint16_t port) const = 0;

    /// Deletes the key of the lock's holder on all servers, as an operator would.
    virtual void delete_lock() = 0;

    /// The names of the keys of locks, tombstones of redlock included. Keys that a store keeps without any lock are not
    /// among them: redlock's life markers, settings and fencing counters, and the persistent nodes of ZooKeeper.
    virtual std::vector<std::string> keys() const = 0;
};

/// Starts fresh servers. @throws std::runtime_error with the log of a server that does not start
std::unique_ptr<lock_store> start_store(bench::lock_servers);

/// The name of the server, and its version.
std::pair<std::string, std::string> server_version(bench::lock_servers);

}  // namespace redlock::versus
