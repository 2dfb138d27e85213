#pragma once

#include <redlock/clock.hpp>
#include <redlock/config.hpp>
#include <redlock/error.hpp>
#include <redlock/node.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
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

using timer = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, asio::any_io_executor>;

/// A process or thread of the server that carries out what one connection asks for.
struct backend {
    std::int64_t id = 0;  ///< 0: not known
    std::string since{};  ///< a number is used again
    bool lent = false;    ///< by a pooler, which may give it to others later: not ours to end
    friend bool operator==(backend const&, backend const&) = default;
};

/// Why a connection must not vote if a pooler gives its server process to others, and the address does not say so.
node_reply shared_backend();

/// Why the server of an earlier timeline must not vote.
node_reply replaced();

/// What a server says of itself.
struct introduction {
    kit::backend backend{};
    std::string system{};       ///< the same for all copies of one database; empty: it does not tell
    std::int64_t timeline = 0;  ///< grows with each promotion
    std::string started{};      ///< when, or another word for one life of the server
    bool durable = false;       ///< it loses nothing that it has confirmed
    bool forgot = false;  ///< it was a copy before this timeline, or its tables were others: there may have been locks
    std::string since{};  ///< when the timeline, or its tables, began: before, there may have been locks that are
                          ///< forgotten
    std::chrono::milliseconds age{0};     ///< for how long that is
    std::chrono::milliseconds uptime{0};  ///< for how long the server has been running
};

/** One connection to a database server. Commands are sent as they come, and carried out in their order.

    Used as a std::shared_ptr, on the executor. Nothing of its owner is called from within a call by that.
*/
class session {
public:
    class owner {
    public:
        /// The server could vote, as far as is known here. @return with an error: why it must not
        virtual node_reply check_server(session&, introduction const&) = 0;
        virtual void up(session&) = 0;
        /// It is not connected; @p was_up: not any more. All that was asked has been answered.
        virtual void down(session&, bool was_up, node_reply why) = 0;
        /// See @ref watches::heard. @p by: the backend that has changed it.
        virtual void notified(std::string_view what, std::int64_t by) = 0;
        virtual void log(log_level, std::string const& what) const = 0;

    protected:
        ~owner() = default;
    };

    virtual ~session() = default;

    /// Connects. Once it is down it may be opened again.
    virtual void open() = 0;
    virtual void close() = 0;    ///< at once; what was asked is answered, and the owner hears of nothing any more
    virtual void abandon() = 0;  ///< without a word
    virtual void cut(node_reply why) = 0;  ///< ends a connection that is no good

    virtual bool up() const noexcept = 0;
    virtual bool busy() const noexcept = 0;  ///< up, or on the way
    virtual bool notifies() const noexcept { return false; }
    virtual introduction const& server() const noexcept = 0;

    /// Since when the oldest question is unanswered.
    virtual std::optional<clock::time_point> waiting_since() const = 0;

    /// @p done: with an unknown vote and `connection_lost`, if there is no connection, or it ends first.
    virtual void carry_out(node_command const&, bool tombstone, std::function<void(node_reply)> done) = 0;

    /// Ends what an earlier connection has left on the server. @p done: whether it is gone.
    virtual void end(backend const&, std::function<void(bool)> done) = 0;

    /// Asks whether the server would still remember all if it were killed. @p done: not called if it does not say.
    virtual void ask_durability(std::function<void(bool durable)> done) = 0;

    /// Deletes what nobody needs any more.
    virtual void clean() = 0;

    std::uint32_t number = 0;  ///< the owner's, of the present connection or the one before
};

/// Lets nothing that is written to @p socket reach the server any more. This may be a fork: what is said here would
/// reach the server as the parent's word.
void silence(int socket);

/// What sessions over the client libraries of all databases share: the way from `open` to the end, and its time limits.
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
    virtual void disconnect() = 0;     ///< at once; also what is not connected
    virtual void go_silent() = 0;      ///< forgets all questions, and says no more to the server
    virtual void tell_all_lost() = 0;  ///< answers all questions

    /// @p f of the present connection: it keeps this alive, and is not called after the end.
    template <class F>
    auto in_this_life(F f)
    {
        return [this, self = shared_from_this(), life = life_, f = std::move(f)](auto&&... values) mutable {
            if (life == life_)
                f(std::forward<decltype(values)>(values)...);
        };
    }

    using address_handler = std::function<void(std::vector<std::string> const&, std::string const& why_none)>;

    /// @p then gets the addresses of @p host, or why there are none. The libraries would block here.
    void look_up(std::string const& host, address_handler then);

    /// Ends the connection, unless it is up by then.
    void set_limit(std::chrono::milliseconds);
    void after(std::chrono::milliseconds, std::function<void()> then);  ///< in place of a limit

    void greeting() { state_ = state::greeting; }
    bool is_greeting() const noexcept { return state_ == state::greeting; }
    std::uint64_t life() const noexcept { return life_; }  ///< each connection has another

    /// The server could vote. @return whether it is up now
    bool admit(introduction);

    /// Calls @p done. If the tables are gone, the next connection makes them, or says what is missing.
    void deliver(std::function<void(node_reply)> const& done, node_reply);

    void refuse(error_code, std::string why);  ///< ends a connection, on which nothing was done

    asio::any_io_executor executor_;
    std::chrono::milliseconds const connect_timeout_;
    owner* owner_;  ///< null after the end

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
