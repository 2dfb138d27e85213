#include "locks/acquisition.hpp"

#include "core/validity.hpp"
#include "locks/check.hpp"
#include "locks/explain.hpp"
#include "locks/held_lock.hpp"
#include "quorum/verdicts.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace redlock::inline v1::locks {

void start_acquire(std::shared_ptr<manager_state> s, detail::selection wanted, detail::call_options options,
                   detail::acquire_handler handler, bool explains)
{
    start_acquire({*s, std::move(wanted), std::move(options), explains}, std::move(handler));
}

void start_acquire(acquire_request request, detail::acquire_handler handler)
{
    auto const& manager = request.manager;
    auto const& nodes = manager.quorum.nodes;
    if (manager.abandoned())
        return end_without_context(manager, request.wanted, "cannot hold", request.options, request.explains,
                                   std::move(handler));
    error_code refused;
    if (!check(request.wanted, request.options, manager.settings).empty()
        || !nodes.check_ttl(request.options.ttl).empty())
        refused = errc::invalid_argument;
    else if (!nodes.lack(request.wanted, request.options.mode).empty())
        refused = errc::unsupported;
    else if (request.options.mode == mode::upgradeable)
        return start_upgradeable(std::move(request), std::move(handler));
    if (refused)
        return detail::make_recycled<acquisition>(std::move(request), std::move(handler))->complete(refused);
    acquisition::start(std::move(request), std::move(handler));
}

void acquisition::start(acquire_request request, detail::acquire_handler handler, lock_handle right_to_upgrade)
{
    auto const a =
        detail::make_recycled<acquisition>(std::move(request), std::move(handler), std::move(right_to_upgrade));
    a->done_.on_cancel(a);
    a->state_->operations.run(a, a->request_.options.wait.count() > 0 ? run_in_queue(a) : run(a));
}

acquisition::acquisition(acquire_request request, detail::acquire_handler handler, lock_handle right_to_upgrade)
    : waiting_operation(request.manager.shared_from_this()),
      request_(std::move(request)),
      done_(std::move(handler)),
      right_to_upgrade_(std::move(right_to_upgrade)),
      attempt_(*state_, request_.resources(), request_.options),
      give_up_at_(core::later(attempt_.called, request_.options.wait)),
      preparation_(state_->quorum.nodes),
      turn_(request_, attempt_.called),
      draw_(*state_, request_.resources()),
      builder_(request_, turn_, draw_),
      leftovers_(request_),
      watch_(request_)
{
}

// Only one waiter per manager and resource asks the nodes. The others queue behind it, in the order of their calls.
runtime::task<error_code> acquisition::run_in_queue(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    a.state_->operations.enter(a);
    std::optional<waiters::place> place(std::in_place, a.state_->waiters, a.request_.names(), a);
    a.turn_.enter(*place);
    auto const ec = co_await run(self);
    if (a.leftovers_.growing())  // it has not acquired the set
        a.leftovers_.clean_up(*a.round_);
    a.turn_.leave();
    place.reset();
    if (ec && !a.shares())
        a.leftovers_.withdraw_wishes();
    co_return ec;
}

// The flow. Its steps are below, in the same order; what they know is in the parts of the acquisition. A task costs an
// allocation, so the steps of an acquisition that wins its first round are functions.
runtime::task<error_code> acquisition::run(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    a.begin();
    while (!a.stopped()) {
        auto const now = a.state_->now();

        // The acquisition may end without a round: its time is over, or its manager has the lock and shares it.
        if (auto const outcome = a.end_without_asking(now))
            co_return *outcome;

        // Others may come first. They wake this acquisition when they are done.
        if (auto const until = a.give_way(now)) {
            co_await a.sleep(*until);
            continue;
        }

        // The nodes may not be ready to vote: the manager has just begun.
        if (a.preparation_.next(now) != preparation::step::none) {
            co_await get_ready(self, now);
            continue;
        }

        // One round asks all nodes. It ends as soon as its votes decide it.
        a.begin_round(now);
        co_await a.gather(*a.round_);

        // The votes decide, and then the validity that is left.
        auto result = a.judge();
        if (!result.ec && a.fences() && !a.take_token())
            result = co_await draw_token(self, result);

        // A win goes to the caller.
        if (!result.ec) {
            a.hand_out(result);
            co_return error_code();
        }

        // A lost round gives back its keys. Then the acquisition asks again at once, ends, or waits for a better time.
        a.clean_up(result.ec);
        if (a.stopped() || a.asks_again_at_once(result))
            continue;
        if (a.wait_is_over())
            co_return result.ec;
        co_await wait_until_free(self, result.ec);
    }
    co_return asio::error::operation_aborted;
}

