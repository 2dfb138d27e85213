// The histograms of `stats()`. The tests of each feature check its counters.

#include "support/balance.hpp"
#include "support/manager_test.hpp"

#include <cstdlib>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(stats_histograms)

namespace {

bool is_about(std::chrono::nanoseconds is, std::chrono::nanoseconds wanted)
{
    return std::abs((is - wanted).count()) <= std::max<std::int64_t>(wanted.count() / 32, 32);
}

std::chrono::nanoseconds only(histogram const& h)
{
    BOOST_TEST(h.count() == 1u);
    return h.quantile(1);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(stats_after_a_release_have_time_to_acquire_time_held_and_validity_left, connected_to<3>)
{
    w.run_for(1s);
    auto const before = locks->stats();

    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    w.run_for(300ms);
    w.release(won.held);

    auto const after = locks->stats();
    BOOST_TEST(is_about(only(after.time_to_acquire - before.time_to_acquire), 200us));
    BOOST_TEST(is_about(only(after.time_waited - before.time_waited), 0us));
    BOOST_TEST(is_about(only(after.time_held - before.time_held), 300ms));
    BOOST_TEST(is_about(only(after.validity_left - before.validity_left), 1s - 12ms - 300ms));
    BOOST_TEST((after.time_to_fail - before.time_to_fail).count() == 0u);
    BOOST_TEST(is_balanced(after));
}

BOOST_FIXTURE_TEST_CASE(stats_after_a_wait_have_time_waited, connected_to<3>)
{
    auto first = w.acquire(*locks, "stock");
    auto const before = locks->stats();
    auto second = w.start(*locks, "stock", {.wait = 1min});

    w.run_for(2s);
    w.release(first.held);
    w.end_of(second);

    auto const after = locks->stats();
    BOOST_TEST(is_about(only(after.time_waited - before.time_waited), 2s));
    BOOST_TEST(is_about(only(after.time_to_acquire - before.time_to_acquire), 2s));
    BOOST_TEST(((after.time_to_acquire - before.time_to_acquire).sum() == 2s + 200us));
}

BOOST_FIXTURE_TEST_CASE(stats_after_a_failed_acquisition_have_time_to_fail, and_another<connected_to<3>>)
{
    auto const taken = w.acquire(*other, "stock", {.renew = renewal::automatic});

    w.acquire(*locks, "stock");
    BOOST_TEST(is_about(only(locks->stats().time_to_fail), 200us));
    auto const before = locks->stats();
    asio::cancellation_signal signal;
    auto waits = w.start(*locks, "stock", {.wait = wait_forever}, signal.slot());
    w.run_for(3s);
    signal.emit(asio::cancellation_type::terminal);
    w.run_for(1ms);

    BOOST_TEST(is_about(only(locks->stats().time_to_fail - before.time_to_fail), 3s));
    BOOST_TEST(is_balanced(locks->stats()));
}

BOOST_FIXTURE_TEST_CASE(stats_after_a_loss_have_time_held_but_no_validity_left, connected_to<3>)
{
    w.run_for(1s);
    auto const before = locks->stats();
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    w.run_for(2s);
    w.release(won.held);

    auto const after = locks->stats();
    BOOST_TEST(is_about(only(after.time_held - before.time_held), 1s - 12ms - 50ms));
    BOOST_TEST((after.validity_left - before.validity_left).count() == 0u);
    BOOST_TEST(is_balanced(after));
}

BOOST_AUTO_TEST_CASE(stats_have_the_round_trip_of_each_node)
{
    lock_world w(3);
    auto const locks = w.manager({}, {0ms, 5ms, 12ms});
    w.acquire(*locks, "warm-up");
    w.run_for(1s);
    auto const before = locks->stats();

    auto won = w.start(*locks, "stock", {});
    w.run_for(100ms);
    w[2].reachable = false;  // a node that cannot be reached has no round trip
    w.release(won, 100ms);

    auto const after = locks->stats();
    BOOST_TEST(is_about(only(after.nodes[0].round_trip - before.nodes[0].round_trip), 200us));
    BOOST_TEST(is_about(only(after.nodes[1].round_trip - before.nodes[1].round_trip), 10ms + 200us));
    BOOST_TEST((after.nodes[2].round_trip - before.nodes[2].round_trip).count() == 0u);
    BOOST_TEST(is_about(before.nodes[2].round_trip.quantile(1), 24ms + 200us));
}

BOOST_FIXTURE_TEST_CASE(stats_after_renewals_have_their_round_trips, connected_to<3>)
{
    w.run_for(1s);
    auto const before = locks->stats();

    auto const won = w.acquire(*locks, "stock", {.ttl = 1s, .renew = renewal::automatic});
    w.run_for(1min);

    auto const after = locks->stats();
    auto const trips = after.nodes[1].round_trip - before.nodes[1].round_trip;
    BOOST_TEST(trips.count() >= after.renewals);
    BOOST_TEST(is_about(trips.quantile(0.5), 200us));
}

BOOST_FIXTURE_TEST_CASE(stats_of_groups_add_up_to_those_of_the_manager, and_another<connected_to<3>>)
{
    BOOST_TEST(locks->stats().groups.empty());
    auto const before = locks->stats();
    auto const taken = w.acquire(*other, "taken");
    auto plain = w.acquire(*locks, "plain");
    auto kept = w.acquire(*locks, "a", {.ttl = 1s, .group = "checkout"});
    auto lost = w.acquire(*locks, "b", {.ttl = 1s, .group = "checkout"});
    w.acquire(*locks, "taken", {.group = "report"});
    w.run_for(300ms);
    w.release(kept, 1s);
    w.release(plain.held);

    auto const s = locks->stats();
    BOOST_REQUIRE(s.groups.size() == 3u);
    BOOST_TEST(s.groups[0].name == "");
    BOOST_TEST(s.groups[0].released == before.released + 1);
    BOOST_TEST(s.groups[1].name == "checkout");
    BOOST_TEST(s.groups[1].begun == 2u);
    BOOST_TEST(s.groups[1].acquired == 2u);
    BOOST_TEST(s.groups[1].released == 1u);
    BOOST_TEST(s.groups[1].lost == 1u);
    BOOST_TEST(s.groups[1].time_to_acquire.count() == 2u);
    BOOST_TEST(is_about(only(s.groups[1].validity_left), 1s - 12ms - 300ms));
    BOOST_TEST(s.groups[1].time_held.count() == 2u);
    BOOST_TEST(s.groups[2].name == "report");
    BOOST_TEST(s.groups[2].contended == 1u);
    BOOST_TEST(is_about(only(s.groups[2].time_to_fail), 200us));
    lock_stats all;
    for (auto const& g : s.groups)
        all += g;
    BOOST_TEST(all.begun == s.begun);
    BOOST_TEST(all.time_held.count() == s.time_held.count());
    BOOST_TEST(is_balanced(s));
}

BOOST_FIXTURE_TEST_CASE(stats_of_a_group_named_other_count_all_others_there, connected_to<3>)
{
    for (int i = -1; i < 69; ++i) {
        auto const name = i < 0 ? "other" : "group " + std::to_string(i);
        auto won = w.acquire(*locks, "stock", {.group = name});
        w.release(won.held);
    }
    auto const s = locks->stats();
    BOOST_REQUIRE(s.groups.size() == 65u);
    BOOST_TEST(std::count_if(s.groups.begin(), s.groups.end(), [](auto& g) { return g.name == "other"; }) == 1);
    BOOST_TEST(s.groups[1].name == "other");
    BOOST_TEST(s.groups[1].released == 1u + 6u);
}

BOOST_FIXTURE_TEST_CASE(stats_of_more_than_64_groups_count_the_others_together, connected_to<3>)
{
    for (int i = 0; i < 69; ++i) {
        auto const name = "group " + std::to_string(i);
        auto won = w.acquire(*locks, "stock", {.group = name});
        w.release(won.held);
    }
    auto const s = locks->stats();
    BOOST_REQUIRE(s.groups.size() == 66u);
    BOOST_TEST(s.groups[64].name == "group 63");
    BOOST_TEST(s.groups[64].released == 1u);
    BOOST_TEST(s.groups[65].name == "other");
    BOOST_TEST(s.groups[65].released == 5u);
    BOOST_TEST(is_balanced(s));
    auto const wrong = w.acquire(
        *locks, "stock",
        {.group = std::string_view("a name that is much longer than any group of work should ever have, really")});
    BOOST_TEST((wrong.ec == errc::invalid_argument));
}

BOOST_AUTO_TEST_SUITE_END()
