#pragma once

#include "net/url.hpp"
#include "runtime/runtime.hpp"
#include "stores/redis/batch.hpp"
#include "stores/redis/link.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"

#include <redlock/config.hpp>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace redlock::stores::redis {

/// Makes the way to a server.
using link_factory = std::function<std::shared_ptr<link>(net::url const&)>;

/** Asks one of several servers the same question, who is who now, from the first time on once a second: the next one
    when one does not answer, or not so that it helps.

    A question each second, and not a subscription: no event can be missed with a connection, whoever has stopped
    answering is noticed, and there is one way to learn of a change. Whoever answered last is asked first. On one
    strand.
*/
class inquiry final : link::listener {
public:
    /// Who wants to know.
    class owner {
    public:
        /// @return with an error, and words without secrets: why it does not help; the next one is asked
        virtual node_reply answered(reply const& answer, net::url const& by) = 0;
        /// None of them has helped.
        virtual void nobody_knows(node_reply why) = 0;

    protected:
        ~owner() = default;
    };

    /// @param servers one at least, with those who we are to them
    /// @param question one command
    inquiry(std::vector<net::url> const& servers, redis::request question, config const&, link_factory const&, owner&);
    ~inquiry() { abandon(); }
    inquiry(inquiry const&) = delete;
    inquiry& operator=(inquiry const&) = delete;

    void start(std::shared_ptr<runtime::runtime>);

    /// Now, unless that is under way.
    void ask();

    void close();
    void abandon();

private:
    struct server {
        net::url where;
        std::shared_ptr<redis::link> link;
    };

    void connecting() override;
    void answered(std::shared_ptr<batch> const&) override;
    void change_read(std::string_view) override {}
    void changed(std::string_view) override {}
    void ended(node_reply why) override;

    server& current() { return servers_[current_]; }
    void ask_current();
    node_reply judge(batch const& answer);
    void note(node_reply const& why);
    void settled();

    std::vector<server> servers_;
    redis::request const question_;
    std::chrono::milliseconds const limit_;
    owner& owner_;
    std::shared_ptr<runtime::runtime> runtime_;
    runtime::alarm again_{[this] { ask(); }};
    runtime::alarm late_{[this] { current().link->cut(); }};
    std::size_t current_ = 0;
    std::size_t failed_ = 0;  ///< of those that were asked this time
    bool asking_ = false;
    bool up_ = false;               ///< the current one has answered on the connection that is there
    std::shared_ptr<batch> asked_;  ///< until it is answered
    node_reply trouble_;            ///< with those that have failed
};

}  // namespace redlock::stores::redis
