#include <boost/test/unit_test.hpp>

#include "output/csv.hpp"
#include "output/html.hpp"
#include "output/json.hpp"
#include "bench/sample_run.hpp"
#include "output/table.hpp"

#include <fstream>
#include <string>
#include <string_view>
#include <utility>

using namespace redlock::bench;

namespace {

run run_of(double ratio, double spread)
{
    auto r = full_run();
    r.results[0].ratio_to_floor = ratio;
    r.results[0].spread = spread;
    return r;
}

/// With text that a page could take for its own.
run hostile_run()
{
    std::string const text = "</script><i>'\"&";
    auto r = full_run();
    r.machine[text] = text;
    r.results[0].scenario = r.results[0].variant = r.results[0].time->marks[0].what = text;
    r.results[0].failures = {{text, 1}};
    r.results[0].more = {{text, 1}};
    return r;
}

run run_of_two_node_counts()
{
    auto r = full_run();
    r.results.push_back(r.results[0]);
    r.results[1].nodes = 3;
    r.results[1].curve = {{0.5, 110}, {0.99, 1'000}};  // or its line would hide the other one
    return r;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(csv)

BOOST_AUTO_TEST_CASE(quotes_and_commas_are_quoted)
{
    BOOST_TEST(contains(to_csv(full_run()), "\nscale,\"rtt 1 ms, \"\"far\"\"\",5,16,12345,"));
}

BOOST_AUTO_TEST_CASE(every_line_has_the_columns_of_all)
{
    auto r = full_run();
    r.results[0].variant = "far";
    r.results.push_back({});
    r.results[1].more = {{"another", 1}};

    auto const text = to_csv(r);

    auto const first = text.find('\n') + 1, second = text.find('\n', first) + 1;
    auto const header = text.substr(0, first);
    BOOST_TEST(contains(header, ",acquire_us_p99,"));
    BOOST_TEST(contains(header, ",more.another,more.bytes_per_held_lock,more.longest_gap_ms\n"));
    BOOST_TEST(occurrences(header, ",") == occurrences(text.substr(first, second - first), ","));
    BOOST_TEST(occurrences(header, ",") == occurrences(text.substr(second), ","));
}

BOOST_AUTO_TEST_CASE(failures_are_one_total)
{
    BOOST_TEST(contains(to_csv(full_run()), ",15,2,18446744073709551615,7,1,412,12.5\n"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(table)

BOOST_AUTO_TEST_CASE(violations_are_always_told)
{
    auto none = full_run();
    none.results[0].violations = 0;

    BOOST_TEST(contains(to_table(none), "0 violations"));
    BOOST_TEST(contains(to_table(full_run()), "2 violations"));
}

BOOST_AUTO_TEST_CASE(durations_have_the_unit_that_fits)
{
    auto const text = to_table(full_run());

    BOOST_TEST(contains(text, "150 us"));
    BOOST_TEST(contains(text, "1.24 ms"));
    BOOST_TEST(contains(text, "2.1 s"));
}

BOOST_AUTO_TEST_CASE(failures_figures_and_disturbed_rounds_are_told)
{
    auto const text = to_table(full_run());

    BOOST_TEST(contains(text, "failures: 12 contended, 3 no quorum <5>"));
    BOOST_TEST(contains(text, "bytes per held lock: 412"));
    BOOST_TEST(contains(text, "1 of 7 rounds disturbed"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(comparison)

BOOST_AUTO_TEST_CASE(a_change_below_the_larger_spread_is_marked)
{
    BOOST_TEST(contains(to_comparison(run_of(0.80, 0.01), run_of(0.82, 0.05)), "within the spread of 5.0 %"));
    BOOST_TEST(contains(to_comparison(run_of(0.80, 0.05), run_of(0.78, 0.01)), "within the spread of 5.0 %"));
}

BOOST_AUTO_TEST_CASE(a_change_above_the_spread_is_not_marked)
{
    auto const text = to_comparison(run_of(0.80, 0.01), run_of(0.82, 0.02));

    BOOST_TEST(contains(text, "+2.5 %"));
    BOOST_TEST(!contains(text, "within the spread"));
}

BOOST_AUTO_TEST_CASE(results_of_one_run_only_are_listed)
{
    auto after = full_run();
    after.results[0].nodes = 3;

    auto const text = to_comparison(full_run(), after);

    BOOST_TEST(contains(text, "Only before:\n  scale: 5 nodes"));
    BOOST_TEST(contains(text, "Only after:\n  scale: 3 nodes"));
}

BOOST_AUTO_TEST_CASE(other_machines_allow_ratios_only)
{
    auto after = full_run();
    after.machine["processor"] = "C";

    BOOST_TEST(contains(to_comparison(full_run(), after), "only ratios to the floor can be compared"));
    BOOST_TEST(!contains(to_comparison(full_run(), full_run()), "only ratios"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(html)

BOOST_AUTO_TEST_CASE(the_page_needs_nothing_but_itself)
{
    auto const text = to_html(full_run());

    for (std::string_view const outside : {"<link", " src=", "@import", "fetch("})
        BOOST_TEST(!contains(text, outside), outside);
    BOOST_TEST(contains(text, "var uPlot="));
    BOOST_TEST(contains(text, "The MIT License"));
}

BOOST_AUTO_TEST_CASE(the_page_holds_the_figures_of_the_run)
{
    for (auto const& r : {full_run(), odd_run(), hostile_run(), run()}) {
        auto const text = to_html(r);
        auto const begin = text.find('{', text.find("id=\"run\""));
        auto const data = text.substr(begin, text.find('<', begin) - begin);  // the script's end is the first of them

        BOOST_TEST(to_json(from_json(data, "page.html")) == to_json(r));
    }
}

// What the page makes of them: bench/page_test.
BOOST_AUTO_TEST_CASE(pages_for_the_browser, *boost::unit_test::disabled())
{
    auto const& arguments = boost::unit_test::framework::master_test_suite();
    BOOST_REQUIRE(arguments.argc == 2);
    for (auto const& [name, r] : {std::pair("full", full_run()), {"nodes", run_of_two_node_counts()}, {"hostile", hostile_run()},
                                  {"odd", odd_run()}, {"empty", run()}})
        std::ofstream(std::string(arguments.argv[1]) + "/" + name + ".html") << to_html(r);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(an_empty_run_survives_every_format)
{
    run const empty;

    BOOST_TEST(from_json(to_json(empty), "run.json").results.empty());
    BOOST_TEST(occurrences(to_csv(empty), "\n") == 1U);
    BOOST_TEST(contains(to_table(empty), "No results."));
    BOOST_TEST(contains(to_comparison(empty, empty), "No result is in both runs."));
}

BOOST_AUTO_TEST_CASE(a_run_of_extremes_survives_tables)
{
    BOOST_TEST(!to_table(odd_run()).empty());
    BOOST_TEST(!to_comparison(odd_run(), odd_run()).empty());
    BOOST_TEST(!to_csv(odd_run()).empty());
}
