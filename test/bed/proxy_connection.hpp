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

/// The faults that a proxy injects into connections.
enum class fault : std::uint8_t {
    none,
    trickle,    ///< replies arrive one byte at a time
    mute,       ///< requests arrive, replies do not; the end of the fault closes connections that have lost a reply
    half_open,  ///< nothing arrives in either direction, without an error
    reset,      ///< the connection is reset in the middle of the next reply
    garbage,    ///< invalid bytes follow each reply
    refuse,     ///< new connections are reset at once
};

/// The present fault and delay of all connections to one server, and their number so far.
struct proxy_conditions {
    std::atomic<fault> what{fault::none};
    std::atomic<std::int64_t> one_way_ns{0};
    std::atomic<int> connections{0};
};

/// A connection between a client and a server, with the bytes in transit.
class proxy_connection : public std::enable_shared_from_this<proxy_connection> {
public:
    proxy_connection(boost::asio::ip::tcp::socket client, proxy_conditions& now);

    /// Connects to the server. The connection owns itself until it is closed.
    void open(std::uint16_t server_port);

private:
    using tcp = boost::asio::ip::tcp;
    using clock = std::chrono::steady_clock;
    enum class ending : std::uint8_t { none, close, reset };

    /// Bytes, or the end of the stream.
    struct piece {
        clock::time_point due;
        std::string bytes;
        ending end = ending::none;
    };

    /// One direction of the connection.
    struct lane {
        tcp::socket& from;
        tcp::socket& to;
        bool replies;
        boost::asio::steady_timer alarm{from.get_executor()};
        std::array<char, 16 << 10> buffer{};  ///< of the read in progress
        std::deque<piece> pieces{};           ///< in transit
        std::string bytes{};                  ///< bytes that are due
        ending end = ending::none;            ///< the end that follows `bytes`
        std::size_t size = 0;                 ///< bytes in `pieces` and `bytes`
        bool busy = false;                    ///< deliver() will run again
        bool full = false;                    ///< reading is stopped until there is room
        bool closed = false;
        bool lost = false;  ///< a fault has dropped a reply
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
