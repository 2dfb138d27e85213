#pragma once

#include "runtime/runtime.hpp"
#include "stores/redis/batch.hpp"

#include <redlock/node.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::redis {

/** Moves batches to one server, and their replies back. It opens one connection after another.

    A node uses no other socket code, so a simulation replaces the transport and runs the rest unchanged. All functions
   run on one strand.
*/
class transport {
public:
    class owner {
    public:
        /// The server's address is known, and connecting begins. Each further step has its own timeout.
        virtual void connecting() = 0;

        /// Batch @p b holds the replies that arrived; no more will follow.
        virtual void answered(std::shared_ptr<batch> const& b) = 0;

        /// The server says that @p key has changed; empty: any key may have changed. The transport calls `push_arrived`
        /// as soon as it has read the push. It calls `changed` after the replies that arrived together with the push.
        virtual void push_arrived(std::string_view key) = 0;
        virtual void changed(std::string_view key) = 0;

        /// The connection has ended, or could not be made. @p why has an error and a text without secrets.
        virtual void ended(node_reply why) = 0;

    protected:
        ~owner() = default;
    };

    virtual ~transport() = default;

    /// Must be called once, before all other functions.
    virtual void start(std::shared_ptr<runtime::runtime> const& by, owner& o) = 0;

    /// Connects, and sends @p greeting first. The previous connection must have ended.
    virtual void open(std::shared_ptr<batch> greeting) = 0;

    /// The node accepts the server. From now on the operating system drops unsent bytes when the connection ends.
    virtual void server_accepted() = 0;

    /// Call it only between @ref server_accepted and the end of the connection. The owner gets each batch back once.
    virtual void send(std::shared_ptr<batch> const&) = 0;

    /// Ends the connection. The transport then calls `ended`.
    virtual void cut() = 0;

    /// The address of the latest connection. Empty: the transport does not tell.
    virtual std::string address() const { return {}; }

    /// All addresses of the server's name, at the latest connection. Empty: it has no name.
    virtual std::vector<std::string> addresses() const { return {}; }

    /// The next connection tries this address first. Call it before @ref cut.
    virtual void prefer(std::string address) { static_cast<void>(address); }

    /// Closes the transport for ever. The owner gets no more calls.
    virtual void close() = 0;

    /// Like @ref close, but the execution context is being destroyed: only drops what refers to it.
    virtual void abandon() = 0;
};

}  // namespace redlock::stores::redis
