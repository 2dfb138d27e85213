// Resumes a lock that another process has acquired.

#include "core/backoff.hpp"
#include "core/validity.hpp"
#include "locks/attempt.hpp"
#include "locks/check.hpp"
#include "locks/explain.hpp"
#include "locks/held_lock.hpp"
#include "locks/tickets/tickets.hpp"
#include "locks/waiting_operation.hpp"
#include "quorum/verdicts.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace redlock::inline v1::locks {

namespace {

// The ticket of the lock with this token. Empty: the lock keeps its token.
lock_ticket renamed(lock_ticket t, std::string_view token)
{
    if (!token.empty())
        t.token = token;
    return t;
}

/// One call of `lock_manager::async_resume`.
class resumption final : public waiting_operation<resumption> {
public:
    resumption(std::shared_ptr<manager_state> s, lock_ticket ticket, detail::call_options options,
               detail::acquire_handler handler, bool explains)
        : waiting_operation(std::move(s)),
          done(std::move(handler)),
          ticket_(renamed(ticket, options.new_token)),
          former_(options.new_token.empty() ? std::string() : std::move(ticket.token)),
          options_(std::move(options)),
          attempt_(*state_, ticket_.resources, options_),
          give_up_at_(core::later(attempt_.called, options_.wait)),
          explains_(explains)
    {
    }

    /// The problem with the arguments, for people; empty: none.
    std::string wrong() const;

    static runtime::task<error_code> run(std::shared_ptr<resumption>);

    void complete(error_code);

    detail::acquire_handler done;

private:
    bool has_asked() const noexcept override { return rounds_ > 0; }
    std::shared_ptr<quorum::round> next_round(std::shared_ptr<quorum::grant>);
    bool replaces() const noexcept { return !options_.new_token.empty(); }
    lock_ticket former() const;
    void give_up_former();
    error_code outcome() const;
    void hand_out();
    attempt_report report(error_code) const;

