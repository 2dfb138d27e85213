#include "locks/acquisition.hpp"

#include "core/backoff.hpp"
#include "core/growth.hpp"
#include "core/validity.hpp"
#include "core/wait_plan.hpp"
#include "locks/check.hpp"
#include "locks/explain.hpp"
#include "locks/held_lock.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <utility>

namespace redlock::inline v1::locks {

namespace {

// While another manager founds the set, a client looks again after this time.
constexpr std::chrono::milliseconds founding_pause{20};

// A client that waits for the end of a quarantine looks again after this time.
constexpr std::chrono::milliseconds quarantine_look{1000};

}  // namespace

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

runtime::task<error_code> acquisition::run(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    auto& state = *a.state_;
    auto const& nodes = state.quorum.nodes;
    state.operations.enter(a);
    a.attempt_.begins();
    if (state.log.observed())
        a.attempt_.tell_begin(a.request_.wanted.any, false, a.turn_.place() ? a.turn_.place()->ahead() : 0, self);
    std::size_t conflicts = 0;
    while (!a.stopped()) {
        auto const now = a.attempt_.asked = a.attempt_.decided = state.now();
        if (auto const outcome = a.end_without_asking(now))
            co_return *outcome;
        bool const asks_now = a.leftovers_.growing() || now >= a.give_up_at_;  // kept keys must not expire
        if (auto const until = asks_now ? std::nullopt : a.turn_.others_first(now)) {
            a.turn_.let_others_pass(a.watch_, false);
            co_await a.sleep(std::min(*until, a.give_up_at_));
            continue;
        }
        // Connecting takes longer than a vote may, so the first acquisition waits for a majority. Other nodes connect
        // while these vote.
        if (!nodes.met() && !a.round_) {
            a.round_ = quorum::round::to_connect(state.quorum);
            co_await a.gather(*a.round_);
            if (a.round_->votes.verdict() != core::verdict::won && !a.cancelled_)
                a.turn_.tell_those_behind(errc::no_quorum, a.round_);
            continue;
        }

        if (nodes.may_found() && !a.has_founded_) {
            co_await found(self);
            continue;
        }
        if (nodes.is_being_founded()) {
            a.founding_until_ = a.founding_until_.value_or(now + nodes.longest_timeout());
            if (now < *a.founding_until_) {
                co_await a.sleep(std::min(now + founding_pause, *a.founding_until_));
                continue;
            }
        }

        a.round_ = a.next_round();
        a.round_->wait_for_place_until = a.attempt_.ask_until(now);
        co_await a.gather(*a.round_);
        if (a.round_->command.wants_any())
            state.cleaner.settle(*a.round_);

        auto const decided = a.attempt_.decided = state.now();
        a.attempt_.asked = a.round_->started;
        drawn result{.ec = a.outcome_of(*a.round_)};
        a.tell(*a.round_, result.ec);
        if (!result.ec && state.settings.fencing)
            result = co_await draw_token(self);
        if (!result.ec) {
            a.hand_out(decided);
            co_return result.ec;
        }
        a.round_was_lost(result.ec);
        if (result.conflict && conflicts++ <= nodes.size() - nodes.quorum())
            // Nobody holds the lock: only the counters disagree. This client asks again without a pause, because its
            // next proposal is higher, or because it knows the counter of one more node.
            continue;
        if (a.stopped())
            break;
        if (state.now() >= a.give_up_at_)
            co_return result.ec;
        // The ttl may always be too short for this quorum. The waiters behind may ask for a longer one, so they come
        // first.
        if (a.turn_.place() && result.ec == errc::validity_exhausted) {
            if (a.leftovers_.growing())
                a.leftovers_.clean_up(*a.round_);
            a.turn_.place()->step_back();
        }
        co_await wait_until_free(self, result.ec);
    }
    co_return asio::error::operation_aborted;
}

// No node of the set has a record of locks. So there is nothing to forget, and all of them vote from now on.
runtime::task<void> acquisition::found(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    a.has_founded_ = true;
    auto const asked = quorum::round::to_ask_if_new(a.state_->quorum);
    co_await a.gather(*asked);
    auto const all = a.stopped() ? nullptr : quorum::round::to_found(*asked);
    if (!all)
        co_return;
    co_await a.gather(*all);
    if (all->all_granted())
        a.state_->quorum.nodes.set_founded();
}

// Returns the outcome if the acquisition ends without asking the nodes (again). Returns nothing if it goes on.
std::optional<error_code> acquisition::end_without_asking(clock::time_point now)
{
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

std::shared_ptr<quorum::round> acquisition::next_round()
{
    if (builder_.should_grow())
        leftovers_.grow();
    auto next = builder_.next(leftovers_.growing());
    if (next->command.watches())
        watch_.begin(next);
    leftovers_.may_be_left_by(*next);
    return next;
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
        return r.votes.lost_for_want_of(r.quarantined()) ? errc::quarantined : errc::no_quorum;
    }
    bool const too_late = round_->came_too_late(attempt_.decided, request_.options.max_hold);
    return too_late ? make_error_code(errc::validity_exhausted) : error_code();
}

runtime::task<acquisition::drawn> acquisition::draw_token(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    auto& token = a.round_->grant()->fence;
    token = a.draw_.number_in(*a.round_);
    if (token != 0)
        co_return drawn();
    auto const raise = a.draw_.second_round(*a.round_, a.request_.mode_on_nodes());
    co_await a.gather(*raise);
    a.attempt_.decided = a.state_->now();
    token = a.draw_.number_after(*raise);
    drawn result{.ec = a.outcome_of(*raise)};
    if (!result.ec && token == 0)
        result = {.ec = errc::contended, .conflict = true};
    a.tell(*raise, result.ec);
    co_return result;
}

void acquisition::hand_out(clock::time_point decided)
{
    auto names = wants_any() ? resource_set(request_.name_of(round_->grant()->keys.front())) : request_.resources();
    if (wants_any())
        state_->preferences.had(request_.names(), names.names().front());
    if (round_->wanted() && !shares()) {
        bool const in_vain = turn_.history().yielded && builder_.rounds() == 1;
        state_->waiters.others_want(names.names(), decided - round_->started, in_vain, state_->now(),
                                    state_->runtime.random()[0]);
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

void acquisition::round_was_lost(error_code ec)
{
    if (!cancelled_)
        turn_.tell_those_behind(ec, round_);
    if (round_->command.wants_any() && round_->votes.verdict() == core::verdict::lost)
        builder_.prefer_others(*round_);
    leftovers_.round_was_lost(*round_);
}

// After a lost round, waits until the next round may win, judging by the nodes' answers.
runtime::task<void> acquisition::wait_until_free(std::shared_ptr<acquisition> self, error_code lost)
{
    auto& a = *self;
    auto& state = *a.state_;
    auto const ended = state.now();
    auto const random = state.runtime.random()[0];
    auto again = ended + core::pause_after(a.builder_.rounds(), random);
    a.turn_.denied(*a.round_, ended);
    if (lost == errc::contended)
        a.builder_.lost_to_others();
    if (lost == errc::contended && !a.watch_.active()) {
        again = ended;  // the next round asks the nodes to notify
    } else if (lost == errc::contended) {
        auto ask_anyway = std::min(a.watch_.denied(ended, random, a.builder_.rounds()), a.give_up_at_);
        if (a.leftovers_.growing())
            ask_anyway = std::min(ask_anyway, core::growth_due(a.round_->started, a.request_.options.ttl));
        co_await wait_for_change(self, ended, ask_anyway);
        again = state.now();
        // Other managers were notified, too, so this one holds back. If the wait ended because another resource may be
        // asked for now, nobody else was told of that, and no delay is needed.
        if (a.turn_.another_choice_at(*a.round_, again) > again)
            again = std::max(again + a.watch_.delay(ended, state.runtime.random()[0]),
                             std::min(a.watch_.not_before(), ask_anyway));
    }
    a.watch_.end();
    if (!a.stopped())
        co_await a.sleep(std::min(again, a.give_up_at_));
    if (lost == errc::quarantined && state.now() >= again)
        co_await sleep_in_quarantine(self);
}

// Another client may found the nodes meanwhile, which ends the quarantine. If somebody wakes this client, it asks.
runtime::task<void> acquisition::sleep_in_quarantine(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    auto& state = *a.state_;
    for (auto until = state.now(); !a.stopped() && state.now() >= until;) {
        auto const end = std::min(state.quorum.nodes.quarantine_over(), a.give_up_at_);
        if (state.now() >= end)
            co_return;
        until = std::min(end, state.now() + quarantine_look);
        co_await a.sleep(until);
        if (state.quorum.nodes.may_found()) {  // it was not connected, or has not said again that it is new
            a.has_founded_ = false;
            co_return;
        }
    }
}

runtime::task<void> acquisition::wait_for_change(std::shared_ptr<acquisition> self, clock::time_point decided,
                                                 clock::time_point ask_anyway)
{
    using action = core::wait_plan<clock::time_point>::action;
    auto& a = *self;
    bool const grows = a.leftovers_.growing() != nullptr;
    core::wait_plan<clock::time_point> plan(a.round_->started, decided, a.state_->quorum.nodes.longest_timeout(),
                                            ask_anyway);
    while (!a.stopped() && (grows || !a.turn_.is_overtaken(*a.round_))) {
        a.turn_.let_others_pass(a.watch_, grows);
        auto const now = a.state_->now();
        auto const step = plan.next(now, a.watch_.free_at());
        auto const another_choice = a.turn_.another_choice_at(*a.round_, now);
        if (step.what == action::ask || another_choice <= now)
            co_return;
        if (step.what == action::sleep) {
            co_await a.sleep(std::min(step.until, another_choice));
            continue;
        }
        a.watch_.read_votes(step.until);
        if (grows)
            a.leftovers_.keep_what_is_ours(*a.round_);
    }
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
