#pragma once

#include "runtime/runtime.hpp"
#include "stores/redis/batch.hpp"

#include <redlock/node.hpp>

#include <memory>
#include <string_view>

namespace redlock::stores::redis {

/** The way to one server: one connection after another, and what travels on it.

    All that a node knows of sockets; a simulation puts another one in its place, and runs the rest as it is. On one
    strand.
*/
class link {
public:
    /// Who is told what happens.
    class listener {
    public:
        /// The server's address is known: connecting begins, and each of its steps has its limit.
        virtual void connecting() = 0;

        /// No more replies to @p b will come; those that came are in it.
        virtual void answered(std::shared_ptr<batch> const& b) = 0;

        /// The server says that @p key has changed; empty: any key may have changed. This is told twice: first before
        /// anything behind it is read, and then behind the replies that came with it.
        virtual void change_read(std::string_view key) = 0;
        virtual void changed(std::string_view key) = 0;

        /// There is no connection any more, or none has come about. @p why has an error and words, and no secrets.
        virtual void ended(node_reply why) = 0;

    protected:
        ~listener() = default;
    };

    virtual ~link() = default;

    /// Called once, before the others.
    virtual void start(std::shared_ptr<runtime::runtime> const& by, listener& l) = 0;

    /// Connects, and sends @p greeting first. Once for each connection, and not before the one before has ended.
    virtual void open(std::shared_ptr<batch> greeting) = 0;

    /// The server is accepted: from now on the system does not send again what is given up.
    virtual void server_accepted() = 0;

    /// Only between @ref keep and the end of the connection. It is told of once.
    virtual void send(std::shared_ptr<batch> const&) = 0;

    /// Gives the connection up. It is told when it has ended.
    virtual void cut() = 0;

    /// For good; the listener is told nothing more.
    virtual void close() = 0;

    /// The same when the execution context goes: lets go of what refers to it.
    virtual void abandon() = 0;
};

}  // namespace redlock::stores::redis
