#pragma once

#include "tools/serve/access.hpp"
#include "tools/serve/event_queue.hpp"
#include "tools/serve/lock_ids.hpp"
#include "tools/serve/waiting_requests.hpp"

#include <redlock/lock_manager.hpp>
#include <redlock/lock_ticket.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>

namespace redlock::serve {

/// A lock that a session holds.
struct session_lock {
    explicit session_lock(asio::any_io_executor e) : timer(std::move(e)) {}

    asio::steady_timer timer;  ///< wakes its watch
    lock handle{};
    lock_ticket ticket{};
    std::string id{};  ///< which the client knows; the keys may have changed since
    std::chrono::milliseconds ttl{};
    std::uint64_t number = 0;  ///< its place in the session: each lock has a greater one than those before
    std::string waiters{};     ///< the clients about which the session has sent the event `wanted`
};

/** The locks of a client that reads a stream of events. The manager renews them until the session ends. A session
    without a stream ends when its grace is over.
*/
class session : public std::enable_shared_from_this<session> {
public:
    struct options {
        std::chrono::milliseconds grace{0};  ///< how long the session waits for a reconnection
        bool wanted = false;                 ///< whether it tells about clients that wait for its locks
    };

    /// @param lost is called with the token of each lock that the session loses
    session(asio::any_io_executor, lock_manager&, waiting_requests const&, access const&, lock_ids const&,
            std::string id, std::string client, options, std::function<void(std::string const&)> lost);

    std::string const& id() const noexcept { return id_; }
    std::string const& client() const noexcept { return client_; }
    std::chrono::milliseconds grace() const noexcept { return how_.grace; }
    bool is_over() const noexcept { return over_; }
    std::map<std::string, std::shared_ptr<session_lock>> const& locks() const noexcept { return locks_; }

    void add(std::shared_ptr<session_lock>);

    /// The lock with this token. Null: there is none.
    std::shared_ptr<session_lock> find(std::string const& token) const;

    /// The session no longer holds the lock. Null: it did not.
    std::shared_ptr<session_lock> take(std::string const& token);

    event_queue& events() noexcept { return events_; }

    /// The fields of a lock of this session, with the id that its client knows.
    boost::json::object json_of(session_lock const&) const;

    /// A stream reads the events from now on. It begins with the validity of all locks.
    /// @param connection  see @ref connection
    void attached(std::size_t connection);

    /// The number of the connection that reads the events, or was the last one to read them.
    std::size_t connection() const noexcept { return connection_; }

    /// Calls @p ends when the grace is over, unless the client reconnects. @param stream the one that has ended. @p
    /// ends must keep the session alive.
    void wait_for_reconnection(std::uint64_t stream, std::function<void()> ends);

    enum class at_end {
        release,  ///< the locks, in the background
        leave,    ///< the locks until their time to live is over
    };

    /// Ends the stream.
    void end(at_end);

    /// Tells the client that the service ends. The locks stay on the nodes until their time to live is over.
    void stop();

private:
    asio::awaitable<void> watch(std::shared_ptr<session_lock>);
    asio::awaitable<void> look_for_waiters();
    asio::awaitable<void> look_for_waiters_of(session_lock&);
    bool holds(session_lock const&) const;
    std::optional<event_queue::held_lock> told(std::string const& token) const;

    asio::any_io_executor const executor_;
    lock_manager& manager_;
    waiting_requests const& waiting_;
    access const& who_;
    lock_ids const& ids_;
    std::string const id_, client_;
    options const how_;
    std::function<void(std::string const&)> const lost_;
    event_queue events_;
    asio::steady_timer grace_timer_, look_timer_;
    std::map<std::string, std::shared_ptr<session_lock>> locks_;  ///< by token
    std::uint64_t added_ = 0;                                     ///< the locks that the session has ever had
    std::size_t connection_ = 0;                                  ///< of the latest stream
    bool over_ = false, looks_ = false;
};

}  // namespace redlock::serve
