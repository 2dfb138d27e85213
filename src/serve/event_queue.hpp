#pragma once

#include <redlock/clock.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

namespace redlock::serve {

namespace asio = boost::asio;

/** The events of a session, in the format of server-sent events. One stream at a time reads them. After a
    reconnection, another stream continues after the last event that the client has.

    The queue must not be destroyed while @ref next is under way.
*/
class event_queue {
public:
    /// @param id the events have the ids ID.1, ID.2, …
    /// @param keeps_sent whether the latest events are kept for a reconnection
    event_queue(asio::any_io_executor, std::string id, bool keeps_sent);

    /// @param valid_until makes the fields `valid_for_ms`, the time left when the event is sent, and `valid_until_ms`:
    /// the time from the beginning of the stream
    void add(std::string name, boost::json::object data, std::optional<clock::time_point> valid_until = {});

    /// Sends the event `valid` of a lock, unless a newer one takes its place before. It has no id, and is not repeated.
    void set_validity(std::string const& token, boost::json::object data, clock::time_point valid_until);

    /// The lock is not held any more.
    void forget_validity(std::string const& token) { validities_.erase(token); }

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
        boost::json::object data;
        std::optional<clock::time_point> valid_until;
    };

    std::string text_of(event const&) const;
    bool has_news() const noexcept { return next_ < first_ + events_.size() || !validities_.empty(); }

    asio::steady_timer wake_;
    std::string const id_;
    bool const keeps_sent_;
    std::deque<event> events_;
    std::map<std::string, event> validities_;  ///< by token: what the stream has not told yet
    clock::time_point opened_{};               ///< when the present stream began
    std::uint64_t first_ = 1;                  ///< the number of the first event of events_
    std::uint64_t next_ = 1;                   ///< the number of the event that is sent next
    std::uint64_t stream_ = 0;
    bool closed_ = false;
};

}  // namespace redlock::serve
