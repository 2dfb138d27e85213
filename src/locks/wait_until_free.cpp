// For whom an acquisition waits: for others of its manager, and between two rounds.

#include "core/backoff.hpp"
#include "core/growth.hpp"
#include "core/validity.hpp"
#include "core/wait_plan.hpp"
#include "locks/acquisition.hpp"
#include "locks/held_lock.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace redlock::inline v0::detail {

using namespace std::chrono_literals;

namespace {

// Which of several keys have to be free before it makes sense to ask the node again: all that are taken, or, for who keeps what comes
// before it, the first.
std::span<taken_key const> awaited(ballot const& b)
{
    std::span<taken_key const> const taken(b.reply.taken);
    return b.command().grows ? taken.first(std::min<std::size_t>(taken.size(), 1)) : taken;
}

// Any client may have given its key any end. The servers tell of it in whole milliseconds.
clock::time_point end_of(clock::time_point now, std::chrono::milliseconds remaining)
{
    return remaining.count() < 0 ? clock::time_point::max() : core::later(now + 2ms, remaining);
}

}  // namespace

void look_at(round const& r, clock::time_point now, core::estimate<clock::time_point>& to)
{
    for (auto const& b : r.ballots) {
        if (!b.answered || b.cast() == vote::unknown)
            continue;
        if (b.reply.vote == vote::granted && b.command().any)
            to.expect(b.node, b.reply.chosen, now);  // what else is free there it does not tell
        else if (b.reply.vote == vote::granted)
            to.expect(b.node, now);  // we give it back, or ask again for it
        else if (b.command().has_several_keys())
            for (auto const& k : awaited(b))
                to.expect(b.node, k.index, end_of(now, k.remaining));
        else if (b.command().contends())
            to.expect(b.node, end_of(now, b.reply.remaining));
    }
}

// It ends with this, and need not ask the nodes, or not any more. Nothing: it goes on.
std::optional<error_code> acquisition::end_without_asking(clock::time_point now)
{
    if (is_kept_waiting() && now >= give_up_at_) {
        round_ = place_->asked();
        return place_->met().value_or(make_error_code(state_->quorum.nodes.ready() ? errc::contended : errc::no_quorum));
    }
    if (shares() && (is_behind_a_writer() || is_behind_own_upgrade(now)))
        return make_error_code(errc::contended);
    if (shares() && join())
        return error_code();
    return std::nullopt;
}

// Who does not wait is in no queue; it does not pass those who are for all that.
bool acquisition::is_behind_a_writer() const
{
    return !place_ && state_->waiters.wanted_alone(resources.names().front());
}

// The nodes would let it in: they know no more of us than which manager we belong to.
bool acquisition::is_behind_own_upgrade(clock::time_point now) const
{
    return place_ && now >= give_up_at_ && state_->holdings.held_until(resources.names(), mode::shared);
}

// What this manager shares already is there for one more.
bool acquisition::join()
{
    bool const is_next = options_.mode == mode::shared && (!place_ || place_->first());
    auto joined = is_next ? state_->holdings.join(resources.names().front(), options_, attempt_.called, passes_writers()) : nullptr;
    if (!joined)
        return false;
    if (place_)
        place_->got(resources.names());
    bump(attempt_.count().joined);
    won_ = access::make_handle(std::move(joined));
    return true;
}

// Until when others of this manager, or of other ones, come first; they wake us when they are done. Nothing: it is for us to ask.
std::optional<clock::time_point> acquisition::others_first(clock::time_point now)
{
    if (is_kept_waiting()) {
        history_.queued = true;
        return give_up_at_;
    }
    if (!place_ || growing_ || now >= give_up_at_)
        return std::nullopt;  // what is kept would be over before it is asked for again
    // As long as this manager itself has the lock, or yields it, the nodes need not be asked.
    auto const held_until = state_->holdings.held_until(resources.names(), mode_on_nodes());
    auto const until = wants_any()  ? kept_from_all(now)
                       : held_until ? held_until
                                    : state_->waiters.yields_until(resources.names(), now);
    if (until) {
        (held_until ? history_.queued : history_.yielded) = true;
        if (shares() && state_->holdings.held_alone(resources))
            place_->kept_out(now);
        tell_those_behind(errc::contended, {});
    }
    return until;
}

// A set that waits for some of its resources lets those pass that want one of the others; but not for ever.
void acquisition::let_others_pass()
{
    auto const is_free = [this](auto& resource) {
        bool const is_ours = state_->holdings.held_until({&resource, 1}, mode::exclusive).has_value();
        return !is_ours && !(estimate_ && waits_for_or_keeps(resource));
    };
    if (place_ && wants_several())
        passed_ += place_->let_pass(state_->settings.max_handovers - passed_, is_free);
}

// Whether a node has denied this set the resource, or the set grows and a node keeps the resource for it.
bool acquisition::waits_for_or_keeps(std::string_view resource) const
{
    return std::any_of(round_->ballots.begin(), round_->ballots.end(), [&](auto& b) {
        auto const kept = growing_ ? b.reply.ours : 0;
        return awaited_key(b.node, resource) || (kept > 0 && resource <= name_of(round_->command.keys[kept - 1]));
    });
}

// Whether others of its manager come first for what it waits for: they hear of changes in its place. A set waits on
// while others have passed it for the rest of its resources.
bool acquisition::is_overtaken() const
{
    if (!is_kept_waiting() || !wants_several())
        return is_kept_waiting();
    return std::ranges::any_of(round_->ballots, [this](auto& b) {
        return std::ranges::any_of(awaited(b), [this](auto& key) { return !place_->first_for(key.index); });
    });
}

