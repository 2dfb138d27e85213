#include "core/schedule.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <random>
#include <vector>

using redlock::core::schedule;

BOOST_AUTO_TEST_SUITE(schedules)

BOOST_AUTO_TEST_CASE(ring_until_rings_alarms_in_order_and_once)
{
    schedule<int> s;
    std::vector<int> rung;
    std::vector<std::unique_ptr<redlock::core::alarm<int>>> alarms;
    std::mt19937 random(7);
    for (int i = 0; i < 1000; ++i) {
        int const at = static_cast<int>(random() % 500);
        alarms.push_back(std::make_unique<redlock::core::alarm<int>>([&rung, at] { rung.push_back(at); }));
        s.set(*alarms.back(), at);
    }
    for (int i = 0; i < 1000; i += 3)
        alarms[static_cast<std::size_t>(i)].reset();  // destroyed while set

    s.ring_until(249);
    s.ring_until(1000);

    BOOST_TEST(rung.size() == 1000u - 334u);
    BOOST_TEST(std::is_sorted(rung.begin(), rung.end()));
    BOOST_TEST(s.size() == 0u);
}

BOOST_AUTO_TEST_CASE(set_of_a_set_alarm_moves_it)
{
    schedule<int> s;
    int rung = 0;
    redlock::core::alarm<int> a([&] { ++rung; });
    s.set(a, 5);
    s.set(a, 9);

    s.ring_until(8);
    BOOST_TEST(rung == 0);
    BOOST_TEST((s.next() == 9));

    s.ring_until(9);
    BOOST_TEST(rung == 1);
    BOOST_TEST(!a.is_set());
}

BOOST_AUTO_TEST_CASE(ring_until_while_alarms_set_and_destroy_others_is_safe)
{
    schedule<int> s;
    int rung = 0;
    auto second = std::make_unique<redlock::core::alarm<int>>([&] { rung += 100; });
    redlock::core::alarm<int> third([&] { rung += 10; });
    auto first = std::make_unique<redlock::core::alarm<int>>(std::function<void()>());
    first = std::make_unique<redlock::core::alarm<int>>([&] {
        rung += 1;
        second.reset();
        s.set(third, 3);
        first.reset();
    });
    s.set(*first, 1);
    s.set(*second, 2);

    s.ring_until(5);

    BOOST_TEST(rung == 11);
}

BOOST_AUTO_TEST_CASE(schedule_destroyed_before_its_alarms_clears_them)
{
    redlock::core::alarm<int> a([] {});
    {
        schedule<int> s;
        s.set(a, 1);
    }
    BOOST_TEST(!a.is_set());
    a.clear();
}

BOOST_AUTO_TEST_SUITE_END()
