#include "locks/acquisition.hpp"

#include "core/growth.hpp"
#include "core/validity.hpp"
#include "locks/check.hpp"
#include "locks/explain.hpp"
#include "locks/extension.hpp"
#include "locks/held_lock.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <exception>
#include <span>
#include <utility>

namespace redlock::inline v0::detail {

using namespace std::chrono_literals;

void start_acquire(std::shared_ptr<manager_state> s, selection wanted, acquire_options options, acquire_handler handler, bool explains)
{
    start_acquire(std::move(s), std::move(wanted), options, std::move(handler), explains, {});
}

void start_acquire(std::shared_ptr<manager_state> s, selection wanted, acquire_options options, acquire_handler handler, bool explains,
                   std::string holds_up_to)
{
    if (s->abandoned())
        return handler(error_code(asio::error::operation_aborted), lock_handle());
    auto a = make_recycled<acquisition>(s, std::move(wanted), options, std::move(handler), explains, std::move(holds_up_to));
    if (!check(a->wanted, options, s->settings).empty() || !s->quorum.nodes.check_ttl(options.ttl).empty())
        return a->complete(errc::invalid_argument);
    if (!s->quorum.nodes.lack(a->wanted, options.mode).empty())
        return a->complete(errc::unsupported);
    if (options.mode == mode::upgradeable)
        return start_upgradeable(std::move(s), a->resources, options, std::move(a->done), explains, std::string(a->holds_up_to()));
    acquisition::start(std::move(a));
}

void acquisition::start(std::shared_ptr<acquisition> a)
{
    a->done.on_cancel(a);
    a->state_->operations.run(a, a->options_.wait.count() > 0 ? run_in_queue(a) : run(a));
}

acquisition::acquisition(std::shared_ptr<manager_state> s, selection what, acquire_options options, acquire_handler handler,
                         bool explains, std::string holds_up_to)
    : shared_operation(s->strand()),
      wanted(std::move(what)),
      done(std::move(handler)),
      state_(std::move(s)),
      options_(options),
      attempt_(*state_, resources, options_),
      give_up_at_(core::later(attempt_.called, options.wait)),
      explains_(explains),
      holds_up_to_(std::move(holds_up_to)),
      alarm_([this] { wake(); })
{
}

// One waiter per manager and resource asks: the others queue up behind it, first come first served.
task<error_code> acquisition::run_in_queue(std::shared_ptr<acquisition> self)
{
    auto& state = *self->state_;
    state.operations.enter(*self);
    std::optional<waiters::place> place(std::in_place, state.waiters, self->resources.names(), *self);
    self->place_ = &*place;
    self->history_.drawn = state.waiters.should_contend(state.runtime.random()[0]);
    auto const ec = co_await run(self);
    if (self->growing_)  // it gives up
        self->clean_up();
    self->place_ = nullptr;
    place.reset();
    if (ec && !self->shares())
        self->withdraw();
    co_return ec;
}

task<error_code> acquisition::run(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    auto& state = *a.state_;
    state.operations.enter(a);
    a.attempt_.begins();
    if (state.events)
        a.attempt_.tell_begin(a.wanted.any, false, a.place_ ? a.place_->ahead() : 0, self);
    while (!a.stopped()) {
        auto const now = a.attempt_.asked = a.attempt_.decided = state.now();
        if (auto const outcome = a.end_without_asking(now))
            co_return *outcome;
        if (auto const until = a.others_first(now)) {
            a.let_others_pass();
            co_await a.sleep(std::min(*until, a.give_up_at_));
            continue;
        }
        // The first connections take longer than a vote may; later ones are made while the others vote.
        if (!state.quorum.nodes.met() && !a.round_) {
            co_await connect(self);
            continue;
        }

        a.round_ = a.next_round();
        a.leaves_traces_ = true;
        co_await a.round_->gather();
        if (a.round_->command.any)
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
        a.round_was_in_vain(result.ec);
        if (result.conflict && a.conflicts_++ <= state.quorum.nodes.size() - state.quorum.nodes.quorum())
            continue;  // nobody holds it: at once, now that we know what to propose, or know a node more
        if (a.stopped())
            break;
        if (state.now() >= a.give_up_at_)
            co_return result.ec;
        // Its ttl may be too short for ever; those behind it are not to share its fate.
        if (a.place_ && result.ec == errc::validity_exhausted) {
            if (a.growing_)
                a.clean_up();
            a.place_->step_back();
        }
        co_await wait_until_free(self, result.ec);
    }
    co_return asio::error::operation_aborted;
}

task<void> acquisition::connect(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    a.round_ = round::to_connect(a.state_->quorum);
    co_await a.round_->gather();
    if (a.round_->votes.verdict() != core::verdict::won)
        a.tell_those_behind(errc::no_quorum, a.round_);
}

key_list acquisition::keys() const
{
    key_list all;
    all.reserve(resources.size());
    for (auto const& resource : resources)
        all.push_back(state_->settings.prefix + resource);
    return all;
}

std::string_view acquisition::name_of(std::string_view key) const
{
    return key.substr(state_->settings.prefix.size());
}

// A fresh value for each round: a round never meets its own leftovers, nor frees its successor. But one that grows adds to what those
// before it have kept.
std::shared_ptr<round> acquisition::next_round()
{
    auto& state = *state_;
    if (place_ && wants_several() && lost_rounds_ >= core::all_or_nothing && !growing_)
        growing_ = make_recycled<grant>(keys(), state.make_token(), state.quorum.nodes.size());
    auto r = growing_ ? make_recycled<round>(state.quorum, node_command::kind::acquire, growing_, options_.ttl)
                      : make_recycled<round>(state.quorum, node_command::kind::acquire, wants_any() ? choices(state.now()) : keys(),
                                             state.make_token(), options_.ttl, mode_on_nodes());
    if (wants_any() && r->command.has_several_keys())
        r->want_any();
    r->timed = options_.report || state.events;
    history_.others_queue = state.waiters.others_queue(resources.names());
    auto const question = core::question_for(history_);
    noted_ = noted_ || question.contends;
    if (question.contends)
        r->contend(question.more_follow && !wants_several());
    // Who queues for any of several is rather denied than not: those before it have found the others taken.
    if (question.watches || (question.contends && r->command.any)) {
        r->watch();
        estimate_.emplace(state.quorum.nodes.size(), state.quorum.nodes.quorum(), wants_any());
    }
    if (growing_)
        r->grow();
    r->command.passes = passes_writers();
    if (state.settings.fencing)
        r->command.fence = shares() ? 1 : propose();
    ++history_.rounds;
    bump(state.count.rounds);
    return r;
}

// What has become of a round that has just ended.
error_code acquisition::outcome_of(round const& r) const
{
    if (cancelled_)
        return asio::error::operation_aborted;
    if (r.votes.verdict() != core::verdict::won) {
        if (r.votes.contended())
            return errc::contended;
        return r.votes.lost_for_want_of(r.quarantined()) ? errc::quarantined : errc::no_quorum;
    }
    bool const too_late = round_->came_too_late(attempt_.decided, options_.max_hold);
    return too_late ? make_error_code(errc::validity_exhausted) : error_code();
}

void acquisition::tell(round const& decided, error_code outcome)
{
    if (state_->events)
        attempt_.tell_round(decided, history_.rounds, outcome, shared_from_this());
}

void acquisition::tell_those_behind(error_code outcome, std::shared_ptr<round> asked)
{
    if (place_ && !cancelled_)
        place_->met(outcome, std::move(asked));
}

void acquisition::hand_out(clock::time_point decided)
{
    auto names = wants_any() ? resource_set(name_of(round_->grant()->keys.front())) : resources;
    if (wants_any())
        state_->preferences.had(resources.names(), names.names().front());
    if (round_->wanted() && !shares())
        state_->waiters.others_want(names.names(), decided - round_->started, history_.yielded && history_.rounds == 1, state_->now(),
                                    state_->runtime.random()[0]);
    auto held = make_recycled<held_lock>(state_, attempt_.origin(), std::move(names), *round_, options_, &extension::renew);
    if (!right_to_upgrade.empty())
        held->may_be_upgraded(std::move(right_to_upgrade));
    held->keep();
    state_->holdings.add(held);
    won_ = access::make_handle(held->first_stake());
    leaves_traces_ = false;
    growing_.reset();
    if (place_)
        place_->got(held->resources.names());
    tell_those_behind(errc::contended, {});
}

void acquisition::wake()
{
    alarm_.clear();
    if (sleeper_)  // posted, because one that wakes up may wake another, and so on
        asio::post(state_->strand(), [sleeper = std::move(sleeper_)]() mutable { std::move(sleeper).resume(); });
}

void acquisition::cancel(asio::cancellation_type type)
{
    if (place_)
        place_->stops();
    if (sleeper_) {
        cancelled_ = true;
        wake();
    } else if (may_leave_traces(type) || history_.rounds == 0) {
        cancelled_ = true;
        if (raise_)
            raise_->end_wait();
        else if (round_ && !won_.held())
            round_->end_wait();
    } else {
        last_round_ = true;
    }
}

void acquisition::abandon()
{
    auto const self = shared_from_this();  // the task that is destroyed may be the last to know us
    auto const sleeper = std::move(sleeper_);
    if (raise_)
        raise_->abandon();
    if (round_)
        round_->abandon();
}

void acquisition::complete(error_code ec)
{
    place_ = nullptr;  // the task has destroyed it
    if (leaves_traces_) {  // the task has failed, out of memory
        try {
            clean_up();
        } catch (...) {  // the keys stay until their ttl is over
        }
    }
    attempt_.ends(ec);
    reported_error outcome(ec);
    try {
        if (state_->events)
            tell_outcome(ec);
        if (options_.report)
            *options_.report = report(ec);
        if (ec && explains_)
            outcome.report = std::make_shared<attempt_report const>(options_.report ? *options_.report : report(ec));
    } catch (...) {  // out of memory: the code must do
    }
    round_.reset();  // here, on the strand: the last who knows us may be a thread of the user's
    done(std::move(outcome), std::move(won_));
}

}  // namespace redlock::detail
