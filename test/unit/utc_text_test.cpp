#include "events/utc_text.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

using namespace redlock;
using namespace std::chrono_literals;
using events::utc_text;

BOOST_AUTO_TEST_SUITE(times_for_people)

namespace {

constexpr std::chrono::sys_seconds then{1'764'238'452s};

}  // namespace

BOOST_AUTO_TEST_CASE(utc_text_of_seconds_has_no_fraction) { BOOST_TEST(utc_text(then) == "2025-11-27T10:14:12Z"); }

BOOST_AUTO_TEST_CASE(utc_text_of_microseconds_has_six_more_digits)
{
    BOOST_TEST(utc_text(then + 345us) == "2025-11-27T10:14:12.000345Z");
    BOOST_TEST(utc_text(then - 1us) == "2025-11-27T10:14:11.999999Z");
}

BOOST_AUTO_TEST_CASE(utc_text_of_milliseconds_cuts_off_the_fraction)
{
    BOOST_TEST(utc_text(then + 999ms) == "2025-11-27T10:14:12Z");
    BOOST_TEST(utc_text(then - 1ms) == "2025-11-27T10:14:11Z");
}

BOOST_AUTO_TEST_CASE(utc_text_has_four_digits_for_the_last_year)
{
    BOOST_TEST(utc_text(std::chrono::sys_seconds(events::year_10000) - 1s) == "9999-12-31T23:59:59Z");
}

BOOST_AUTO_TEST_SUITE_END()
