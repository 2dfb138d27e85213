#include "quorum/round.hpp"

#include "quorum/patience.hpp"
#include "quorum/vote_group.hpp"

#include <boost/asio/post.hpp>

#include <algorithm>
#include <utility>

namespace redlock::inline v1::quorum {

namespace {

// How long a process that missed its deadline, because it was paused, may read what has arrived.
constexpr clock::duration grace = std::chrono::milliseconds(5);

// Whether the round is one of those that an admission limits. The other rounds ask nobody, or come before all others.
bool needs_place(ballot_set const& asked) noexcept
{
    using kind = node_command::kind;
    auto const what = asked.command.which();
    bool const comes_first = what == kind::connect || what == kind::found;
    return !comes_first && !asked.quorum.closed
           && std::ranges::any_of(asked.ballots, [](auto& b) { return !b.skipped; });
}

// If the caller gives up early, the manager must not trust the set yet: it has not heard from all nodes.
bool has_waited_for_all(ballot_set const& asked)
{
    return std::ranges::none_of(asked.ballots, [](auto& b) { return b.is_awaited(); })
           || !asked.quorum.nodes.awaits_others();
}

bool rings_again_at(clock::time_point next, runtime::runtime& r, runtime::alarm& deadline) noexcept
try {
    r.set(deadline, next);
    return true;
} catch (...) {  // out of memory
    return false;
}

}  // namespace

round::round(quorum_state& q, round_command&& c)
    : ballot_set(q, c.command, std::move(c.about), std::move(c.viewed)),
      waits_for_all(c.waits_for_all),
      deadline_([this] { out_of_time(); })
{
    trims = c.trims;
    for (std::size_t i = 0; i < ballots.size(); ++i) {
        ballots[i].round = this;
        ballots[i].node = static_cast<std::uint32_t>(i);
    }
    for (auto const [node, known] : c.skipped) {
        ballots[node].skipped = true;
        ballots[node].reply.vote = known;
        ++completed_;
        count(*this, known);
    }
}

void round::send()
{
    if (!needs_place(*this) || quorum.admission.enter(*this))
        return send_now();
    started = quorum.runtime.now();  // until it is admitted
}

void round::send_now()
{
    begin_times(*this);
    try {
        if (has_place() && !quorum.closed)
            quorum.runtime.set(deadline_, next_due(*this));
    } catch (...) {  // out of memory: it is sent without a place
        quorum.admission.leave(*this);
    }
    for (auto& b : ballots) {
        if (!b.skipped && !quorum.closed)
            b.ask();
    }
}

// Nobody waits for the votes, but the nodes are busy with the round until a majority has answered, or is out of time.
void round::completed_one()
{
    ++completed_;
    if (!gathers_ && completed_ >= core::majority(ballots.size()))
        finish();
}

void round::admitted() noexcept
{
    deadline_.clear();
    try {
        gathers_ ? gather_now() : send_now();
    } catch (...) {  // out of memory
        end_wait();
        finish();
    }
}

void round::start_gathering()
{
    gathers_ = true;
    try {
        if (decided() || !needs_place(*this) || quorum.admission.enter(*this))
            return gather_now();
        started = quorum.runtime.now();
        if (wait_for_place_until != clock::time_point::max())
            quorum.runtime.set(deadline_, wait_for_place_until);
    } catch (...) {
        quorum.admission.leave(*this);
        throw;
    }
}

void round::gather_now()
{
    begin_times(*this);
    vote_group asked;
    for (auto& b : ballots) {
        if (!b.skipped)
            asked.push_back({&b});
    }
    if (asked.empty() || decided() || quorum.closed) {
        send_now();
        asio::post(quorum.runtime.strand(), [self = shared_from_this()] { self->finish(); });
        return;
    }
    quorum.runtime.set(deadline_, next_due(*this));
    join_votes(
        asked, [this](vote v) { return decide(v); }, [self = shared_from_this()] { self->finish(); });
}

void round::finish()
{
    deadline_.clear();
    quorum.admission.leave(*this);
    if (command.which() == node_command::kind::connect && votes.verdict() == core::verdict::won
        && has_waited_for_all(*this))
        quorum.nodes.set_met();
    if (waiting_)
        std::move(waiting_).resume();
}

// The group calls this cancellation condition with each vote. When the round is decided, it ends the other waits
// itself: cancellation by the group would cost one allocation for each node.
asio::cancellation_type round::decide(vote v)
{
    if (counts_missing_) {
        count(*this, v);
    } else if (!decided()) {
        count(*this, v);
        if (decided())
            stop_waiting();
    }
    return asio::cancellation_type::none;
}

// If the process was paused beyond the deadline, it first reads what has arrived. Then it counts missing votes.
void round::out_of_time()
{
    if (waits_for_place()) {
        found_no_place_ = true;
        return stop_waiting_for_place();
    }
    auto const now = quorum.runtime.now();
    if (now - next_due(*this) >= grace && !std::exchange(overslept_, true))
        return quorum.runtime.set(deadline_, now + grace);
    overslept_ = false;
    end_waits_until(now);
}

// Ends the wait for the nodes whose time is over.
void round::end_waits_until(clock::time_point now)
{
    auto const self = shared_from_this();
    for (auto& b : ballots) {
        if (b.is_awaited() && due(*this, b) <= now) {
            b.out_of_time = true;
            ++completed_;
        }
    }
    auto const next = next_due(*this);
    bool const all_ended = gathers_ ? next == clock::time_point::max() : completed_ >= core::majority(ballots.size());
    if (all_ended || !rings_again_at(next, quorum.runtime, deadline_)) {
        out_of_time_ = true;
        return gathers_ ? end_wait() : finish();
    }
    if (!gathers_)
        return;
    counts_missing_ = !decided();
    for (auto& b : ballots) {
        if (b.out_of_time) {
            b.set_error_of_silence();
            b.stop_waiting();
        }
    }
    counts_missing_ = false;
    out_of_time_ = decided();
    if (out_of_time_)
        stop_waiting();
}

// A release is sent although nobody waits for it any more.
void round::stop_waiting_for_place()
{
    auto const self = shared_from_this();
    gathers_ = false;
    deadline_.clear();
    if (command.which() != node_command::kind::release)
        quorum.admission.leave(*this);
    if (waiting_)
        std::move(waiting_).resume();
}

void round::end_wait()
{
    if (waits_for_place())
        return stop_waiting_for_place();
    for (auto& b : ballots)
        b.set_error_of_silence();
    counts_missing_ = !decided();
    stop_waiting();
}

void round::stop_waiting()
{
    auto const self = shared_from_this();  // the last ballot to stop may release the last reference
    for (auto& b : ballots)
        b.stop_waiting();
}

void round::abandon()
{
    auto self = shared_from_this();
    quorum.admission.leave(*this);
    waiting_.destroy();
    for (auto& b : ballots)
        b.abandon();
}

entrant::outcome round::fate() const noexcept
{
    using kind = outcome::kind;
    auto const answered = std::count_if(ballots.begin(), ballots.end(),
                                        [](auto& b) { return b.answered && b.reply.vote != vote::unknown; });
    bool const by_majority = static_cast<std::size_t>(answered) >= core::majority(ballots.size());
    return {out_of_time_  ? kind::out_of_time
            : by_majority ? kind::answered
                          : kind::without_nodes,
            started, time_for_majority(*this)};
}

bool round::decided() const noexcept
{
    using kind = node_command::kind;
    if (command.which() == kind::inspect || command.which() == kind::scan || waits_for_all)  // these wait for all nodes
        return false;
    if (command.which() == kind::connect && votes.verdict() == core::verdict::won && quorum.nodes.awaits_others())
        return false;
    return votes.verdict() != core::verdict::open;
}

}  // namespace redlock::quorum
