// Tests the series of wait and hold times for the shop's page.

#include "lock_times.hpp"

#include <redlock/histogram.hpp>
#include <redlock/stats.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstddef>

using namespace std::chrono_literals;
using shop::lock_times;

BOOST_AUTO_TEST_SUITE(shop_lock_times)

namespace {

// Records the times of locks, and has the series that a page gets.
struct locks_and_times {
    void ended(std::chrono::nanoseconds waited, std::chrono::nanoseconds held)
    {
        wait.add(waited);
        hold.add(held);
    }

    void step(std::size_t times = 1)
    {
        redlock::lock_stats now;
        now.time_waited = wait.snapshot();
        now.time_held = hold.snapshot();
        for (std::size_t i = 0; i < times; ++i)
            series.add(now);
    }

    lock_times::point const& latest() const { return series.points().back(); }

    redlock::histogram_recorder wait, hold;
    lock_times series;
};

// The error of a histogram is at most 1/32.
bool is_about(double value, double ms) { return value > 0.96 * ms && value < 1.04 * ms; }

}  // namespace

BOOST_FIXTURE_TEST_CASE(add_after_locks_has_their_percentiles_in_ms, locks_and_times)
{
    for (int i = 0; i < 90; ++i)
        ended(20us, 700ms);
    for (int i = 0; i < 10; ++i)
        ended(1400ms, 5s);
    step();
    BOOST_TEST_REQUIRE(latest().wait.has_value());
    BOOST_TEST_REQUIRE(latest().hold.has_value());
    BOOST_TEST(is_about(latest().wait->p50, 0.02));
    BOOST_TEST(is_about(latest().wait->p99, 1400));
    BOOST_TEST(is_about(latest().hold->p50, 700));
    BOOST_TEST(is_about(latest().hold->p99, 5000));
}

BOOST_FIXTURE_TEST_CASE(add_without_locks_has_no_percentiles, locks_and_times)
{
    step();
    BOOST_TEST(!latest().wait.has_value());
    BOOST_TEST(!latest().hold.has_value());
    wait.add(1ms);  // the lock is still held
    step();
    BOOST_TEST(latest().wait.has_value());
    BOOST_TEST(!latest().hold.has_value());
}

BOOST_FIXTURE_TEST_CASE(add_counts_a_lock_for_five_seconds, locks_and_times)
{
    step(10);
    ended(1ms, 100ms);
    for (std::size_t i = 0; i < lock_times::window; ++i) {
        step();
        BOOST_TEST_REQUIRE(latest().hold.has_value());
        BOOST_TEST(is_about(latest().hold->p99, 100));
    }
    ended(1ms, 300ms);
    step();
    BOOST_TEST_REQUIRE(latest().hold.has_value());
    BOOST_TEST(is_about(latest().hold->p50, 300));  // without the earlier lock
    step(lock_times::window);
    BOOST_TEST(!latest().hold.has_value());
    BOOST_TEST(series.points()[10].hold.has_value());  // the history keeps earlier points
    BOOST_TEST(!series.points()[9].hold.has_value());
}

BOOST_FIXTURE_TEST_CASE(add_for_an_hour_keeps_two_minutes, locks_and_times)
{
    step(3600);
    BOOST_TEST(series.points().size() == lock_times::points_max);
    ended(1ms, 100ms);
    step();
    BOOST_TEST(series.points().size() == lock_times::points_max);
    BOOST_TEST(latest().hold.has_value());
    step(lock_times::points_max - 1);
    BOOST_TEST(series.points().front().hold.has_value());
    step(lock_times::window);
    BOOST_TEST(!series.points().front().hold.has_value());
}

BOOST_AUTO_TEST_SUITE_END()