void acquisition::begin()
{
    state_->operations.enter(*this);
    attempt_.begins();
    if (state_->log.observed())
        attempt_.tell_begin(request_.wanted.any, false, turn_.place() ? turn_.place()->ahead() : 0, shared_from_this());
}

// Returns the outcome if the acquisition ends without asking the nodes (again). Returns nothing if it goes on.
std::optional<error_code> acquisition::end_without_asking(clock::time_point now)
{
    attempt_.asked = attempt_.decided = now;
    bool const is_over = now >= give_up_at_;
    if (is_over && !leftovers_.growing() && turn_.is_behind()) {
        round_ = turn_.place()->asked();
        return turn_.place()->met().value_or(state_->quorum.nodes.ready() ? errc::contended : errc::no_quorum);
    }
    if (!shares())
        return std::nullopt;
    if (turn_.keeps_reader_out(is_over))
        return make_error_code(errc::contended);
    auto joined = turn_.join();
    if (!joined)
        return std::nullopt;
    events::bump(attempt_.count()[&lock_stats::joined]);
    won_ = detail::access::make_handle(std::move(joined));
    return error_code();
}

// Lets others come first, within this manager or by yielding to other managers. Returns until when; nothing: no others
// come first.
std::optional<clock::time_point> acquisition::give_way(clock::time_point now)
{
    bool const must_ask = leftovers_.growing() || now >= give_up_at_;  // kept keys must not expire
    auto const until = must_ask ? std::nullopt : turn_.give_way(now);
    if (!until)
        return std::nullopt;
    turn_.let_others_pass(watch_, false);
    return std::min(*until, give_up_at_);
}

// Does one step of the preparation. To connect takes longer than a vote may, so the first acquisition waits for a
// majority; other nodes connect while these vote.
runtime::task<void> acquisition::get_ready(std::shared_ptr<acquisition> self, clock::time_point now)
{
    using step = preparation::step;
    auto& a = *self;
    auto& state = *a.state_;
    auto const next = a.preparation_.next(now);
    if (next == step::connect) {
        a.preparation_.connects();
        a.round_ = quorum::make_round(state.quorum, quorum::to_connect(state.quorum));
        co_await a.gather(*a.round_);
        if (a.round_->votes.verdict() != core::verdict::won && !a.cancelled_)
            a.turn_.tell_those_behind(errc::no_quorum, a.round_);
    } else if (next == step::found) {
        // No node of the set has a record of locks. So there is nothing to forget, and all of them vote from now on.
        a.preparation_.founds();
        auto const asked = quorum::make_round(state.quorum, quorum::to_ask_if_new(state.quorum));
        co_await a.gather(*asked);
        auto founds = a.stopped() ? std::nullopt : quorum::to_found(*asked);
        if (!founds)
            co_return;
        auto const all = quorum::make_round(state.quorum, std::move(*founds));
        co_await a.gather(*all);
        if (quorum::all_granted(*all))
            state.quorum.nodes.set_founded();
    } else if (next == step::let_found) {
        co_await a.sleep(a.preparation_.lets_found(now));
    }
}

void acquisition::begin_round(clock::time_point now)
{
    if (builder_.should_grow())
        leftovers_.grow();
    round_ = builder_.next(leftovers_.growing());
    round_->wait_for_place_until = attempt_.ask_until(now);
    if (round_->command.watches())
        watch_.begin(round_);
    leftovers_.may_be_left_by(*round_);
}

