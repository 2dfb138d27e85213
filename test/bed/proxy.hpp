#pragma once

#include "bed/process.hpp"
#include "bed/proxy_connection.hpp"

#include <boost/asio/io_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <thread>
#include <vector>

namespace redlock::testbed {

/** Simulates a network between clients and servers on loopback: bytes arrive half a round trip later, or never.

    Bytes keep their order. The end of a stream and a reset are delayed like bytes. If the server refuses the
    connection, the client gets a reset. The proxy accepts connections without a delay. If a receiver does not read, the
    sender is stopped after 4 MiB. The delay is never shorter than configured; the kernel's timers may make it longer.

    Connections wait until start() or start_apart() is called.
*/
class proxy {
public:
    struct target {
        std::uint16_t port;                ///< on 127.0.0.1
        std::chrono::microseconds rtt{0};  ///< 0 to 1 h
    };

    /// @throws std::runtime_error that names the failed call, like all functions of the proxy
    explicit proxy(std::vector<target> const& targets);
    ~proxy();
    proxy(proxy const&) = delete;
    proxy& operator=(proxy const&) = delete;

    /// Serves connections in a thread of its own. The process may be forked only before this call.
    void start();

    /** Serves connections in a process of its own, so that its processor time does not count as the caller's.

        The process ends with this object, and with the thread that started it, even if that is killed. It is a fork, so
        the caller must have no other thread yet. It runs on the processors that the parent may use now.
        @return the process, to measure it
    */
    pid_t start_apart();

    std::size_t size() const noexcept { return ways_.size(); }

    /// The port on 127.0.0.1 at which clients connect to the @p i-th target.
    std::uint16_t port(std::size_t i) const { return ways_.at(i).port; }
    std::string url(std::size_t i) const { return "redis://127.0.0.1:" + std::to_string(port(i)); }

    /// Sets the fault of all connections to a target, open ones included. @ref fault::none delivers delayed bytes.
    void set(std::size_t i, fault f);
    void set_all(fault f);

    /// Sets the delay of bytes that are read from now on, on open connections, too. They never overtake earlier bytes.
    void set_rtt(std::size_t i, std::chrono::microseconds rtt);

    /// The number of connections to the @p i-th target so far.
    int connections(std::size_t i) const;

private:
    struct way {
        std::uint16_t port;
        std::uint16_t server_port;
        int listener;
        proxy_conditions* now;  ///< in memory shared with the process of start_apart()
    };

    void serve();
    int serve_apart();
    void close_all_but_listeners() const;

    std::vector<way> ways_;
    std::shared_ptr<proxy_conditions[]> conditions_;
    std::unique_ptr<boost::asio::io_context> context_;  ///< created after the fork
    std::thread thread_;
    std::optional<process> apart_;
};

}  // namespace redlock::testbed
