#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>

namespace redlock::test {

/// What a proxy does to the connections that pass through it.
enum class fault : std::uint8_t {
    none,
    delay,      ///< every piece comes @ref faulty_proxy::delay_ms later
    trickle,    ///< replies come one byte at a time
    deaf,       ///< requests arrive, replies do not
    half_open,  ///< nothing arrives in either direction, and nobody is told
    reset,      ///< the connection is reset in the middle of the next reply
    garbage,    ///< the next reply is followed by bytes that mean nothing
    refuse,     ///< connections are closed as soon as they are made
};

/// A TCP proxy on loopback, in a thread of its own, between a client and the server on @p port.
class faulty_proxy {
public:
    explicit faulty_proxy(std::uint16_t port);
    void start();  ///< begins to accept, in a thread; until then connections wait
    ~faulty_proxy();
    faulty_proxy(faulty_proxy const&) = delete;
    faulty_proxy& operator=(faulty_proxy const&) = delete;

    std::string url() const { return "redis://127.0.0.1:" + std::to_string(port_); }

    /// From now on, for connections that are open, too. What was held up goes on with @ref fault::none.
    void set(fault f) noexcept { fault_ = f; }

    std::atomic<int> delay_ms{20};

    std::atomic<int> connections{0};

private:
    struct session;
    void accept();

    boost::asio::io_context context_{1};
    boost::asio::ip::tcp::acceptor acceptor_;
    std::uint16_t const server_port_;
    std::uint16_t const port_;
    std::atomic<fault> fault_{fault::none};
    std::thread thread_;
};

}  // namespace redlock::test
