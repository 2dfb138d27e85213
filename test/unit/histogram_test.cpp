#include <redlock/histogram.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <thread>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(histograms)

namespace {

using ns = std::chrono::nanoseconds;

histogram of(std::vector<ns> const& durations)
{
    histogram_recorder r;
    for (auto const d : durations)
        r.add(d);
    return r.snapshot();
}

bool is_near(ns is, ns wanted)
{
    return std::abs(is.count() - wanted.count()) <= std::max<std::int64_t>(wanted.count() / 32, 32);
}

}  // namespace

BOOST_AUTO_TEST_CASE(snapshot_without_values_is_zero)
{
    auto const h = of({});

    BOOST_TEST(h.count() == 0u);
    BOOST_TEST((h.sum() == 0ns));
    BOOST_TEST((h.mean() == 0ns));
    BOOST_TEST((h.quantile(0.5) == 0ns));
    BOOST_TEST(h.count_below(1h) == 0u);
}

BOOST_AUTO_TEST_CASE(quantile_of_one_value_is_within_a_32nd_or_32_ns)
{
    for (double d = 1; d < 9.0e15; d *= 1.0173) {
        auto const length = ns(static_cast<std::int64_t>(d));
        BOOST_TEST(is_near(of({length}).quantile(0.5), length), length.count());
    }
    for (int e = 0; e < 53; ++e) {
        for (std::int64_t const off : {-1, 0, 1}) {
            auto const length = ns(std::max<std::int64_t>((std::int64_t(1) << e) + off, 0));
            BOOST_TEST(is_near(of({length}).quantile(0.5), length), length.count());
        }
    }
}

BOOST_AUTO_TEST_CASE(buckets_have_no_gaps)
{
    using buckets = detail::histogram_buckets;
    for (std::size_t i = 0; i < buckets::count; ++i) {
        BOOST_TEST(buckets::of(buckets::begin_of(i)) == i);
        BOOST_TEST(buckets::of(buckets::begin_of(i + 1) - 1ns) == i);
    }
    BOOST_TEST(buckets::begin_of(buckets::count).count() == static_cast<std::int64_t>(buckets::end));
}

BOOST_AUTO_TEST_CASE(add_out_of_range_counts_in_the_first_or_last_bucket)
{
    auto const h = of({-5s, ns::min(), ns::max()});

    BOOST_TEST(h.count() == 3u);
    BOOST_TEST(h.count_below(64ns) == 2u);
    BOOST_TEST((h.quantile(1) > 100 * 24h));
    BOOST_TEST((h.sum() == ns::max()));
}

BOOST_AUTO_TEST_CASE(quantile_is_near_the_value_at_its_rank)
{
    std::vector<ns> values;
    for (std::uint64_t i = 0, z = 1; i < 10'000; ++i) {
        z = z * 6364136223846793005u + 1442695040888963407u;
        values.push_back(ns(static_cast<std::int64_t>(std::exp(static_cast<double>(z >> 40) / (1 << 24) * 23))));
    }
    auto const h = of(values);
    std::sort(values.begin(), values.end());

    for (double const q : {0.0, 0.001, 0.1, 0.5, 0.9, 0.99, 0.999, 1.0}) {
        auto const rank = std::max<std::size_t>(static_cast<std::size_t>(std::ceil(q * 10'000)), 1);
        BOOST_TEST(is_near(h.quantile(q), values[rank - 1]), q);
    }
    BOOST_TEST((h.quantile(-1) == h.quantile(0)));
    BOOST_TEST((h.quantile(2) == h.quantile(1)));
}

BOOST_AUTO_TEST_CASE(sum_and_mean_are_exact)
{
    auto const h = of({1ns, 1001ns, 5s});

    BOOST_TEST((h.sum() == 5s + 1002ns));
    BOOST_TEST((h.mean() == (5s + 1002ns) / 3));
}

BOOST_AUTO_TEST_CASE(count_below_counts_the_values_below_the_bound)
{
    auto const h = of({1ms, 10ms, 10ms, 100ms, 1s});

    BOOST_TEST(h.count_below(0ns) == 0u);
    BOOST_TEST(h.count_below(5ms) == 1u);
    BOOST_TEST(h.count_below(50ms) == 3u);
    BOOST_TEST(h.count_below(500ms) == 4u);
    BOOST_TEST(h.count_below(1h) == 5u);
}

BOOST_AUTO_TEST_CASE(snapshot_minus_an_earlier_one_is_what_was_added_in_between)
{
    histogram_recorder r;
    r.add(1ms);
    r.add(1s);
    auto const before = r.snapshot();
    for (int i = 0; i < 9; ++i)
        r.add(20ms);
    r.add(1min);
    auto const between = r.snapshot() - before;

    BOOST_TEST(between.count() == 10u);
    BOOST_TEST((between.sum() == 180ms + 1min));
    BOOST_TEST(is_near(between.quantile(0.9), 20ms));
    BOOST_TEST(is_near(between.quantile(1), 1min));
    BOOST_TEST((before - r.snapshot()).count() == 0u);
}

BOOST_AUTO_TEST_CASE(histogram_plus_another_has_the_values_of_both)
{
    auto const both = of({1ms, 2s}) + of({1ms});

    BOOST_TEST(both.count() == 3u);
    BOOST_TEST(both.count_below(100ms) == 2u);
    BOOST_TEST((both.sum() == 2s + 2ms));
    BOOST_TEST((of({1ms}) + of({1ms, 2s})).count() == 3u);
}

BOOST_AUTO_TEST_CASE(snapshot_while_another_thread_adds_never_shrinks)
{
    constexpr std::uint64_t all = 200'000;
    histogram_recorder r;
    std::atomic<bool> begun = false;
    std::thread writer([&] {
        while (!begun)
            std::this_thread::yield();
        for (std::uint64_t i = 0; i < all; ++i)
            r.add(ns(i));
    });
    std::uint64_t before = 0;
    bool shrinks = false;
    begun = true;
    while (before < all) {
        auto const now = r.snapshot().count();
        shrinks = shrinks || now < before;
        before = now;
    }
    writer.join();

    BOOST_TEST(!shrinks);
    BOOST_TEST(before == all);
    BOOST_TEST(r.snapshot().sum().count() == static_cast<std::int64_t>(all * (all - 1) / 2));
}

BOOST_AUTO_TEST_SUITE_END()
