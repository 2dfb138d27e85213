#pragma once

#include "stores/kit/expiries.hpp"
#include "stores/kit/pending_queue.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::stores::kit {

/// The code for one kind of store: it connects to a server, and encodes commands. All functions run on the executor.
class driver {
public:
    class owner {
    public:
        /// @return keeps the owner alive, and so the driver
        virtual std::shared_ptr<void> keep_alive() = 0;

        virtual std::shared_ptr<kit::expiries> const& expiries() const noexcept = 0;

        /// Numbers the next connection. @return its number
        virtual std::uint32_t next_connection() noexcept = 0;

        /// The number of the latest connection.
        virtual std::uint32_t connection() const noexcept = 0;

        /// The driver has connected to the servers with this @p id, and the number of their latest change.
        /// @return with an error: why the servers must not vote
        virtual node_reply check_server(std::string const& id, std::int64_t change) = 0;
        virtual void heard(std::int64_t change) = 0;

        /// The connection is up, and the servers may vote. @param words text for the log
        virtual void up(std::string_view words) = 0;

        /// The session has ended, and all locks with it. @param what the word for the session, such as "lease"
        virtual void lost(std::string_view what) = 0;

        virtual void flush_soon() = 0;

        /// Updates the expiries with the reply to a command: see @ref expiries::note.
        virtual void note(node_command const&, node_reply&, clock::time_point sent,
                          clock::time_point kept = clock::time_point::max()) = 0;

        /// Notifies the manager that a key has changed. Empty: changes may have been missed.
        virtual void tell(std::string const& name) = 0;

    protected:
        ~owner() = default;
    };

    virtual ~driver() = default;

    /// Connects to a server, and returns when the connection has ended. @return why it has ended
    virtual asio::awaitable<node_reply> visit(std::size_t member) = 0;

    virtual void add(operation) = 0;

    /// Sends waiting operations. There is a connection.
    virtual void send() = 0;

    /// See @ref pending_queue::refuse.
    virtual void refuse(node_reply const& trouble, bool all, finished& over) = 0;

    /// Called once a second while there is a connection.
    virtual void tidy() {}

    /// The connection has ended. Completes the operations that were sent and are not answered.
    virtual void disconnected(node_reply const& why) = 0;

    /// Ends the connection at once, and moves all operations to @p over. If @p is_idle and no operation is under way,
    /// the driver also ends the session.
    virtual void close(bool is_idle, finished& over) = 0;

    /// Like @ref close, but the execution context is being destroyed: only drops what refers to it.
    virtual void abandon() = 0;
};

}  // namespace redlock::stores::kit
