#pragma once

#include "sample.hpp"

#include <chrono>
#include <cstddef>
#include <memory>
#include <string>

namespace redlock::bench {

/// Opens a blocking connection to @p address as the service prints it: "http://127.0.0.1:PORT" or "unix:PATH".
/// @throws std::system_error
int connect_to_service(std::string const& address);

/** Clients of a running `redlock serve`. Each has a connection and a lock of its own, which it acquires and releases.

    They share the processors with the service, so they do little. Their requests are prepared. They read only the
    status, the length and the id of an answer.
*/
class http_load {
public:
    /// @param address as the service prints it
    /// @throws std::system_error
    http_load(std::string const& address, std::size_t clients);
    ~http_load();

    /// A cycle is the request that acquires and the one that releases. The sample has the processor time of the
    /// clients.
    /// @throws std::runtime_error if the service closes a connection, or does not answer for five seconds
    sample run(std::chrono::milliseconds duration);

private:
    class client;
    std::unique_ptr<client[]> clients_;
    std::size_t const count_;
    int const epoll_;
};

}  // namespace redlock::bench
