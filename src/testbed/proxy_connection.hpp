#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::testbed {

/// What a proxy does to the connections that pass through it.
enum class fault : std::uint8_t {
    none,
    trickle,  ///< replies come one byte at a time
    mute,     ///< requests arrive, replies do not; what follows a lost one would make no sense, so the connection ends
              ///< after it
    half_open,  ///< nothing arrives in either direction, and nobody is told
    reset,      ///< the connection is reset in the middle of the next reply
    garbage,    ///< replies are followed by bytes that mean nothing
    refuse,     ///< connections are closed as soon as they are made
};

/// What is done to all connections to one server, now.
struct proxy_conditions {
    std::atomic<fault> what{fault::none};
    std::atomic<std::int64_t> one_way_ns{0};
    std::atomic<int> connections{0};
};

/// A client, a server, and what is on its way between them.
class proxy_connection : public std::enable_shared_from_this<proxy_connection> {
public:
    proxy_connection(boost::asio::ip::tcp::socket client, proxy_conditions& now);

    /// Until it is over.
    void open(std::uint16_t server_port);

private:
    using tcp = boost::asio::ip::tcp;
    using clock = std::chrono::steady_clock;
    enum class ending : std::uint8_t { none, close, reset };

    /// Bytes, or how they end.
    struct piece {
        clock::time_point due;
        std::string bytes;
        ending end = ending::none;
    };

    /// One direction.
    struct lane {
        tcp::socket& from;
        tcp::socket& to;
        bool replies;
        boost::asio::steady_timer alarm{from.get_executor()};
        std::array<char, 16 << 10> buffer{};  ///< for one read
        std::deque<piece> pieces{};           ///< on their way
        std::string bytes{};                  ///< what is due …
        ending end = ending::none;            ///< … and follows it
        std::size_t size = 0;                 ///< of all
        bool busy = false;                    ///< it will be looked at again
        bool full = false;                    ///< nothing is read, until there is room
        bool closed = false;
        bool lost = false;  ///< a reply, by a fault
    };

    void read(lane& l);
    void put(lane& l, std::string_view bytes, ending end);
    void deliver(lane& l);
    void deliver_at(lane& l, clock::time_point at);
    void write(lane& l, fault what);
    void close(bool reset);

    proxy_conditions& now_;
    tcp::socket client_, server_;
    lane requests_{client_, server_, false}, replies_{server_, client_, true};
};

}  // namespace redlock::testbed
