#pragma once

#include "net/url.hpp"
#include "runtime/runtime.hpp"
#include "stores/redis/batch.hpp"
#include "stores/redis/hello.hpp"
#include "stores/redis/transport.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"

#include <redlock/manager_options.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace redlock::stores::redis {

/// Makes the transport to a server.
using transport_factory = std::function<std::shared_ptr<transport>(net::url const&)>;

/** Asks one of several servers (Sentinels, or members of a cluster) a question, and repeats it once a second after the
    first call of @ref ask. If a server gives no useful answer, the inquiry asks the next one. It begins with the server
    that answered last.

    Why it polls, and does not subscribe:
    - A lost connection loses no event.
    - It notices a server that has stopped answering.
    - All changes arrive in the same way.

    All functions run on one strand.
*/
class inquiry final : transport::owner {
public:
    class owner {
    public:
        /// @return with an error and a text without secrets: why the answer is of no use. Then the next server is
        /// asked.
        virtual node_reply answered(reply const& answer, net::url const& by) = 0;
        /// No server gave a useful answer.
        virtual void nobody_knows(node_reply why) = 0;

    protected:
        ~owner() = default;
    };

    /// @param servers at least one, with user and password
    /// @param of_sentinels whether the servers are Sentinels
    /// @param question one command
    inquiry(std::vector<net::url> const& servers, bool of_sentinels, redis::request question, manager_options const&,
            transport_factory const&, owner&);
    ~inquiry() { abandon(); }
    inquiry(inquiry const&) = delete;
    inquiry& operator=(inquiry const&) = delete;

    void start(std::shared_ptr<runtime::runtime>);

    /// Asks now, unless a question is under way.
    void ask();

    void close();
    void abandon();

private:
    struct server {
        net::url where;
        hello_command hello;
        std::shared_ptr<redis::transport> transport;
    };

    void connecting() override;
    void answered(std::shared_ptr<batch> const&) override;
    void push_arrived(std::string_view) override {}
    void changed(std::string_view) override {}
    void ended(node_reply why) override;

    server& current() { return servers_[current_]; }
    void ask_current();
    node_reply check_answer(batch const& answer);
    void note(node_reply const& why);
    void settled();

    std::vector<server> servers_;
    redis::request const question_;
    std::chrono::milliseconds const limit_;
    owner& owner_;
    std::shared_ptr<runtime::runtime> runtime_;
    runtime::alarm again_{[this] { ask(); }};
    runtime::alarm late_{[this] { current().transport->cut(); }};
    std::size_t current_ = 0;
    std::size_t failed_ = 0;  ///< servers without a useful answer in this attempt
    bool asking_ = false;
    bool up_ = false;               ///< the current server has answered on the current connection
    std::shared_ptr<batch> asked_;  ///< until it is answered
    node_reply trouble_;            ///< the failures of this attempt
};

}  // namespace redlock::stores::redis
