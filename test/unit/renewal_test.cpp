#include "core/renewal.hpp"

#include <redlock/clock.hpp>

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(renewal_times)

// Rule 9 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(renewal_due_is_after_about_a_third_of_the_ttl)
{
    clock::time_point const started{1h};
    for (std::uint64_t bits : {0ULL, 1ULL, 0x123456789abcdefULL, ~0ULL}) {
        auto const due = core::renewal_due(started, 9s, bits);
        BOOST_TEST((due <= started + 3s));
        BOOST_TEST((due >= started + 2700ms - 9s / 256));
    }
    BOOST_TEST((core::renewal_due(started, 20ms, ~0ULL) > started));
}

BOOST_AUTO_TEST_CASE(renewal_due_for_nearby_starts_is_the_same_moment)
{
    clock::time_point const started{1h};
    auto const due = core::renewal_due(started, 10s, 0);

    BOOST_TEST((core::renewal_due(started + 1us, 10s, 0) == due));
    BOOST_TEST((core::renewal_due(started + 10s / 256, 10s, 0) == due + 10s / 256));
}

BOOST_AUTO_TEST_CASE(renewal_retry_after_a_failure_is_soon)
{
    clock::time_point const now{1h};
    BOOST_TEST((core::renewal_retry(now, 10s) == now + 500ms));
    BOOST_TEST((core::renewal_retry(now, 20ms) == now + 2ms));
}

BOOST_AUTO_TEST_SUITE_END()
