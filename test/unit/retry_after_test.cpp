#include <redlock/error.hpp>
#include <redlock/report.hpp>

#include <boost/asio/error.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <tuple>
#include <utility>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(retry_pauses)

namespace {

namespace asio = boost::asio;

attempt_report failed_with(error_code ec, std::chrono::milliseconds remaining = {},
                           std::chrono::milliseconds quarantine = {})
{
    attempt_report r;
    r.outcome = ec;
    r.remaining = remaining;
    r.quarantine = quarantine;
    return r;
}

// The shortest and the longest of many random pauses.
struct range {
    explicit range(attempt_report const& report, std::size_t attempt = 1)
    {
        for (int i = 0; i < 200; ++i)
            drawn.push_back(retry_after(report, attempt));
        std::tie(least, most) =
            std::pair(*std::min_element(drawn.begin(), drawn.end()), *std::max_element(drawn.begin(), drawn.end()));
    }

    bool from(std::chrono::milliseconds wanted) const { return least >= wanted && most < wanted + wanted / 4; }

    std::vector<std::chrono::milliseconds> drawn;
    std::chrono::milliseconds least{}, most{};
};

}  // namespace

BOOST_AUTO_TEST_CASE(retry_after_with_a_remaining_time_waits_for_it)
{
    BOOST_TEST(range(failed_with(errc::contended, 9s, 40s)).from(9s));
    BOOST_TEST(range(failed_with(errc::quarantined, 9s, 40s)).from(40s));
    BOOST_TEST(range(failed_with(errc::contended, 9s), 5).from(9s));
}

BOOST_AUTO_TEST_CASE(retry_after_without_a_remaining_time_grows_with_each_attempt)
{
    std::chrono::milliseconds before{0};
    for (std::size_t attempt = 1; attempt <= 7; ++attempt) {
        range const now(failed_with(errc::contended), attempt);
        BOOST_TEST((now.least > before));
        before = now.most;
    }
    BOOST_TEST(range(failed_with(errc::contended), 100).from(60s));
    BOOST_TEST(range(failed_with(errc::contended), 0).from(1s));
}

BOOST_AUTO_TEST_CASE(retry_after_for_the_same_report_is_random)
{
    range const all(failed_with(errc::contended, 20s));
    BOOST_TEST((all.least != all.most));
}

BOOST_AUTO_TEST_CASE(retry_after_any_other_failure_pauses)
{
    for (error_code const ec : {make_error_code(errc::no_quorum), make_error_code(errc::validity_exhausted),
                                make_error_code(errc::quarantined), make_error_code(errc::lost),
                                make_error_code(errc::not_held), error_code(asio::error::operation_aborted),
                                make_error_code(boost::system::errc::not_enough_memory), error_code()})
        BOOST_TEST(range(failed_with(ec, 9s), 2).from(2s), ec.message());
}

BOOST_AUTO_TEST_CASE(retry_after_an_unsolvable_error_is_zero)
{
    for (auto const ec : {errc::invalid_argument, errc::unsupported})
        BOOST_TEST((retry_after(failed_with(ec, 9s, 9s), 3) == 0ms));
}

BOOST_AUTO_TEST_SUITE_END()
