#include "core/validity.hpp"

#include <redlock/clock.hpp>

#include <boost/test/unit_test.hpp>

#include <ctime>

using namespace redlock;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(validity)

// Rule 1 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(drift_is_a_share_of_the_ttl_plus_2_ms)
{
    BOOST_TEST((core::drift(10s, 0.01) == 102ms));
    BOOST_TEST((core::drift(1s, 0.0) == 2ms));
    BOOST_TEST((core::drift(1s, 0.09) == 92ms));
}

// Rule 1 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(valid_until_counts_from_the_start_of_the_round)
{
    clock::time_point const started{5s};
    BOOST_TEST((core::valid_until(started, 10s, 0.01) == started + 9898ms));
}

BOOST_AUTO_TEST_CASE(stop_margin_leaves_time_to_work_and_time_to_stop)
{
    BOOST_TEST((core::stop_margin(10s) == 500ms));
    BOOST_TEST((core::stop_margin(1s) == 50ms));
    BOOST_TEST((core::stop_margin(100ms) == 20ms));
    BOOST_TEST((core::stop_margin(20ms) == 4ms));
}

// Rule 2 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(clock_now_counts_from_boot_including_sleep)
{
    timespec t{};
    ::clock_gettime(CLOCK_BOOTTIME, &t);
    auto const boot = std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
    auto const ours = clock::now().time_since_epoch();
    BOOST_TEST((ours >= boot));
    BOOST_TEST((ours < boot + 10s));
    BOOST_TEST(clock::is_steady);
}

BOOST_AUTO_TEST_CASE(later_with_an_extreme_duration_stays_in_range)
{
    using time = std::chrono::time_point<std::chrono::steady_clock, std::chrono::nanoseconds>;
    auto const now = time(std::chrono::hours(1));
    BOOST_TEST((core::later(now, std::chrono::milliseconds::max()) == time::max()));
    BOOST_TEST((core::later(now, std::chrono::milliseconds::min()) == now));
    BOOST_TEST((core::later(now, -1ms) == now));
    BOOST_TEST((core::later(now, 1ms) == now + 1ms));
}

BOOST_AUTO_TEST_SUITE_END()
