#pragma once

#include "relay/delay_line.hpp"

#include "core/schedule.hpp"

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::bench {

class relay_connection;

/// What all connections of a relay share.
struct relay_hub {
    int epoll = -1;
    core::schedule<delay_line::time_point> alarms;
    std::size_t finished = 0;  ///< connections that are over and to be destroyed
    char buffer[64 << 10];     ///< for one read
};

/// The relay's end of a connection to a client or to a server. Events of the epoll instance point to one.
struct relay_side {
    relay_side(relay_connection& c, int s) : owner(c), socket(s) {}

    void deliver();

    relay_connection& owner;
    int socket;
    std::uint32_t events = 0;  ///< what is waited for …
    bool registered = false;   ///< … if at all
    bool writable = false;     ///< not before it is connected
    bool ended = false;        ///< it has said its last word …
    bool closed = false;       ///< … and heard it
    bool broken = false;
    delay_line arriving;       ///< from the other side
    core::alarm<delay_line::time_point> alarm{[this] { deliver(); }};
};

/** A client, a server, and what is on its way between them.

    Ends by itself, see @ref finished; it is destroyed when no event of the present wait can point to it any more.
*/
class relay_connection {
public:
    /// Takes both sockets, which must not block. That to the server need not be connected yet.
    relay_connection(relay_hub& h, int client, int server, std::atomic<std::int64_t> const& one_way_ns);
    ~relay_connection() { close(); }
    relay_connection(relay_connection const&) = delete;
    relay_connection& operator=(relay_connection const&) = delete;

    bool finished() const noexcept { return finished_; }

    void on_event(relay_side& s, std::uint32_t events);

    /// Gives @p s what is due by now.
    void deliver_to(relay_side& s);

private:
    relay_side& other(relay_side& s) noexcept { return &s == &client_ ? server_ : client_; }
    delay_line::time_point arrival() const;
    void read(relay_side& s);
    bool write(relay_side& s);
    void on_reset(relay_side& s);
    void reset(relay_side& s);
    void set_alarm(relay_side& s);
    void watch(relay_side& s);
    void finish();
    void close();

    relay_hub& hub_;
    std::atomic<std::int64_t> const& one_way_ns_;
    relay_side client_;
    relay_side server_;
    bool finished_ = false;
};

}  // namespace redlock::bench
