#include "manager/acquisition.hpp"

#include "core/backoff.hpp"
#include "core/check.hpp"
#include "core/validity.hpp"
#include "manager/explain.hpp"
#include "manager/held_lock.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace redlock::detail {

using namespace std::chrono_literals;

namespace {

// What the nodes have said in a round that was lost.
void look_ahead(round const& r, clock::time_point now, core::outlook<clock::time_point>& to)
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

void start_acquire(std::shared_ptr<engine> e, std::string resource, acquire_options options, acquire_handler handler, bool explains)
{
    if (e->abandoned())
        return handler(error_code(asio::error::operation_aborted), lock_handle());
    auto a = make_recycled<acquisition>(e, std::move(resource), options, std::move(handler), explains);
    if (!core::check_resource(a->resource, e->settings().prefix).empty() || !core::check(options, e->settings()).empty())
        return a->complete(errc::invalid_argument);
    a->done.on_cancel(a);
    run_operation(*e, a, options.wait.count() > 0 ? acquisition::contend(a) : acquisition::ask_nodes(a));
}

acquisition::acquisition(std::shared_ptr<detail::engine> e, std::string name, acquire_options options,
                         acquire_handler handler, bool explains)
    : shared_operation(e->strand()),
      resource(std::move(name)),
      done(std::move(handler)),
      engine_(std::move(e)),
      options_(options),
      called_(engine_->now()),
      give_up_at_(core::later(called_, options.wait)),
      explains_(explains),
      alarm_([this] { wake(); })
{
}

auto acquisition::sleep(clock::time_point until)
{
    return suspend_into(sleeper_, [this, until] {
        if (until != clock::time_point::max())
            engine_->set(alarm_, until);
    });
}

// One contender per process and resource: the others queue up behind it, first come first served.
flow<error_code> acquisition::contend(std::shared_ptr<acquisition> self)
{
    auto& e = *self->engine_;
    e.enter(*self);
    engine::place_in_queue place(e, *self);
    self->place_ = &place;
    co_return co_await ask_nodes(self);
}

flow<error_code> acquisition::ask_nodes(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    auto& e = *a.engine_;
    e.enter(a);
    bool const comes_often = a.options_.wait.count() > 0 && e.should_look_for_others();
    error_code lost = errc::contended;
    while (!a.stopped()) {
        if (a.place_ && !a.place_->first()) {
            if (e.now() >= a.give_up_at_) {
                a.round_ = a.place_->asked();
                co_return a.place_->met();
            }
            a.queued_ = true;
            co_await a.sleep(a.give_up_at_);
            continue;
        }
        // As long as this process itself has the lock, the nodes need not be asked.
        if (auto const until = a.blocked_until()) {
            if (a.place_)
                a.place_->met(errc::contended, {});
            co_await a.sleep(*until);
            continue;
        }
        // The first connections take longer than a vote may; later ones are made while the others vote.
        if (!e.connected() && !a.round_) {
            a.round_ = make_recycled<round>(e, node_command::kind::connect, std::string(), std::string(), a.options_.ttl);
            co_await a.round_->gather();
            if (a.round_->votes.verdict() == core::verdict::won)
                e.set_connected();
            else if (a.place_ && !a.cancelled_)
                a.place_->met(errc::no_quorum, a.round_);
            continue;
        }

        // A fresh token for each round: a round never meets its own leftovers, nor frees its successor.
        a.round_ = make_recycled<round>(e, node_command::kind::acquire, e.settings().prefix + a.resource, e.make_token(),
                                        a.options_.ttl);
        a.round_->timed = a.options_.report != nullptr;
        // Otherwise it is plain: most do not meet anybody. Who takes over from this process does not expect to be denied.
        bool const lost_before = a.rounds_ > 0;
        bool const takes_over = a.queued_ && !a.gave_way_ && !lost_before;
        if (a.queued_ || comes_often || a.gave_way_ || lost_before)
            a.round_->contend(takes_over || e.others_queue(a.resource));
        if (a.gave_way_ || lost_before) {
            a.round_->watch();
            a.outlook_.emplace(e.nodes().size(), e.quorum());
        }
        if (e.settings().fencing)
            a.round_->command.fence = a.propose();
        ++a.rounds_;
        bump(e.count.rounds);
        a.leaves_traces_ = true;
        co_await a.round_->gather();

        auto const decided = e.now();
        lost = a.judge(*a.round_);
        if (!lost && e.settings().fencing)
            lost = co_await draw_token(self);
        if (!lost) {
            if (a.round_->wanted())
                e.wanted(a.resource, decided - a.round_->started, a.gave_way_ && a.rounds_ == 1);
            a.hand_out();
            if (a.place_)
                a.place_->met(errc::contended, {});
            co_return lost;
        }
        if (a.place_ && !a.cancelled_)
            a.place_->met(lost, a.round_);
        a.clean_up();
        if (std::exchange(a.outbid_, false) && a.outbids_++ <= e.nodes().size() - e.quorum())
            continue;  // nobody holds it: at once, now that we know what to propose, or know a node more
        if (a.stopped())
            break;
        if (e.now() >= a.give_up_at_)
            co_return lost;
        // Its ttl may be too short for ever; those behind it are not to share its fate.
        if (a.place_ && lost == errc::validity_exhausted)
            a.place_->step_back();
        co_await wait_for_chance(self, lost);
    }
    co_return asio::error::operation_aborted;
}

// After a lost round: until the next one may be won, as far as the nodes have told.
flow<void> acquisition::wait_for_chance(std::shared_ptr<acquisition> self, error_code lost)
{
    auto& a = *self;
    auto& e = *a.engine_;
    auto const ended = e.now();
    auto again = ended + core::pause_after(a.rounds_, e.random());
    if (lost == errc::quarantined)
        again = std::max(again, e.quarantine_over());
    if (lost == errc::contended && !a.outlook_) {
        again = ended;  // the next round asks the nodes to tell
    } else if (lost == errc::contended) {
        if (a.round_->votes.granted() > 0) {
            ++a.races_;
        } else {
            a.races_ = 0;
            ++a.denied_;
        }
        look_ahead(*a.round_, ended, *a.outlook_);
        // Where too few nodes will tell, the lock may go without a word.
        auto const ask_anyway = a.will_be_told() ? a.give_up_at_ : std::min(again, a.give_up_at_);
        // The round was decided without those that answer late; twice we look whether they have said something.
        clock::time_point looks[] = {ended + 2 * (ended - a.round_->started), a.round_->started + e.settings().node_timeout};
        for (auto* next = looks; !a.stopped() && e.now() < a.chance(ask_anyway);) {
            auto const look = next != std::end(looks) ? *next : clock::time_point::max();
            if (e.now() >= look)
                look_ahead(*a.round_, *next++, *a.outlook_);
            else
                co_await a.sleep(a.chance(std::min(look, ask_anyway)));
        }
        again = e.now() + core::delay_after(a.denied_, a.races_, ended - a.round_->started, e.random());
    }
    a.outlook_.reset();
    again = std::min(again, a.give_up_at_);
    if (!a.stopped())
        co_await a.sleep(again);
}

// Whether a quorum of the nodes will tell when what they have said changes.
bool acquisition::will_be_told() const
{
    auto const tells = [](ballot const& b) { return b.has_granted() || (b.answered && b.reply.watched); };
    return static_cast<std::size_t>(std::count_if(round_->ballots.begin(), round_->ballots.end(), tells)) >= engine_->quorum();
}

clock::time_point acquisition::chance(clock::time_point at_the_latest) const
{
    return std::min(outlook_->chance(), at_the_latest);
}

bool acquisition::awaits_turn(std::size_t node) const
{
    return outlook_ && round_->ballots[node].reply.handed_on;
}

void acquisition::may_be_free(std::size_t node)
{
    // What comes before the node's answer to this round happened before, too.
    if (!outlook_ || !round_->ballots[node].answered)
        return;
    auto const now = engine_->now();
    outlook_->expect(node, now);
    if (sleeper_)
        wake();
}

// Our fencing token is a number to which a quorum of the nodes has raised its counter for us. Any later acquisition meets one of
// them, where it must be higher. Only nodes that have granted count, so that tokens follow the locks.
flow<error_code> acquisition::draw_token(std::shared_ptr<acquisition> self)
{
    auto& a = *self;
    auto& e = *a.engine_;
    auto& token = a.round_->grant()->fence;
    token = a.round_->command.fence;
    auto const took = [&](ballot const& b) { return b.has_granted() && b.reply.fence == token; };
    if (static_cast<std::size_t>(std::count_if(a.round_->ballots.begin(), a.round_->ballots.end(), took)) >= e.quorum())
        co_return error_code();

    // Another client's clock is ahead of ours, or it asked at the same moment. So the nodes count on from what they have.
    auto const raise = make_recycled<round>(e, node_command::kind::raise, a.round_->grant(), a.options_.ttl);
    raise->command.fence = a.propose();
    for (auto const& b : a.round_->ballots) {
        if (!b.has_granted())
            raise->skip(b.node, b.answered ? b.cast() : vote::unknown);
    }
    ++a.second_rounds_;
    bump(e.count.second_rounds);
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
    e.outbid(a.highest_, a.resource);
    if (auto const ec = a.judge(*raise))
        co_return ec;
    a.outbid_ = counters.agreed() < e.quorum();
    co_return a.outbid_ ? make_error_code(errc::contended) : error_code();
}

std::uint64_t acquisition::propose()
{
    return std::min(std::max(engine_->propose(), highest_ + 1), core::fence_end - 1);
}

std::optional<clock::time_point> acquisition::blocked_until()
{
    if (options_.wait.count() == 0 || engine_->now() >= give_up_at_)
        return std::nullopt;
    auto until = engine_->held_until(resource);
    if (until) {
        queued_ = true;
    } else {
        until = engine_->turn_of_others_until(resource);
        gave_way_ = gave_way_ || until;
    }
    return until ? std::optional(std::min(*until, give_up_at_)) : std::nullopt;
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
    auto const valid_until = std::min(core::valid_until(round_->started, options_.ttl, engine_->settings().drift_factor),
                                      core::hold_until(round_->started, options_.max_hold));
    if (engine_->now() >= valid_until - core::stop_margin(core::time_to_work(options_.ttl, options_.max_hold)))
        return errc::validity_exhausted;
    return {};
}

void acquisition::hand_out()
{
    auto held = make_recycled<held_lock>(engine_, resource, *round_, options_);
    engine_->add(held);
    won_ = access::make_handle(std::move(held));
    leaves_traces_ = false;
}

void acquisition::clean_up()
{
    leaves_traces_ = false;
    engine_->janitor().clean_up(round_->grant(), options_.ttl);
}

void acquisition::wake()
{
    alarm_.clear();
    if (sleeper_)  // posted, because one that wakes up may wake another, and so on
        asio::post(engine_->strand(), [sleeper = std::move(sleeper_)]() mutable { std::move(sleeper).resume(); });
}

void acquisition::cancel(asio::cancellation_type type)
{
    if (sleeper_) {
        cancelled_ = true;
        wake();
    } else if (may_leave_traces(type) || rounds_ == 0) {
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
    auto const self = shared_from_this();  // the flow that is destroyed may be the last to know us
    auto const sleeper = std::move(sleeper_);
    if (raise_)
        raise_->drop();
    if (round_)
        round_->drop();
}

void acquisition::complete(error_code ec)
{
    if (leaves_traces_) {  // the flow has failed, out of memory
        try {
            clean_up();
        } catch (...) {  // the keys stay until their ttl is over
        }
    }
    engine_->count_outcome(ec);
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
    r.rounds = rounds_;
    r.second_rounds = second_rounds_;
    if (ec == errc::quarantined)
        r.quarantine = time_left(engine_->quarantine_over(), engine_->now());
    if (ec == errc::contended)
        r.remaining = remaining();
    r.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(engine_->now() - called_);
    r.message = ec ? explain(*engine_, resource, options_, r) : "acquired";
    return r;
}

// For how long others have it, as far as this process or the nodes have told.
std::chrono::milliseconds acquisition::remaining() const
{
    auto const now = engine_->now();
    if (auto const until = engine_->held_until(resource))
        return time_left(*until, now);
    if (!round_)
        return {};
    core::outlook<clock::time_point> to(round_->ballots.size(), engine_->quorum());
    look_ahead(*round_, now, to);
    auto const until = to.chance();
    return until == clock::time_point::max() ? std::chrono::milliseconds(0) : time_left(until, now);
}

}  // namespace redlock::detail
