#pragma once

#include "core/server_memory.hpp"
#include "stores/kit/timer.hpp"

#include <redlock/clock.hpp>
#include <redlock/error.hpp>
#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/tcp.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::kit {

/// The process or thread of the server that executes the commands of one connection.
struct backend {
    std::int64_t id = 0;  ///< 0: unknown
    std::string since{};  ///< its start, because the server reuses ids
    bool pooled = false;  ///< a pooler lends it and may give it to other clients, so the client must not end it
    friend bool operator==(backend const&, backend const&) = default;
};

/// The reply if a pooler shares a backend between clients, and the address does not mention a pooler.
node_reply shared_backend();

/// The reply if a server is of an earlier timeline, i.e. another server was promoted.
node_reply replaced();

/// The server's answers at the beginning of a connection.
struct introduction {
    kit::backend backend{};
    std::string system{};          ///< equal for all copies of one database; empty: unknown
    std::int64_t timeline = 0;     ///< grows with each promotion
    std::string started{};         ///< time of the start, or another word for one life of the server
    core::memory_record record{};  ///< empty for a client that only reads
};

/** One connection to a database server. It sends commands at once; the server executes them in their order.

    The object is owned by std::shared_ptr. All functions run on the executor. A session may call its owner before a
    call by the owner returns. Function `cut` always does; the others do if the connection fails at once.
*/
class session {
public:
    class owner {
    public:
        /// Called after a successful greeting. @return with an error: why the server must not vote
        virtual node_reply check_server(session&, introduction const&) = 0;
        virtual void up(session&) = 0;
        /// The connection has ended, or (not @p was_up) could not be made. All commands have their replies.
        virtual void down(session&, bool was_up, node_reply why) = 0;
        /// See @ref watches::heard. The change may be one of this client's own, made on another connection: its answer
        /// may have arrived before the denial that it ends.
        virtual void notified(std::string_view what) = 0;
        virtual void log(log_level, std::string const& what) const = 0;

    protected:
        ~owner() = default;
    };

    virtual ~session() = default;

    /// Connects. When the connection has ended, it can be called again.
    virtual void open() = 0;
    /// Completes all commands, and ends the connection at once. The owner gets no more calls.
    virtual void close() = 0;
    /// Like @ref close, but sends nothing to the server and completes no commands.
    virtual void abandon() = 0;
    /// Ends a faulty connection.
    virtual void cut(node_reply why) = 0;

    virtual bool up() const noexcept = 0;
    virtual bool busy() const noexcept = 0;  ///< up, or connecting
    virtual bool notifies() const noexcept { return false; }
    virtual introduction const& server() const noexcept = 0;

    /// When the oldest unanswered command was sent.
    virtual std::optional<clock::time_point> waiting_since() const = 0;

    /// Executes a command. @param done gets an unknown vote and `connection_lost` if there is no connection, or it ends
    virtual void carry_out(node_command const&, bool tombstone, std::function<void(node_reply)> done) = 0;

    /// Ends the backend of an earlier connection. @param done gets whether the backend is gone
    virtual void end(backend const&, std::function<void(bool)> done) = 0;

    /// Asks for the record of the server's memory. The server signs it: it notes whether it would keep all changes if
    /// it were killed now.
    /// @param verdict on a fresh record: see core::server_memory::verdict; or empty
    /// @param done gets null if there is no answer
    virtual void look(std::string verdict, std::function<void(core::memory_record const*)> done) = 0;

    /// Deletes expired rows.
    virtual void clean() = 0;

    std::uint32_t number = 0;  ///< set by the owner: number of the current connection, or of the last one
};

/// Makes sure that nothing that is written to @p socket reaches the server. In a forked child, a library's goodbye on
/// the inherited socket would end the parent's connection.
void silence(int socket);

/// The common part of sessions over client libraries: states, timeouts, and name resolution.
class client_session : public session, public std::enable_shared_from_this<client_session> {
public:
    void open() final;
    void close() override;
    void abandon() override;
    void cut(node_reply why) final;

    bool up() const noexcept final { return state_ == state::up; }
    bool busy() const noexcept final { return state_ != state::down; }
    introduction const& server() const noexcept final { return server_; }

protected:
    client_session(asio::any_io_executor, std::chrono::milliseconds connect_timeout, owner&);

    virtual void connect() = 0;
    virtual void disconnect() = 0;          ///< at once, even while connecting
    virtual void abandon_connection() = 0;  ///< drops all commands, and sends nothing more to the server
    virtual void fail_all() = 0;            ///< completes all commands with `connection_lost`

    /// Wraps a handler: it keeps this object alive, and does nothing after the end of the current connection.
    template <class F>
    auto in_this_life(F f)
    {
        return [this, self = shared_from_this(), life = life_, f = std::move(f)](auto&&... values) mutable {
            if (life == life_)
                f(std::forward<decltype(values)>(values)...);
        };
    }

    using address_handler = std::function<void(std::vector<std::string> const&, std::string const& why_none)>;

    /// Resolves @p host. @param then gets the addresses, or why there are none. (The libraries' own lookup blocks.)
    void look_up(std::string const& host, address_handler then);

    /// Ends the connection after this time, unless it is up by then.
    void set_limit(std::chrono::milliseconds);
    /// Calls @p then after this time. It replaces the limit.
    void after(std::chrono::milliseconds, std::function<void()> then);

    void greeting() { state_ = state::greeting; }
    bool is_greeting() const noexcept { return state_ == state::greeting; }
    std::uint64_t life() const noexcept { return life_; }  ///< different for each connection

    /// The greeting succeeded. @return whether the session is up now
    bool admit(introduction);

    /// Calls @p done. If the tables are gone, it reconnects: the next connection makes them, or reports what is
    /// missing.
    void deliver(std::function<void(node_reply)> const& done, node_reply);

    void refuse(error_code, std::string why);  ///< cuts the connection, and gives the error to the owner

    asio::any_io_executor executor_;
    std::chrono::milliseconds const connect_timeout_;
    owner* owner_;  ///< null after close or abandon

private:
    enum class state { down, connecting, greeting, up };

    void take_down();

    state state_ = state::down;
    std::uint64_t life_ = 0;
    std::optional<asio::ip::basic_resolver<asio::ip::tcp, asio::any_io_executor>> resolver_;
    std::optional<timer> limit_;
    introduction server_;
};

}  // namespace redlock::stores::kit
