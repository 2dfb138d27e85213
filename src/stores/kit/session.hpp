#pragma once

#include <redlock/clock.hpp>
#include <redlock/config.hpp>
#include <redlock/node.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::sql {

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
    sql::backend backend{};
    std::string system{};       ///< the same for all copies of one database; empty: it does not tell
    std::int64_t timeline = 0;  ///< grows with each promotion
    std::string started{};      ///< when, or another word for one life of the server
    bool durable = false;       ///< it loses nothing that it has confirmed
    bool forgot = false;        ///< it was a copy before this timeline, or its tables were others: there may have been locks
    std::string since{};        ///< when the timeline, or its tables, began: before, there may have been locks that are forgotten
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
        virtual node_reply meet(session&, introduction const&) = 0;
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
    virtual void look(std::function<void(bool durable)> done) = 0;

    /// Deletes what nobody needs any more.
    virtual void clean() = 0;

    std::uint32_t number = 0;  ///< the owner's, of the present connection or the one before
};

}  // namespace redlock::sql
