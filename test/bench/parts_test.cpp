#include "histogram.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>
#include <utility>
#include <vector>

using namespace redlock::bench;
using namespace std::chrono_literals;
using std::chrono::nanoseconds;

BOOST_AUTO_TEST_SUITE(histograms)

BOOST_AUTO_TEST_CASE(histogram_at_is_never_too_low_and_less_than_a_128th_too_high)
{
    auto const seed = std::random_device()();
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> magnitude(0, std::log2(static_cast<double>(histogram::largest.count())));
    for (int i = 0; i < 20'000; ++i) {
        nanoseconds const value(static_cast<std::int64_t>(std::exp2(magnitude(random))));
        histogram h;
        h.record(value);
        h.record(histogram::largest);  // otherwise the maximum would make at() exact

        auto const reported = h.at(0.5);

        BOOST_TEST_REQUIRE(reported.count() >= value.count(), "seed " << seed);
        BOOST_TEST_REQUIRE((reported - value).count() * 128 < value.count(), "seed " << seed << ": " << value.count());
    }
}

BOOST_AUTO_TEST_CASE(histogram_at_returns_the_percentiles_of_the_sample)
{
    auto const seed = std::random_device()();
    BOOST_TEST_MESSAGE("seed " << seed);
    std::mt19937_64 random(seed);
    std::exponential_distribution<double> waits(1e-6);
    std::vector<nanoseconds> sample;
    histogram h;
    for (int i = 0; i < 100'000; ++i)
        h.record(sample.emplace_back(static_cast<std::int64_t>(waits(random))));
    std::sort(sample.begin(), sample.end());

    for (auto const& [share, rank] : {std::pair(0.0, 1),
                                      {0.07, 7'000},
                                      {0.5, 50'000},
                                      {0.9, 90'000},
                                      {0.99, 99'000},
                                      {0.999, 99'900},
                                      {0.99999, 99'999}}) {
        auto const exact = sample[static_cast<std::size_t>(rank) - 1];
        BOOST_TEST(h.at(share).count() >= exact.count(), "share " << share << ", seed " << seed);
        BOOST_TEST((h.at(share) - exact).count() * 128 <= exact.count(), "share " << share << ", seed " << seed);
    }
    BOOST_TEST((h.at(1) == sample.back()));
}

BOOST_AUTO_TEST_CASE(summary_is_in_microseconds)
{
    histogram h;
    for (int i = 1; i <= 1000; ++i)
        h.record(i * 1us);

    auto const s = h.summary();

    BOOST_TEST(s.p50 == 500, boost::test_tools::tolerance(0.008));
    BOOST_TEST(s.p90 == 900, boost::test_tools::tolerance(0.008));
    BOOST_TEST(s.p99 == 990, boost::test_tools::tolerance(0.008));
    BOOST_TEST(s.p999 == 999, boost::test_tools::tolerance(0.008));
    BOOST_TEST(s.max == 1000);
    BOOST_TEST(s.mean == 500.5);
    BOOST_TEST(h.count() == 1000u);
}

BOOST_AUTO_TEST_CASE(clear_sets_all_figures_to_zero)
{
    histogram h;
    h.record(5ms);
    h.clear();

    BOOST_TEST(h.count() == 0u);
    BOOST_TEST((h.at(0.5) == 0ns));
    BOOST_TEST((h.max() == 0ns));
    BOOST_TEST(h.mean().count() == 0);
    BOOST_TEST(h.summary().max == 0);
    BOOST_TEST(h.curve().empty());
}

BOOST_AUTO_TEST_CASE(add_equals_recording_all_values_in_one_histogram)
{
    histogram odd, even, all;
    for (int i = 0; i < 10'000; ++i) {
        (i % 2 ? odd : even).record(i * i * 1ns);
        all.record(i * i * 1ns);
    }

    even.add(odd);

    BOOST_TEST(even.count() == all.count());
    BOOST_TEST(even.mean().count() == all.mean().count());
    BOOST_TEST((even.max() == all.max()));
    BOOST_TEST((even.curve() == all.curve()));
}

BOOST_AUTO_TEST_CASE(record_out_of_range_keeps_the_exact_maximum)
{
    histogram h;
    h.record(-5ns);
    h.record(3h);
    h.record(5h);

    BOOST_TEST((h.at(0.3) == 0ns));
    BOOST_TEST((h.at(0.5) >= 3h));
    BOOST_TEST((h.max() == 5h));
    BOOST_TEST((h.mean() == 8h / 3.0));
}

BOOST_AUTO_TEST_CASE(curve_goes_from_share_0_to_the_maximum)
{
    for (int n : {1, 2, 10, 11, 1000, 12'345}) {
        histogram h;
        for (int i = 1; i <= n; ++i)
            h.record(i * 1us);

        auto const c = h.curve();

        BOOST_TEST(c.front().first == 0);
        BOOST_TEST(std::is_sorted(c.begin(), c.end(), [](auto& a, auto& b) { return a.first <= b.first; }));
        BOOST_TEST(std::is_sorted(c.begin(), c.end(), [](auto& a, auto& b) { return a.second < b.second; }));
        BOOST_TEST(std::isfinite(std::log10(1 / (1 - c.back().first))));
        BOOST_TEST(c.back().second == n);
        BOOST_TEST(std::abs(static_cast<double>(c.size()) - 10 * std::log10(n) - 1) <= 1);
    }
}

BOOST_AUTO_TEST_SUITE_END()
