#include "locks/acquisition.hpp"

#include "core/backoff.hpp"
#include "core/fencing.hpp"
#include "core/validity.hpp"
#include "core/wait_plan.hpp"
#include "locks/check.hpp"
#include "locks/explain.hpp"
#include "locks/extension.hpp"
#include "locks/held_lock.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <exception>
#include <utility>

namespace redlock::detail {

using namespace std::chrono_literals;

namespace {

// What the nodes have said in a round that was lost.
void look_at(round const& r, clock::time_point now, core::estimate<clock::time_point>& to)
{
    for (auto const& b : r.ballots) {
        if (!b.answered || b.cast() == vote::unknown)
            continue;
        if (b.reply.vote == vote::granted)
            to.expect(b.node, now);  // we give it back
        else if (b.command().contends() && b.reply.remaining.count() >= 0)
            to.expect(b.node, now + b.reply.remaining + 2ms);
    }
}

}  // namespace

void start_acquire(std::shared_ptr<manager_state> s, std::string resource, acquire_options options, acquire_handler handler, bool explains)
{
    if (s->abandoned())
        return handler(error_code(asio::error::operation_aborted), lock_handle());
    auto a = make_recycled<acquisition>(s, std::move(resource), options, std::move(handler), explains);
    if (!check_resource(a->resource, s->settings.prefix).empty() || !check(options, s->settings).empty())
        return a->complete(errc::invalid_argument);
    if (!s->quorum.nodes.check_ttl(options.ttl).empty())
        return a->complete(errc::invalid_argument);
    if (!s->quorum.nodes.lack().empty())
        return a->complete(errc::unsupported);
    a->done.on_cancel(a);
    s->operations.run(a, options.wait.count() > 0 ? acquisition::run_in_queue(a) : acquisition::run(a));
}

acquisition::acquisition(std::shared_ptr<manager_state> s, std::string name, acquire_options options, acquire_handler handler,
                         bool explains)
    : shared_operation(s->strand()),
      resource(std::move(name)),
      done(std::move(handler)),
      state_(std::move(s)),
      options_(options),
      called_(state_->now()),
      give_up_at_(core::later(called_, options.wait)),
      explains_(explains),
      alarm_([this] { wake(); })
{
}

auto acquisition::sleep(clock::time_point until)
{
    return suspend_into(sleeper_, [this, until] {
        if (until != clock::time_point::max())
            state_->runtime.set(alarm_, until);
    });
}

// One waiter per manager and resource asks: the others queue up behind it, first come first served.
task<error_code> acquisition::run_in_queue(std::shared_ptr<acquisition> self)
{
    auto& state = *self->state_;
    state.operations.enter(*self);
    waiters::place place(state.waiters, self->resource, *self, state.quorum.nodes.ready() ? errc::contended : errc::no_quorum);
    self->place_ = &place;
    self->history_.drawn = state.waiters.should_contend(state.runtime.random()[0]);
    co_return co_await run(self);
}

task<error_code> acquisition::run(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    auto& state = *a.state_;
    state.operations.enter(a);
    while (!a.stopped()) {
        auto const now = state.now();
        if (a.place_ && !a.place_->first()) {
            if (now >= a.give_up_at_) {
                a.round_ = a.place_->asked();
                co_return a.place_->met();
            }
            a.history_.queued = true;
            co_await a.sleep(a.give_up_at_);
            continue;
        }
        // As long as this manager itself has the lock, or yields it, the nodes need not be asked.
        auto const held_until = state.holdings.held_until(a.resource);
        auto const until = held_until ? held_until : state.waiters.yields_until(a.resource, now);
        if (until && a.place_ && now < a.give_up_at_) {
            (held_until ? a.history_.queued : a.history_.yielded) = true;
            a.tell_those_behind(errc::contended, {});
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

        auto const decided = state.now();
        auto lost = a.judge(*a.round_);
        bool conflict = false;
        if (!lost && state.settings.fencing) {
            auto const token = co_await draw_token(self);
            lost = token.ec;
            conflict = token.conflict;
        }
        if (!lost) {
            if (a.round_->wanted())
                state.waiters.others_want(a.resource, decided - a.round_->started, a.history_.yielded && a.history_.rounds == 1,
                                          state.now(), state.runtime.random()[0]);
            a.hand_out();
            a.tell_those_behind(errc::contended, {});
            co_return lost;
        }
        a.tell_those_behind(lost, a.round_);
        a.clean_up();
        if (conflict && a.conflicts_++ <= state.quorum.nodes.size() - state.quorum.nodes.quorum())
            continue;  // nobody holds it: at once, now that we know what to propose, or know a node more
        if (a.stopped())
            break;
        if (state.now() >= a.give_up_at_)
            co_return lost;
        // Its ttl may be too short for ever; those behind it are not to share its fate.
        if (a.place_ && lost == errc::validity_exhausted)
            a.place_->step_back();
        co_await wait_until_free(self, lost);
    }
    co_return asio::error::operation_aborted;
}

task<void> acquisition::connect(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    auto& quorum = a.state_->quorum;
    a.round_ = make_recycled<round>(quorum, node_command::kind::connect, std::string(), std::string(), a.options_.ttl);
    co_await a.round_->gather();
    if (a.round_->votes.verdict() == core::verdict::won)
        quorum.nodes.set_met();
    else
        a.tell_those_behind(errc::no_quorum, a.round_);
}

// A fresh value for each round: a round never meets its own leftovers, nor frees its successor.
std::shared_ptr<round> acquisition::next_round()
{
    auto& state = *state_;
    auto r = make_recycled<round>(state.quorum, node_command::kind::acquire, state.settings.prefix + resource, state.make_token(), options_.ttl);
    r->timed = options_.report != nullptr;
    history_.others_queue = state.waiters.others_queue(resource);
    auto const question = core::question_for(history_);
    if (question.contends)
        r->contend(question.more_follow);
    if (question.watches) {
        r->watch();
        estimate_.emplace(state.quorum.nodes.size(), state.quorum.nodes.quorum());
    }
    if (state.settings.fencing)
        r->command.fence = propose();
    ++history_.rounds;
    bump(state.count.rounds);
    return r;
}

// After a lost round: until the next one may be won, as far as the nodes have told.
task<void> acquisition::wait_until_free(std::shared_ptr<acquisition> self, error_code lost)
{
    auto& a = *self;
    auto& state = *a.state_;
    auto const ended = state.now();
    auto again = ended + core::pause_after(a.history_.rounds, state.runtime.random()[0]);
    if (lost == errc::quarantined) {
        again = std::max(again, state.quorum.nodes.quarantine_over());
    } else if (lost == errc::contended && !a.estimate_) {
        again = ended;  // the next round asks the nodes to notify
    } else if (lost == errc::contended) {
        bool const race = a.round_->votes.granted() > 0;
        a.races_ = race ? a.races_ + 1 : 0;
        a.denied_ += race ? 0 : 1;
        // Where too few nodes will notify, the lock may go without a word.
        co_await wait_for_change(self, ended, a.will_be_notified() ? a.give_up_at_ : std::min(again, a.give_up_at_));
        again = state.now() + core::delay_after(a.denied_, a.races_, ended - a.round_->started, state.runtime.random()[0]);
    }
    a.estimate_.reset();
    if (!a.stopped())
        co_await a.sleep(std::min(again, a.give_up_at_));
}

task<void> acquisition::wait_for_change(std::shared_ptr<acquisition> self, clock::time_point decided, clock::time_point ask_anyway)
{
    using action = core::wait_plan<clock::time_point>::action;
    auto& a = *self;
    core::wait_plan<clock::time_point> plan(a.round_->started, decided, a.state_->quorum.nodes.timeout(), ask_anyway);
    look_at(*a.round_, decided, *a.estimate_);
    while (!a.stopped()) {
        auto const step = plan.next(a.state_->now(), a.estimate_->free_at());
        if (step.what == action::ask)
            co_return;
        if (step.what == action::look)
            look_at(*a.round_, step.until, *a.estimate_);
        else
            co_await a.sleep(step.until);
    }
}

// Whether a quorum of the nodes will notify when what they have said changes.
bool acquisition::will_be_notified() const
{
    auto const notifies = [](ballot const& b) { return b.has_granted() || (b.answered && b.reply.watched); };
    return static_cast<std::size_t>(std::count_if(round_->ballots.begin(), round_->ballots.end(), notifies)) >= state_->quorum.nodes.quorum();
}

bool acquisition::awaits_handovers(std::size_t node) const
{
    return estimate_ && round_->ballots[node].reply.handed_on;
}

void acquisition::may_be_free(std::size_t node)
{
    // What comes before the node's answer to this round happened before, too.
    if (!estimate_ || !round_->ballots[node].answered)
        return;
    estimate_->expect(node, state_->now());
    if (sleeper_)
        wake();
}

// Our fencing token is a number to which a quorum of the nodes has raised its counter for us. Any later acquisition meets one of
// them, where it must be higher. Only nodes that have granted count, so that tokens follow the locks.
task<acquisition::drawn> acquisition::draw_token(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    auto& state = *a.state_;
    auto const needed = state.quorum.nodes.quorum();
    auto& token = a.round_->grant()->fence;
    token = a.round_->command.fence;
    auto const took = [&](ballot const& b) { return b.has_granted() && b.reply.fence == token; };
    if (static_cast<std::size_t>(std::count_if(a.round_->ballots.begin(), a.round_->ballots.end(), took)) >= needed)
        co_return drawn();

    // Another client's clock is ahead of ours, or it asked at the same moment. So the nodes count on from what they have.
    auto const raise = make_recycled<round>(state.quorum, node_command::kind::raise, a.round_->grant(), a.options_.ttl);
    raise->command.fence = a.propose();
    for (auto const& b : a.round_->ballots) {
        if (!b.has_granted())
            raise->skip(b.node, b.answered ? b.cast() : vote::unknown);
    }
    ++a.second_rounds_;
    bump(state.count.second_rounds);
    a.raise_ = raise;
    co_await raise->gather();
    a.raise_.reset();

    core::fence_tally counters;
    for (auto const& b : raise->ballots) {
        if (b.has_granted())
            counters.add(b.reply.fence);
    }
    token = counters.highest();
    a.highest_ = std::max(a.highest_, token);
    state.proposals.learn(a.highest_, shown_name(a.resource));
    if (auto const ec = a.judge(*raise))
        co_return drawn{.ec = ec};
    bool const conflict = counters.agreed() < needed;
    co_return drawn{.ec = conflict ? make_error_code(errc::contended) : error_code(), .conflict = conflict};
}

std::uint64_t acquisition::propose()
{
    return std::min(std::max(state_->proposals.next(), highest_ + 1), core::fence_end - 1);
}

// What has become of a round that has just ended.
error_code acquisition::judge(round const& r) const
{
    if (cancelled_)
        return asio::error::operation_aborted;
    if (r.votes.verdict() != core::verdict::won) {
        if (r.votes.contended())
            return errc::contended;
        return r.votes.lost_for_want_of(r.quarantined()) ? errc::quarantined : errc::no_quorum;
    }
    // What would be lost at once is not handed out.
    auto const promised = round_->promised();
    auto const valid_until = std::min(core::valid_until(round_->started, promised, state_->settings.drift_factor),
                                      core::hold_until(round_->started, options_.max_hold));
    if (state_->now() >= valid_until - core::stop_margin(core::time_to_work(promised, options_.max_hold)))
        return errc::validity_exhausted;
    return {};
}

void acquisition::tell_those_behind(error_code outcome, std::shared_ptr<round> asked)
{
    if (place_ && !cancelled_)
        place_->met(outcome, std::move(asked));
}

void acquisition::hand_out()
{
    auto held = make_recycled<held_lock>(state_, resource, *round_, options_, &extension::renew);
    held->keep();
    state_->holdings.add(held);
    won_ = access::make_handle(std::move(held));
    leaves_traces_ = false;
}

void acquisition::clean_up()
{
    leaves_traces_ = false;
    state_->cleaner.clean_up(round_->grant(), options_.ttl);
}

void acquisition::wake()
{
    alarm_.clear();
    if (sleeper_)  // posted, because one that wakes up may wake another, and so on
        asio::post(state_->strand(), [sleeper = std::move(sleeper_)]() mutable { std::move(sleeper).resume(); });
}

void acquisition::cancel(asio::cancellation_type type)
{
    if (sleeper_) {
        cancelled_ = true;
        wake();
    } else if (may_leave_traces(type) || history_.rounds == 0) {
        cancelled_ = true;
        if (raise_)
            raise_->abandon();
        else if (round_ && !won_.held())
            round_->abandon();
    } else {
        last_round_ = true;
    }
}

void acquisition::drop()
{
    auto const self = shared_from_this();  // the task that is destroyed may be the last to know us
    auto const sleeper = std::move(sleeper_);
    if (raise_)
        raise_->drop();
    if (round_)
        round_->drop();
}

void acquisition::complete(error_code ec)
{
    if (leaves_traces_) {  // the task has failed, out of memory
        try {
            clean_up();
        } catch (...) {  // the keys stay until their ttl is over
        }
    }
    state_->count.outcome(ec);
    reported_error outcome(ec);
    try {
        if (options_.report)
            *options_.report = report(ec);
        if (ec && explains_)
            outcome.report = std::make_shared<attempt_report const>(options_.report ? *options_.report : report(ec));
    } catch (...) {  // out of memory: the code must do
    }
    round_.reset();  // here, on the strand: the last who knows us may be a thread of the user's
    done(std::move(outcome), std::move(won_));
}

attempt_report acquisition::report(error_code ec) const
{
    attempt_report r;
    if (round_)
        r.nodes = round_->report();
    r.outcome = ec;
    r.rounds = history_.rounds;
    r.second_rounds = second_rounds_;
    if (ec == errc::quarantined)
        r.quarantine = core::time_left(state_->quorum.nodes.quarantine_over(), state_->now());
    if (ec == errc::contended)
        r.remaining = remaining();
    r.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(state_->now() - called_);
    r.message = ec ? explain(state_->settings, state_->quorum.nodes, resource, options_, r) : "acquired";
    return r;
}

// For how long others have it, as far as this manager or the nodes have told.
std::chrono::milliseconds acquisition::remaining() const
{
    auto const now = state_->now();
    if (auto const until = state_->holdings.held_until(resource))
        return core::time_left(*until, now);
    if (!round_)
        return {};
    core::estimate<clock::time_point> to(round_->ballots.size(), state_->quorum.nodes.quorum());
    look_at(*round_, now, to);
    auto const until = to.free_at();
    return until == clock::time_point::max() ? std::chrono::milliseconds(0) : core::time_left(until, now);
}

}  // namespace redlock::detail