acquisition::judgement acquisition::judge()
{
    if (round_->command.wants_any())
        state_->cleaner.settle(*round_);
    attempt_.asked = round_->started;
    attempt_.decided = state_->now();
    judgement const result{.ec = outcome_of(*round_), .took = attempt_.decided - attempt_.asked};
    tell(*round_, result.ec);
    return result;
}

error_code acquisition::outcome_of(quorum::round const& r) const
{
    if (cancelled_)
        return asio::error::operation_aborted;
    if (r.found_no_place())
        return errc::overloaded;
    if (r.votes.verdict() != core::verdict::won) {
        if (r.votes.contended())
            return errc::contended;
        return r.votes.lost_for_want_of(quorum::quarantined(r)) ? errc::quarantined : errc::no_quorum;
    }
    bool const too_late = quorum::came_too_late(*round_, attempt_.decided, request_.options.max_hold);
    return too_late ? make_error_code(errc::validity_exhausted) : error_code();
}

// The votes may have made a token. If not, it must be drawn.
bool acquisition::take_token()
{
    draw_.learn_from(*round_);
    auto const number = token_draw::number_in(*round_);
    round_->grant()->fence = number;
    return number != 0;
}

runtime::task<acquisition::judgement> acquisition::draw_token(std::shared_ptr<acquisition> self, judgement won)
{
    auto& a = *self;
    auto const raise = a.draw_.second_round(*a.round_, a.request_.mode_on_nodes());
    co_await a.gather(*raise);
    a.attempt_.decided = a.state_->now();
    a.draw_.learn_from(*raise);
    auto const number = token_draw::number_after(*raise);
    a.round_->grant()->fence = number;
    won.ec = a.outcome_of(*raise);
    if (!won.ec && number == 0) {
        won.ec = errc::contended;
        won.conflict = true;
        ++a.conflicts_;
    }
    a.tell(*raise, won.ec);
    co_return won;
}

void acquisition::hand_out(judgement const& won)
{
    auto names = wants_any() ? resource_set(request_.name_of(round_->grant()->keys.front())) : request_.resources();
    if (wants_any())
        state_->preferences.had(request_.names(), names.names().front());
    if (quorum::is_wanted(*round_) && !shares()) {
        bool const in_vain = turn_.history().yielded && builder_.rounds() == 1;
        state_->waiters.others_want(names.names(), won.took, in_vain, state_->now(), state_->runtime.random()[0]);
    }
    auto held =
        detail::make_recycled<held_lock>(state_, attempt_.origin(), std::move(names), *round_, request_.options);
    if (!right_to_upgrade_.empty())
        held->held_as.may_be_upgraded(std::move(right_to_upgrade_));
    held->set_alarm();
    state_->held_locks.add(held);
    state_->watchers.changed(held->resources);
    won_ = detail::access::make_handle(held->first_handle());
    leftovers_.are_won();
    if (turn_.place())
        turn_.place()->got(held->resources.names());
    turn_.tell_those_behind(errc::contended, {});
}

// Call this after a lost round: tells the waiters behind, and releases what the round may have set.
void acquisition::clean_up(error_code lost)
{
    if (!cancelled_)
        turn_.tell_those_behind(lost, round_);
    if (round_->command.wants_any() && round_->votes.verdict() == core::verdict::lost)
        builder_.prefer_others(*round_);
    leftovers_.round_was_lost(*round_);
}

// Nobody holds the lock: only the counters disagree. This client asks again without a pause, because its next proposal
// is higher, or because it knows the counter of one more node.
bool acquisition::asks_again_at_once(judgement const& lost) const
{
    auto const& nodes = state_->quorum.nodes;
    return lost.conflict && conflicts_ <= nodes.size() - nodes.quorum() + 1;
}

void acquisition::may_be_free(core::watched of, std::size_t node, std::string_view resource)
{
    if (watch_.may_be_free(of, node, resource) && sleeper_)
        wake();
}

void acquisition::cancel(asio::cancellation_type type)
{
    if (turn_.place())
        turn_.place()->stops();
    waiting_operation::cancel(type);
}

}  // namespace redlock::locks
