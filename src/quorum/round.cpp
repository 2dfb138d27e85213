#include "quorum/round.hpp"

#include "core/key.hpp"
#include "core/validity.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/post.hpp>

#include <algorithm>
#include <tuple>
#include <utility>

namespace redlock::inline v1::quorum {

namespace {

// How long a process that missed its deadline, because it was paused, may read what has arrived.
constexpr clock::duration grace = std::chrono::milliseconds(5);

}  // namespace

template <class CompletionToken>
auto cast_vote::operator()(CompletionToken&& token)
{
    auto start = [](auto handler, redlock::quorum::round* r, std::size_t i) {
        r->ballots[i].waiter_ = std::move(handler);
        r->submit(i);
    };
    return asio::async_initiate<CompletionToken, void(vote)>(start, token, round, node);
}

round::round(quorum_state& q, commands::variant what, key_list keys, std::string value, std::chrono::milliseconds ttl,
             redlock::mode m)
    : round(q, what,
            detail::make_recycled<redlock::quorum::grant>(std::move(keys), std::move(value), q.nodes.size(), m), ttl)
{
}

round::round(quorum_state& q, commands::variant what, std::shared_ptr<redlock::quorum::grant> about,
             std::chrono::milliseconds ttl)
    : quorum(q),
      command{.what = what, .mode = about->mode, .keys = about->keys, .value = about->value, .ttl = ttl},
      votes(about->nodes()),
      ballots(about->nodes()),
      grant_(std::move(about)),
      deadline_([this] { out_of_time(); })
{
    for (std::size_t i = 0; i < ballots.size(); ++i) {
        ballots[i].round = this;
        ballots[i].node = static_cast<std::uint32_t>(i);
        if (command.which() == node_command::kind::acquire)
            ballots[i].trace_ = &grant_->on(i);
    }
}

void round::skip(std::size_t i, vote known)
{
    ballots[i].skipped = true;
    ballots[i].reply.vote = known;
    ++completed_;
    count(known);
}

void round::contend(bool more_follow)
{
    name_contender();
    if (command.is_shared())
        return;  // shared locks are not handed over
    grant_->hands_over = more_follow;
    command.as<commands::acquire>().handed_on = more_follow ? commands::handovers::follow : commands::handovers::end;
}

void round::name_contender()
{
    viewed_ = quorum.contender;
    auto const note = core::holder_in(command.value).note;
    switch (command.which()) {
    case node_command::kind::acquire:
        command.as<commands::acquire>().contender = *viewed_;
        command.as<commands::acquire>().note = note;
        break;
    case node_command::kind::upgrade:
        command.as<commands::upgrade>().contender = *viewed_;
        command.as<commands::upgrade>().note = note;
        break;
    default:
        command.as<commands::withdraw>().contender = *viewed_;
    }
}

void round::replace(std::string former)
{
    viewed_ = std::make_shared<std::string const>(std::move(former));
    command.as<commands::replace>().former = *viewed_;
}

void round::grow()
{
    grant_->grow();
    command.as<commands::acquire>().grows = true;
}

core::most_frequent round::most_chosen() const
{
    boost::container::small_vector<std::uint32_t, 9> chosen;
    for (auto const& b : ballots) {
        if (b.has_granted())
            chosen.push_back(b.reply.chosen);
    }
    return core::most_frequent_of(chosen);
}

void round::settle(surplus_listener& surplus)
{
    if (votes.verdict() == core::verdict::won) {
        auto one = detail::make_recycled<redlock::quorum::grant>(key_list{command.keys[most_chosen().number]},
                                                                 grant_->value, ballots.size());
        one->hands_over = grant_->hands_over;
        for (auto& b : ballots) {
            one->on(b.node) = *b.trace_;
            b.trace_ = &one->on(b.node);
        }
        asked_for_ = std::exchange(grant_, std::move(one));
    }
    surplus_ = &surplus;
    for (auto& b : ballots) {
        if (b.answered)
            b.settle();
    }
}

void round::trim(std::size_t first)
{
    command.keys = key_view(command.keys.subspan(first));
    trims_ = true;
}

bool round::wanted() const noexcept
{
    return std::any_of(ballots.begin(), ballots.end(), [](auto& b) { return b.has_granted() && b.reply.wanted; });
}

clock::duration round::with_connection(clock::duration timeout) const
{
    return command.which() == node_command::kind::connect ? quorum.settings.connect_timeout + timeout : timeout;
}

clock::time_point round::due(ballot const& b) const { return started + with_connection(quorum.nodes.timeout(b.node)); }

// When the round stops waiting for the next node. Max: it waits for none.
clock::time_point round::next_due() const
{
    auto next = clock::time_point::max();
    for (auto const& b : ballots) {
        if (b.is_awaited())
            next = std::min(next, due(b));
    }
    return next;
}

void round::prepare()
{
    started = quorum.runtime.now();  // before the first byte is sent: validity counts from here
    for (auto& b : ballots) {
        b.asked = started;
        b.not_after = due(b) + useful_for(b);
    }
}

// How long a release is worth repeating, without the time for its answer. A key lives for its ttl. If an acquisition or
// extension is unanswered, the server may execute it as late as the end of that time. The key then lives for another
// ttl.
clock::duration round::useful_for(ballot const& b) const
{
    if (command.which() != node_command::kind::release)
        return clock::duration::zero();
    auto const acquired = grant_->on(b.node);
    bool const all_answered = acquired.answered && !acquired.is_unknown() && acquired.extensions == 0;
    return quorum.key_lifetime(command.ttl) * (all_answered ? 1 : 2);
}

void round::submit(std::size_t i)
{
    quorum.nodes[i].submit(std::shared_ptr<node_operation>(shared_from_this(), &ballots[i]));
}

// Whether the round is one of those that an admission limits. The other rounds ask nobody, or come before all others.
bool round::needs_place() const noexcept
{
    using kind = node_command::kind;
    bool const comes_first = command.which() == kind::connect || command.which() == kind::found;
    return !comes_first && !quorum.closed
           && std::any_of(ballots.begin(), ballots.end(), [](auto& b) { return !b.skipped; });
}

void round::send()
{
    if (!needs_place() || quorum.admission.enter(*this))
        return send_now();
    started = quorum.runtime.now();  // until it is admitted
}

void round::send_now()
{
    prepare();
    try {
        if (has_place() && !quorum.closed)
            quorum.runtime.set(deadline_, next_due());
    } catch (...) {  // out of memory: it is sent without a place
        quorum.admission.leave(*this);
    }
    for (std::size_t i = 0; i < ballots.size() && !quorum.closed; ++i) {
        if (!ballots[i].skipped)
            submit(i);
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

void round::resend(std::size_t i)
{
    auto& b = ballots[i];
    b.answered = false;
    b.reply = {};
    b.mark_sent(0);
    b.asked = quorum.runtime.now();
    submit(i);
}

// The group's handler. The group allocates with the handler's allocator.
struct round::group_done {
    using allocator_type = detail::recycler<void>;
    allocator_type get_allocator() const noexcept { return {}; }

    void operator()(auto&&...) { self->finish(); }

    std::shared_ptr<round> self;
};

void round::start_gathering()
{
    gathers_ = true;
    try {
        if (decided() || !needs_place() || quorum.admission.enter(*this))
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
    prepare();
    group asked;
    for (std::size_t i = 0; i < ballots.size(); ++i) {
        if (!ballots[i].skipped)
            asked.push_back({this, i});
    }
    if (asked.empty() || decided() || quorum.closed) {
        send_now();
        asio::post(quorum.runtime.strand(), [self = shared_from_this()] { self->finish(); });
        return;
    }

    quorum.runtime.set(deadline_, next_due());
    if (asked.size() == 1)
        return ask_alone(asked.front().node);
    start_group(asked);
}

// A group of one would cost an allocation and two handlers, and only forward the vote.
void round::ask_alone(std::size_t node)
{
    ballots[node].waiter_ = [self = shared_from_this()](vote v) {
        self->decide(v);
        self->finish();
    };
    submit(node);
}

// A group of a fixed size costs one allocation. A ranged group costs five, and one more for each node.
template <std::size_t Size>
void round::start_group(group const& asked)
{
    if (asked.size() == Size)
        return start_group(asked, std::make_index_sequence<Size>());
    if constexpr (Size < 9)
        return start_group<Size + 1>(asked);
    asio::experimental::make_parallel_group(std::vector(asked.begin(), asked.end()))
        .async_wait([this](vote v) { return decide(v); }, group_done{shared_from_this()});
}

template <std::size_t... I>
void round::start_group(group const& asked, std::index_sequence<I...>)
{
    asio::experimental::make_parallel_group(asked[I]...)
        .async_wait([this](vote v) { return decide(v); }, group_done{shared_from_this()});
}

void round::finish()
{
    deadline_.clear();
    quorum.admission.leave(*this);
    if (command.which() == node_command::kind::connect && votes.verdict() == core::verdict::won && has_waited_for_all())
        quorum.nodes.set_met();
    if (waiting_)
        std::move(waiting_).resume();
}

// If the caller gives up early, the manager must not trust the set yet: it has not heard from all nodes.
bool round::has_waited_for_all() const
{
    bool const awaits_none = std::none_of(ballots.begin(), ballots.end(), [](auto& b) { return b.is_awaited(); });
    return awaits_none || !quorum.nodes.awaits_others();
}

// The group calls this cancellation condition with each vote. When the round is decided, it ends the other waits
// itself: cancellation by the group would cost one allocation for each node.
asio::cancellation_type round::decide(vote v)
{
    if (counts_missing_) {
        count(v);
    } else if (!decided()) {
        count(v);
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
    if (now - next_due() >= grace && !std::exchange(overslept_, true))
        return quorum.runtime.set(deadline_, now + grace);
    overslept_ = false;
    end_waits_until(now);
}

// Ends the wait for the nodes whose time is over.
void round::end_waits_until(clock::time_point now)
{
    auto const self = shared_from_this();
    for (auto& b : ballots) {
        if (b.is_awaited() && due(b) <= now) {
            b.out_of_time = true;
            ++completed_;
        }
    }
    auto const next = next_due();
    bool const all_ended = gathers_ ? next == clock::time_point::max() : completed_ >= core::majority(ballots.size());
    if (all_ended || !rings_again_at(next)) {
        out_of_time_ = true;
        return gathers_ ? end_wait() : finish();
    }
    if (!gathers_)
        return;
    counts_missing_ = !decided();
    for (auto& b : ballots) {
        if (b.out_of_time) {
            set_error_of_silence(b);
            b.stop_waiting();
        }
    }
    counts_missing_ = false;
    out_of_time_ = decided();
    if (out_of_time_)
        stop_waiting();
}

bool round::rings_again_at(clock::time_point next) noexcept
try {
    quorum.runtime.set(deadline_, next);
    return true;
} catch (...) {  // out of memory
    return false;
}

void round::set_error_of_silence(ballot& b)
{
    if (!b.answered && !b.reply.error)
        b.reply.error = b.sent_on() ? errc::node_timeout : errc::node_unreachable;
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
        set_error_of_silence(b);
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
        b.waiter_.reset();
}

entrant::purpose round::aim() const noexcept
{
    using kind = node_command::kind;
    switch (command.which()) {
    case kind::extend:
    case kind::replace:
    case kind::downgrade:
        return purpose::extension;
    case kind::release:
    case kind::raise:
    case kind::withdraw:
        return purpose::ending;
    case kind::acquire:
        return purpose::acquisition;
    default:
        return purpose::other;
    }
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
            started, time_for_majority()};
}

// How long the quickest majority may need to answer, without the nodes that were silent.
clock::duration round::time_for_majority() const
{
    auto const longest = quorum.nodes.longest_timeout();
    if (longest == quorum.settings.node_timeout)
        return with_connection(longest);  // that of all nodes
    boost::container::small_vector<clock::duration, 9> times;
    for (auto const& b : ballots) {
        if (!b.out_of_time)
            times.push_back(due(b) - started);
    }
    auto const majority = core::majority(ballots.size());
    if (times.size() < majority)
        return with_connection(longest);
    auto const last = times.begin() + static_cast<std::ptrdiff_t>(majority - 1);
    std::nth_element(times.begin(), last, times.end());
    return *last;
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

void round::count(vote v)
{
    switch (v) {
    case vote::granted:
        return command.wants_any() ? votes.grant(most_chosen().times) : votes.grant();
    case vote::denied:
        return votes.deny();
    case vote::unknown:
        return votes.miss();
    }
}

std::chrono::milliseconds round::promised() const
{
    auto const promise_all = std::count_if(
        ballots.begin(), ballots.end(), [this](auto& b) { return b.has_granted() && b.reply.good_for >= command.ttl; });
    if (static_cast<std::size_t>(promise_all) >= votes.quorum())  // the usual case
        return command.ttl;
    boost::container::small_vector<std::chrono::milliseconds, 9> promises;
    for (auto const& b : ballots) {
        if (b.has_granted())
            promises.push_back(std::min(b.reply.good_for, command.ttl));
    }
    if (promises.size() < votes.quorum())  // a node has revoked its grant
        return std::chrono::milliseconds(0);
    return core::of_a_quorum<std::chrono::milliseconds>(promises, votes.quorum());
}

bool round::came_too_late(clock::time_point decided_at, std::chrono::milliseconds max_hold) const
{
    auto const promise = promised();
    auto const until = std::min(core::valid_until(started, promise, quorum.settings.drift_factor),
                                core::hold_until(started, max_hold));
    return decided_at >= until - core::stop_margin(core::time_to_work(promise, max_hold));
}

std::size_t round::quarantined() const noexcept
{
    return static_cast<std::size_t>(
        std::count_if(ballots.begin(), ballots.end(), [](auto& b) { return b.quarantined; }));
}

bool round::revocable() const noexcept
{
    return std::any_of(ballots.begin(), ballots.end(), [](auto& b) { return b.revocable; });
}

std::vector<node_report> round::report() const
{
    std::vector<node_report> nodes;
    nodes.reserve(ballots.size());
    for (auto const& b : ballots) {
        bool const is_value = b.reply.vote != vote::unknown;  // of the key, not words of the server
        bool const is_late = b.out_of_time && is_value;       // so it did not count
        nodes.push_back({quorum.nodes[b.node].name(), is_late ? vote::unknown : b.cast(),
                         is_late ? errc::node_timeout : b.reply.error, is_value ? std::string() : b.reply.text,
                         std::chrono::microseconds(b.round_trip_us)});
        // The round did not wait for this node, but the node is not ready and could not have answered.
        auto& n = nodes.back();
        if (n.vote == vote::unknown && !n.error && !quorum.nodes[b.node].ready())
            std::tie(n.error, n.message) = quorum.nodes.latest_error(b.node);
        if (b.quarantined && n.message.empty() && quorum.nodes.in_quarantine(b.node)) {
            n.message = quorum.nodes.why_in_quarantine(b.node);
            n.reason = quorum.nodes.reason(b.node);
        }
    }
    return nodes;
}

}  // namespace redlock::quorum
