#include "events/member_counters.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>

using namespace redlock;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(statistics)

namespace {

// Calls @p f with each counter, then with each histogram. It does not use the table of the library.
template <class F>
void for_each_member(lock_stats& s, F f)
{
    auto& [begun, acquired, joined, contended, no_quorum, validity_exhausted, quarantined, cancelled, failed, released,
           detached, lost, lost_expired, lost_refused, lost_max_hold, time_to_acquire, time_waited, time_to_fail,
           time_held, validity_left, renewal_slack] = s;
    for (auto* const counter :
         {&begun, &acquired, &joined, &contended, &no_quorum, &validity_exhausted, &quarantined, &cancelled, &failed,
          &released, &detached, &lost, &lost_expired, &lost_refused, &lost_max_hold})
        f(*counter);
    for (auto* const lengths :
         {&time_to_acquire, &time_waited, &time_to_fail, &time_held, &validity_left, &renewal_slack})
        f(*lengths);
}

struct fill {
    void operator()(std::uint64_t& counter) const { counter = 1; }
    void operator()(histogram& lengths) const
    {
        histogram_recorder one;
        one.add(3ms);
        lengths = one.snapshot();
    }
};

}  // namespace

BOOST_AUTO_TEST_CASE(lock_stats_of_ones_added_to_ones_are_twos)
{
    lock_stats sum, ones;
    for_each_member(sum, fill());
    for_each_member(ones, fill());
    sum += ones;
    struct {
        void operator()(std::uint64_t counter) const { BOOST_TEST(counter == 2u); }
        void operator()(histogram const& lengths) const
        {
            BOOST_TEST(lengths.count() == 2u);
            BOOST_TEST((lengths.sum() == 6ms));
        }
    } const is_two;
    for_each_member(sum, is_two);
}

BOOST_AUTO_TEST_CASE(member_counters_tell_what_was_counted)
{
    events::member_counters<lock_stats> count;
    events::bump(count[&lock_stats::begun], std::uint64_t(2));
    events::bump(count[&lock_stats::lost_max_hold], std::uint64_t(3));
    count[&lock_stats::renewal_slack].add(5ms);
    lock_stats told;
    count.tell(told);
    BOOST_TEST(told.begun == 2u);
    BOOST_TEST(told.acquired == 0u);
    BOOST_TEST(told.lost_max_hold == 3u);
    BOOST_TEST(told.renewal_slack.count() == 1u);
    BOOST_TEST(told.time_to_acquire.count() == 0u);
}

BOOST_AUTO_TEST_CASE(member_counters_of_a_manager_leave_gauges_as_they_are)
{
    events::member_counters<stats> count;
    events::bump(count[&stats::cleaned]);
    stats told{};
    told.held = 4;
    told.begun = 5;
    count.tell(told);
    BOOST_TEST(told.cleaned == 1u);
    BOOST_TEST(told.held == 4u);
    BOOST_TEST(told.begun == 5u);
}

BOOST_AUTO_TEST_SUITE_END()
