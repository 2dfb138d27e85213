#pragma once

#include "tools/serve/client_loads.hpp"
#include "tools/serve/event_stream.hpp"
#include "tools/serve/session.hpp"

#include <boost/asio/any_io_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::serve {

/// All sessions of one instance of the service.
class sessions {
public:
    sessions(asio::any_io_executor e, lock_manager& m, waiting_requests const& w, access const& who,
             lock_ids const& ids, client_loads& l)
        : executor_(std::move(e)), manager_(m), waiting_(w), who_(who), ids_(ids), loads_(l)
    {
    }

    std::shared_ptr<session> open(std::string const& client, session::options);

    /// The session with this id. Null: there is none, or it belongs to another client.
    std::shared_ptr<session> find(std::string_view id, std::string const& client) const;

    /// The stream of the events of a session, which ends the stream before. When it is destroyed, the session waits for
    /// a reconnection, or ends. A session that has waited leaves its locks: its client may have moved them.
    /// @param last_seen the last event that the client has; 0: none
    /// @param connection  the number of the connection that reads the stream
    std::shared_ptr<event_stream> stream_of(std::shared_ptr<session>, std::uint64_t last_seen, std::size_t connection);

    /// The session holds the lock from now on.
    void add(session&, lock handle, lock_ticket, std::chrono::milliseconds ttl);

    /// Moves a lock from the session that holds it to another one. Null: it stays where it is.
    /// @return whether a session holds the lock
    bool move(std::string const& token, std::shared_ptr<session> const& to);

    /// The lock with this token. Null: no session holds it.
    std::shared_ptr<session_lock> find_lock(std::string const& token) const;

    /// The session that holds the lock with this token. Null: no session does.
    std::shared_ptr<session> holder_of(std::string const& token) const;

    /// Removes the lock from the session that holds it. Null: no session does.
    std::shared_ptr<session_lock> take(std::string const& token);

    void end(session&, session::at_end);

    /// Ends the sessions for which @p must_end is true. Their locks stay until their time to live is over.
    /// @return how many
    std::size_t end_if(std::function<bool(session const&)> const& must_end);

    std::size_t count() const noexcept { return all_.size(); }

    /// Tells all clients that the service ends.
    void stop();

    std::size_t size() const noexcept { return all_.size(); }
    std::size_t sessions_of(std::string const& client) const;
    std::size_t locks_of(std::string const& client) const;

private:
    class stream;

    /// The numbers are kept, because each request that acquires a lock asks for them.
    struct of_client {
        std::size_t sessions = 0, locks = 0;
    };

    void forget(std::string const& token);
    void count_left(session const&);

    asio::any_io_executor const executor_;
    lock_manager& manager_;
    waiting_requests const& waiting_;
    access const& who_;
    lock_ids const& ids_;
    client_loads& loads_;
    std::map<std::string, std::shared_ptr<session>, std::less<>> all_;  ///< by id
    std::map<std::string, of_client> of_clients_{};
    std::map<std::string, session*> holders_{};  ///< by token
};

}  // namespace redlock::serve
