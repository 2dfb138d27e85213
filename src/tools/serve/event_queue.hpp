#pragma once

#include <redlock/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <set>
#include <string>

namespace redlock::serve {

namespace asio = boost::asio;

/** The events of a session, in the format of server-sent events. One stream at a time reads them. After a
    reconnection, another stream continues after the last event that the client has.

    If a client does not read, its events do not fill the memory: beyond @ref events_bytes, the oldest are forgotten,
    and the stream ends.

    The queue must not be destroyed while @ref next is under way.
*/
class event_queue {
public:
    /// A lock that is held, for the event `valid`.
    struct held_lock {
        boost::json::object data{};
        clock::time_point valid_until{};
    };

    /// @param id the events have the ids ID.1, ID.2, …
    /// @param keeps_sent whether the latest events are kept for a reconnection
    /// @param lock_of returns the lock with a token. Nothing: it is not held any more
    event_queue(asio::any_io_executor, std::string id, bool keeps_sent,
                std::function<std::optional<held_lock>(std::string const&)> lock_of);

    /// @param valid_until makes the fields `valid_for_ms`, the time left when the event is sent, and `valid_until_ms`:
    /// the time from the beginning of the stream
    void add(std::string name, boost::json::object const& data, std::optional<clock::time_point> valid_until = {});

    /// Sends the event `valid` of a lock, as it is when it is sent. The event has no id, and is not repeated.
    void tell_validity(std::string const& token);

    /// Begins a stream, and ends the one before it. @param last_seen the last event that the client has; 0: none
    std::uint64_t attach(std::uint64_t last_seen);

    bool is_current(std::uint64_t stream) const noexcept { return stream == stream_; }

    /// Waits for events.
    /// @return text for the stream, also a comment after a while without events. None: the stream is over.
    asio::awaitable<std::optional<std::string>> next(std::uint64_t stream);

    /// No event follows. The stream ends after the last one.
    void close();

private:
    struct event {
        std::string name;
        std::string data;  ///< a JSON object
        std::optional<clock::time_point> valid_until;

        std::size_t size() const noexcept { return name.size() + data.size(); }
    };

    std::string text_of(event const&) const;
    bool has_news() const noexcept { return next_ < first_ + events_.size() || !untold_.empty() || is_cut_; }
    void forget_first();

    asio::steady_timer wake_;
    std::string const id_;
    bool const keeps_sent_;
    std::function<std::optional<held_lock>(std::string const&)> const lock_of_;
    std::deque<event> events_;
    std::size_t size_ = 0;          ///< of all events_, in bytes
    std::set<std::string> untold_;  ///< tokens of locks whose validity the stream has not told yet
    clock::time_point opened_{};    ///< when the present stream began
    std::uint64_t first_ = 1;       ///< the number of the first event of events_
    std::uint64_t next_ = 1;        ///< the number of the event that is sent next
    std::uint64_t stream_ = 0;
    bool closed_ = false, is_cut_ = false;  ///< is_cut_: an event was forgotten before the present stream sent it
};

}  // namespace redlock::serve