    lock_ticket const ticket_;  ///< with the new token
    std::string const former_;  ///< the token that the new one replaces; empty: the lock keeps its token
    detail::call_options const options_;
    attempt attempt_;
    clock::time_point const give_up_at_;  ///< no round starts later
    bool const explains_;
    std::shared_ptr<quorum::round> round_;
    std::size_t rounds_ = 0;
    lock_handle won_;
};

std::string resumption::wrong() const
{
    auto wrong = check(former(), options_, state_->settings);
    return wrong.empty() ? state_->quorum.nodes.check_ttl(options_.ttl) : wrong;
}

runtime::task<error_code> resumption::run(std::shared_ptr<resumption> self)
{
    auto& r = *self;
    auto& state = *r.state_;
    state.operations.enter(r);
    r.attempt_.begins();
    if (state.log.observed())
        r.attempt_.tell_begin(false, true, 0, self);
    if (!state.quorum.nodes.met() && !r.stopped()) {
        r.round_ = quorum::make_round(state.quorum, quorum::to_connect(state.quorum));
        co_await r.gather(*r.round_);
    }
    auto const taken = grant_of(r.ticket_, state);
    while (!r.stopped()) {
        r.round_ = r.next_round(taken);
        r.round_->wait_for_place_until = r.attempt_.ask_until(state.now());
        co_await r.gather(*r.round_);
        r.attempt_.asked = r.round_->started;
        r.attempt_.decided = state.now();
        auto const ec = r.outcome();
        if (state.log.observed())
            r.attempt_.tell_round(*r.round_, r.rounds_, ec, self);
        if (!ec) {
            r.hand_out();
            co_return ec;
        }
        if (ec == errc::lost) {
            // No process can hold it. But if several replace the token, one may deny another one's majority.
            if (!r.replaces())
                state.cleaner.clean_up(taken, state.settings.max_ttl);
            co_return ec;
        }
        auto const now = state.now();
        if (!r.stopped() && now >= r.give_up_at_)
            co_return ec;
        if (!r.stopped())
            co_await r.sleep(std::min<clock::time_point>(now + core::pause_after(r.rounds_, state.runtime.random()[0]),
                                                         r.give_up_at_));
    }
    co_return asio::error::operation_aborted;
}

std::shared_ptr<quorum::round> resumption::next_round(std::shared_ptr<quorum::grant> taken)
{
    auto const ttl = options_.ttl;
    auto extension = quorum::make_round(state_->quorum,
                                        replaces() ? quorum::to_replace(former_, std::move(taken), ttl)
                                                   : quorum::round_command(commands::extend{}, std::move(taken), ttl));
    extension->timed = options_.explain || state_->log.observed();
    ++rounds_;
    events::bump(state_->count[&stats::rounds]);
    return extension;
}

error_code resumption::outcome() const
{
    auto const& votes = round_->votes;
    if (cancelled_)
        return asio::error::operation_aborted;
    if (round_->found_no_place())
        return errc::overloaded;
    if (votes.verdict() == core::verdict::won) {
        bool const too_late = quorum::came_too_late(*round_, attempt_.decided, options_.max_hold);
        return too_late ? make_error_code(errc::validity_exhausted) : error_code();
    }
    if (votes.refused())
        return errc::lost;
    return votes.lost_for_want_of(quorum::quarantined(*round_)) ? errc::quarantined : errc::no_quorum;
}

void resumption::hand_out()
{
    auto const held = detail::make_recycled<held_lock>(state_, attempt_.origin(), ticket_.resources, *round_, options_);
    held->may_live_for(state_->settings.max_ttl);  // the previous holder may have asked for that
    held->set_alarm();
    state_->held_locks.add(held);
    state_->watchers.changed(held->resources);
    won_ = detail::access::make_handle(held->first_handle());
    if (replaces())
        give_up_former();  // if memory runs out here, the handle releases the lock
}

// The ticket as it was given.
lock_ticket resumption::former() const
{
    auto t = ticket_;
    if (replaces())
        t.token = former_;
    return t;
}

// Deletes the former value on the nodes that may still have it. If one of them gets the replacement later, it denies.
void resumption::give_up_former()
{
    auto const left = grant_of(former(), *state_);
    for (auto const& b : round_->ballots) {
        if (b.answered && b.reply.vote != vote::unknown)
            left->on(b.node) = {};
    }
    bool const is_left = std::ranges::any_of(round_->ballots, [&](auto& b) { return left->may_hold(b.node); });
    if (is_left)
        state_->cleaner.clean_up(left, state_->settings.max_ttl);
}

attempt_report resumption::report(error_code ec) const
{
    auto const& nodes = state_->quorum.nodes;
    auto r = attempt_.report(ec, round_.get(), rounds_);
    auto const refused = ec == errc::invalid_argument ? wrong()
                         : ec == errc::unsupported    ? lack(ticket_, options_, nodes)
                                                      : std::string();
    r.message = ec ? explain(*state_, ticket_.resources, "cannot resume", refused, r) : "resumed";
    return r;
}

void resumption::complete(error_code ec)
{
    attempt_.ends(ec);
    if (state_->log.observed())
        attempt_.tell_end(ec, won_, rounds_, shared_from_this());
    detail::reported_error outcome(ec);
    give_report(outcome, won_, options_, explains_, [&] { return report(ec); });
    round_.reset();  // on the strand, because a thread of the user may drop the last reference to this
    done(std::move(outcome), std::move(won_));
}

}  // namespace

void start_resume(std::shared_ptr<manager_state> s, lock_ticket ticket, detail::call_options options,
                  detail::acquire_handler handler, bool explains)
{
    if (s->abandoned())
        return end_without_context(*s, ticket.resources, "cannot resume", options, explains, std::move(handler));
    bool const can = lack(ticket, options, s->quorum.nodes).empty();
    auto r = detail::make_recycled<resumption>(s, std::move(ticket), std::move(options), std::move(handler), explains);
    if (!r->wrong().empty())
        return r->complete(errc::invalid_argument);
    if (!can)
        return r->complete(errc::unsupported);
    r->done.on_cancel(r);
    s->operations.run(r, resumption::run(r));
}

}  // namespace redlock::locks
