#pragma once

#include "sim/process.hpp"
#include "sim/server.hpp"

#include <redlock/node.hpp>

#include <memory>
#include <utility>

namespace redlock::sim {

/// A node that checks every operation. If its server keeps keys only for a session, the node says so.
class watched_node final : public node {
public:
    watched_node(std::shared_ptr<node> inner, process& p, server& s) : inner_(std::move(inner)), process_(p), server_(s)
    {
    }

    std::string const& name() const noexcept override { return inner_->name(); }
    bool ready() const noexcept override { return inner_->ready(); }
    bool notifies() const noexcept override { return inner_->notifies(); }
    node_limits limits() const override { return inner_->limits(); }
    bool can(node_command const& c) const noexcept override { return inner_->can(c); }
    bool may_still_execute(std::uint32_t connection) const override { return inner_->may_still_execute(connection); }
    void start(asio::any_io_executor executor, node_events events) override
    {
        inner_->start(std::move(executor), std::move(events));
    }
    void close() override { inner_->close(); }
    void abandon() override { inner_->abandon(); }

    void submit(std::shared_ptr<node_operation> o) override
    {
        process_.checks_submission(*o);
        auto const session = server_.keys.session;
        inner_->submit(session == std::chrono::milliseconds::max() ? std::move(o)
                                                                   : std::make_shared<promise>(std::move(o), session));
    }

private:
    /// Forwards everything to an operation, and adds the session to its answer.
    class promise final : public node_operation {
    public:
        promise(std::shared_ptr<node_operation> o, std::chrono::milliseconds session)
            : inner_(std::move(o)), session_(session)
        {
            not_after = inner_->not_after;
        }

        node_command const& command() const noexcept override { return inner_->command(); }
        bool withdrawn() const noexcept override { return inner_->withdrawn(); }
        void mark_sent(std::uint32_t connection) noexcept override { inner_->mark_sent(connection); }
        std::uint32_t sent_on() const noexcept override { return inner_->sent_on(); }
        std::uint32_t unanswered_on() const noexcept override { return inner_->unanswered_on(); }

        void complete(node_reply r) override
        {
            if (r.vote == vote::granted && command().ttl > session_)
                r.good_for = session_;
            inner_->complete(std::move(r));
        }

    private:
        std::shared_ptr<node_operation> const inner_;
        std::chrono::milliseconds const session_;
    };

    std::shared_ptr<node> const inner_;
    process& process_;
    server& server_;
};

}  // namespace redlock::sim
