#include "quorum/patience.hpp"

#include <boost/container/small_vector.hpp>

#include <algorithm>
#include <cstddef>

namespace redlock::inline v1::quorum {

namespace {

clock::duration with_connection(ballot_set const& asked, clock::duration timeout)
{
    bool const connects = asked.command.which() == node_command::kind::connect;
    return connects ? asked.quorum.settings.connect_timeout + timeout : timeout;
}

// How long a release is worth repeating, without the time for its answer. A key lives for its ttl. If an acquisition or
// extension is unanswered, the server may execute it as late as the end of that time. The key then lives for another
// ttl.
clock::duration useful_for(ballot_set const& asked, ballot const& b)
{
    if (asked.command.which() != node_command::kind::release)
        return clock::duration::zero();
    auto const acquired = asked.grant()->on(b.node);
    bool const all_answered = acquired.answered && !acquired.is_unknown() && acquired.extensions == 0;
    return asked.quorum.key_lifetime(asked.command.ttl) * (all_answered ? 1 : 2);
}

}  // namespace

void begin_times(ballot_set& asked)
{
    asked.started = asked.quorum.runtime.now();  // before the first byte is sent: validity counts from here
    for (auto& b : asked.ballots) {
        b.asked = asked.started;
        b.not_after = due(asked, b) + useful_for(asked, b);
    }
}

clock::time_point due(ballot_set const& asked, ballot const& b)
{
    return asked.started + with_connection(asked, asked.quorum.nodes.timeout(b.node));
}

clock::time_point next_due(ballot_set const& asked)
{
    auto next = clock::time_point::max();
    for (auto const& b : asked.ballots) {
        if (b.is_awaited())
            next = std::min(next, due(asked, b));
    }
    return next;
}

clock::duration time_for_majority(ballot_set const& asked)
{
    auto const longest = asked.quorum.nodes.longest_timeout();
    if (longest == asked.quorum.settings.node_timeout)
        return with_connection(asked, longest);  // that of all nodes
    boost::container::small_vector<clock::duration, 9> times;
    for (auto const& b : asked.ballots) {
        if (!b.out_of_time)
            times.push_back(due(asked, b) - asked.started);
    }
    auto const majority = core::majority(asked.ballots.size());
    if (times.size() < majority)
        return with_connection(asked, longest);
    auto const last = times.begin() + static_cast<std::ptrdiff_t>(majority - 1);
    std::nth_element(times.begin(), last, times.end());
    return *last;
}

}  // namespace redlock::quorum
