#pragma once

#include "testbed/process.hpp"
#include "testbed/proxy_connection.hpp"

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

/** Stands between clients and servers on loopback as a network would: what is sent arrives half a round trip later, if
    at all.

    Bytes keep their order; the end of a stream and a reset travel like bytes do, and a server that refuses is a reset.
    Connections themselves are made at once. Who does not read stops the sender, 4 MiB later. The time is kept to what
    the kernel's timers allow: it is never less.

    Connections wait until it is started, in one way or the other.
*/
class proxy {
public:
    struct target {
        std::uint16_t port;                ///< on 127.0.0.1
        std::chrono::microseconds rtt{0};  ///< Zero: at once. At most an hour.
    };

    /// @throws std::runtime_error that names what failed, as do all of its functions
    explicit proxy(std::vector<target> const& targets);
    ~proxy();
    proxy(proxy const&) = delete;
    proxy& operator=(proxy const&) = delete;

    /// In a thread of its own. Before that, the process may still be forked.
    void start();

    /** In a process of its own, so that what it costs is nobody else's.

        That dies with this object, and with the thread that started it, even if that is killed. It is a fork, so there
        must be no other thread yet. It runs on the processors that the parent is allowed at this moment.
        @return the process, for its figures
    */
    pid_t start_apart();

    std::size_t size() const noexcept { return ways_.size(); }

    /// Where clients connect for the @p i-th target, on 127.0.0.1.
    std::uint16_t port(std::size_t i) const { return ways_.at(i).port; }
    std::string url(std::size_t i) const { return "redis://127.0.0.1:" + std::to_string(port(i)); }

    /// From now on, for connections that are open, too. What was held up goes on with @ref fault::none.
    void set(std::size_t i, fault f);
    void set_all(fault f);

    /// For what is read from now on, on connections that are open, too. What was read before is not overtaken.
    void set_rtt(std::size_t i, std::chrono::microseconds rtt);

    /// How many there have been.
    int connections(std::size_t i) const;

private:
    struct way {
        std::uint16_t port;
        std::uint16_t server_port;
        int listener;
        proxy_conditions* now;  ///< in memory that a process apart shares
    };

    void serve();
    int serve_apart();
    void close_all_but_listeners() const;

    std::vector<way> ways_;
    std::shared_ptr<proxy_conditions[]> conditions_;
    std::unique_ptr<boost::asio::io_context> context_;  ///< not before the fork
    std::thread thread_;
    std::optional<process> apart_;
};

}  // namespace redlock::testbed
