#include "core/validity.hpp"
#include "locks/explain.hpp"
#include "locks/waiting_operation.hpp"
#include "events/shown_name.hpp"
#include "quorum/verdicts.hpp"

#include <boost/asio/error.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::inline v1::locks {

namespace {

using namespace std::chrono_literals;

// Another manager may be founding the set: some nodes vote, and the others will soon. A client asks for a record once a
// second, so it knows after this time.
constexpr std::chrono::milliseconds others_found_within = 1500ms, look_again_after = 20ms;

/// One call of `lock_manager::async_found`.
class founding final : public waiting_operation<founding> {
public:
    founding(std::shared_ptr<manager_state> s, detail::found_handler handler)
        : waiting_operation(std::move(s)), done(std::move(handler)), called_(state_->now())
    {
    }

    static runtime::task<error_code> found(std::shared_ptr<founding> self)
    {
        auto& state = *self->state_;
        state.operations.enter(*self);
        if (self->stopped())
            co_return asio::error::operation_aborted;
        if (state.settings.read_only)
            co_return errc::unsupported;
        self->asked_ = quorum::make_round(state.quorum, quorum::to_connect(state.quorum));
        self->asked_->waits_for_all = true;
        co_await self->gather(*self->asked_);
        auto const give_up_at = state.now() + others_found_within;
        while (!self->stopped()) {
            if (!self->all_answered() || self->all_are_trusted())
                co_return self->outcome();
            if (!self->founds_ && self->is_new()) {
                co_await found_now(self);
                if (self->founds_)
                    continue;
            }
            if (!self->others_may_found() || state.now() >= give_up_at)
                co_return self->outcome();
            co_await self->sleep(state.now() + look_again_after);
        }
        if (self->last_round_ && !self->cancelled_ && self->all_answered() && self->all_are_trusted())
            co_return error_code();
        co_return asio::error::operation_aborted;
    }

    void complete(error_code ec)
    {
        attempt_report r;
        try {
            r = report(ec);
        } catch (...) {  // out of memory: the caller gets only the error code
        }
        asked_.reset();
        done(ec, std::move(r));
    }

    detail::found_handler done;

private:
    bool has_asked() const noexcept override { return founds_; }

    static runtime::task<void> found_now(std::shared_ptr<founding> self)
    {
        auto& nodes = self->state_->quorum.nodes;
        self->asked_ = quorum::make_round(self->state_->quorum, self->to_ask_if_new());
        co_await self->gather(*self->asked_);
        auto founds = self->stopped() ? std::nullopt : quorum::to_found(*self->asked_);
        if (!founds)
            co_return;
        self->founds_ = true;
        self->asked_ = quorum::make_round(self->state_->quorum, std::move(*founds));
        co_await self->gather(*self->asked_);
        auto const& all = self->asked_->ballots;
        if (std::ranges::all_of(all, [](auto& b) { return b.skipped || b.has_granted(); }))
            nodes.set_founded();
    }

    quorum::round_command to_ask_if_new() const
    {
        auto const& q = state_->quorum;
        auto command = quorum::to_ask_if_new(q);
        command.ask_only([&](std::size_t i) { return q.nodes.may_be_founded(i); }, vote::granted);
        return command;
    }

    bool all_answered() const
    {
        return std::ranges::all_of(asked_->ballots,
                                   [](auto& b) { return b.skipped || (b.answered && !b.reply.error); });
    }

    bool all_are_trusted() const
    {
        return all_nodes_are([&](auto const& nodes, std::size_t i) { return nodes.is_trusted(i); });
    }

    // Whether no node has a record that is not new. A node that never forgets has none.
    bool is_new() const
    {
        return all_nodes_are(
            [&](auto const& nodes, std::size_t i) { return nodes.may_be_founded(i) || nodes.never_forgets(i); });
    }

    // Whether all nodes that do not vote are new.
    bool others_may_found() const
    {
        return all_nodes_are(
            [&](auto const& nodes, std::size_t i) { return nodes.is_trusted(i) || nodes.may_be_founded(i); });
    }

    template <class Is>
    bool all_nodes_are(Is is) const
    {
        auto const& nodes = state_->quorum.nodes;
        for (std::size_t i = 0; i < nodes.size(); ++i) {
            if (!is(nodes, i))
                return false;
        }
        return true;
    }

    error_code outcome() const
    {
        if (!all_answered())
            return errc::no_quorum;
        return all_are_trusted() ? error_code() : make_error_code(errc::quarantined);
    }

    std::vector<node_report> reports() const
    {
        auto& nodes = state_->quorum.nodes;
        auto all = quorum::report(*asked_);
        for (std::size_t i = 0; i < all.size(); ++i) {
            auto& n = all[i];
            auto const& b = asked_->ballots[i];
            if (!b.skipped && (!b.answered || b.reply.error))
                continue;  // the round knows why
            n.vote = nodes.is_trusted(i) ? vote::granted : vote::unknown;
            if (n.vote == vote::granted) {
                n.message = founds_ && !b.skipped    ? "founded"
                            : nodes.never_forgets(i) ? "it votes: it never forgets locks"
                                                     : "it votes already: it has a record of its memory";
            } else {
                n.error = errc::quarantined;
                n.reason = nodes.reason(i);
                n.message = nodes.why_in_quarantine(i);
            }
        }
        return all;
    }

    attempt_report report(error_code ec) const
    {
        attempt_report r{.outcome = ec, .rounds = founds_ ? 1u : 0u};
        auto const prefix = events::in_one_line(state_->settings.prefix);
        if (asked_)
            r.nodes = reports();
        if (ec == errc::quarantined)
            r.quarantine = core::time_left(state_->quorum.nodes.quarantine_over(), state_->now());
        r.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(state_->now() - called_);
        if (!ec) {
            r.message = fmt::format("the nodes {} for the prefix {}",
                                    founds_ ? "were founded, and vote from now on," : "vote already", prefix);
            return r;
        }
        r.message = fmt::format("redlock: cannot found the set of nodes for the prefix {}: {}", prefix,
                                ec == errc::no_quorum     ? "all nodes must answer"
                                : ec == errc::quarantined ? "the set is not new"
                                : ec == errc::unsupported ? "this manager only reads (manager_options::read_only)"
                                                          : explain(*state_, ec));
        for (auto const& n : r.nodes) {
            if (n.message.empty() && !n.error)
                continue;
            r.message += fmt::format("; {}: {}", n.name,
                                     n.error == errc::quarantined ? n.message
                                     : n.error && !n.message.empty()
                                         ? fmt::format("{}: {}", n.error.message(), n.message)
                                     : n.error ? n.error.message()
                                               : n.message);
        }
        return r;
    }

    clock::time_point const called_;
    std::shared_ptr<quorum::round> asked_;  ///< the latest round
    bool founds_ = false;                   ///< it has asked the nodes to be founded
};

}  // namespace

void start_found(std::shared_ptr<manager_state> s, detail::found_handler handler)
{
    if (s->abandoned())
        return handler(asio::error::operation_aborted, attempt_report());
    auto f = std::make_shared<founding>(s, std::move(handler));
    f->done.on_cancel(f);
    s->operations.run(f, founding::found(f));
}

}  // namespace redlock::locks