// After a lost round: until the next one may be won, as far as the nodes have told.
task<void> acquisition::wait_until_free(std::shared_ptr<acquisition> self, error_code lost)
{
    auto& a = *self;
    auto& state = *a.state_;
    auto const ended = state.now();
    auto const bits = state.runtime.random()[0];
    auto again = ended + core::pause_after(a.history_.rounds, bits);
    a.lost_rounds_ += lost == errc::contended ? 1 : 0;
    if (a.place_ && a.shares() && a.was_kept_out_by_a_holder())
        a.place_->kept_out(ended);
    if (lost == errc::quarantined) {
        again = std::max(again, state.quorum.nodes.quarantine_over());
    } else if (lost == errc::contended && !a.estimate_) {
        again = ended;  // the next round asks the nodes to notify
    } else if (lost == errc::contended) {
        bool const race = a.round_->votes.granted() > 0;
        a.races_ = race ? a.races_ + 1 : 0;
        a.denied_ += race ? 0 : 1;
        look_at(*a.round_, ended, *a.estimate_);
        if (!race) {
            a.note_holder(ended);
            again = ended + core::pause_after_denial(a.denied_, a.unchanged_, bits);
        }
        // Where too few nodes will notify, the lock may go without a word.
        auto ask_anyway = a.will_be_notified() ? a.give_up_at_ : std::min(again, a.give_up_at_);
        if (a.growing_)
            ask_anyway = std::min(ask_anyway, core::growth_due(a.round_->started, a.options_.ttl));
        co_await wait_for_change(self, ended, ask_anyway);
        again = state.now();
        if (a.another_choice_at(again) > again)  // which nobody else has been told of
            again += core::delay_after(a.denied_, a.races_, ended - a.round_->started, state.runtime.random()[0]);
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
    while (!a.stopped() && !a.is_overtaken()) {
        a.let_others_pass();
        auto const now = a.state_->now();
        auto const step = plan.next(now, a.estimate_->free_at());
        auto const another_choice = a.another_choice_at(now);
        if (step.what == action::ask || another_choice <= now)
            co_return;
        if (step.what == action::sleep) {
            co_await a.sleep(std::min(step.until, another_choice));
            continue;
        }
        look_at(*a.round_, step.until, *a.estimate_);
        if (a.growing_)
            a.keep_what_is_ours();
    }
}

// As long as one holder keeps the lock, its end stays where it was. If others have taken it since, the end has moved by
// about the time that has passed.
void acquisition::note_holder(clock::time_point now)
{
    auto const free_at = estimate_->free_at();
    auto const passed = now - std::exchange(denied_at_, now);
    bool const is_same = denied_ > 1 && free_at - std::max<clock::duration>(passed / 4, 2ms) <= free_expected_;
    unchanged_ = is_same ? unchanged_ + 1 : 0;
    free_expected_ = free_at;
}

// Whether a quorum of the nodes will notify when what they have said changes. Who has granted has no more to say, unless any of several
// would do: what becomes of the others it was not asked to tell.
bool acquisition::will_be_notified() const
{
    auto const notifies = [](ballot const& b) { return (b.has_granted() && !b.command().any) || (b.answered && b.reply.watched); };
    return static_cast<std::size_t>(std::count_if(round_->ballots.begin(), round_->ballots.end(), notifies)) >= state_->quorum.nodes.quorum();
}

// Of several keys the one of @p resource, if the node has said that it is taken.
taken_key const* acquisition::awaited_key(std::size_t node, std::string_view resource) const
{
    auto const keys = awaited(round_->ballots[node]);
    auto const k = std::find_if(keys.begin(), keys.end(), [&](auto& key) { return name_of(round_->command.keys[key.index]) == resource; });
    return k == keys.end() ? nullptr : &*k;
}

bool acquisition::awaits(core::watched of, std::size_t node, std::string_view resource) const
{
    if (!estimate_)
        return of == core::watched::lock;
    auto const& reply = round_->ballots[node].reply;
    bool const several = round_->command.has_several_keys();
    auto const* const k = several ? awaited_key(node, resource) : nullptr;
    bool const handed_on = several ? k && k->handed_on : reply.handed_on;
    switch (of) {
    case core::watched::lock:
        return !handed_on;
    case core::watched::handovers:
        return handed_on;
    case core::watched::wishes:
        return !handed_on && reply.behind_writer;
    case core::watched::readers:
        return false;
    }
    return false;
}

// Of one that shares: somebody had it alone. Those who wait for that come after us, and after all who queue with us: else readers would
// wait for ever.
bool acquisition::was_kept_out_by_a_holder() const
{
    return std::any_of(round_->ballots.begin(), round_->ballots.end(),
                       [](auto& b) { return b.answered && b.reply.vote == vote::denied && !b.reply.behind_writer; });
}

void acquisition::may_be_free(std::size_t node, std::string_view resource)
{
    // What comes before the node's answer to this round happened before, too.
    if (!estimate_ || !round_->ballots[node].answered)
        return;
    bool const is_all = !round_->command.has_several_keys() && asks_for(resource);
    if (is_all || resource.empty())
        estimate_->expect(node, state_->now());
    else if (auto const* const k = awaited_key(node, resource))
        estimate_->expect(node, k->index, state_->now());
    else
        return;
    if (sleeper_)
        wake();
}

}  // namespace redlock::detail
