#include <boost/test/unit_test.hpp>

#include "output/csv.hpp"
#include "output/html.hpp"
#include "output/json.hpp"
#include "bench/sample_run.hpp"
#include "output/table.hpp"

#include <string>
#include <string_view>
#include <vector>

using namespace redlock::bench;

namespace {

run run_of(double ratio, double spread)
{
    auto r = full_run();
    r.results[0].ratio_to_floor = ratio;
    r.results[0].spread = spread;
    return r;
}

/// The first tag that is not closed where it should be; empty if there is none.
std::string unbalanced_tag(std::string_view svg)
{
    std::vector<std::string_view> open;
    for (auto at = svg.find('<'); at != svg.npos; at = svg.find('<', at + 1)) {
        auto const end = svg.find('>', at);
        if (end == svg.npos)
            return std::string(svg.substr(at));
        auto const tag = svg.substr(at + 1, end - at - 1);
        auto const name = tag.substr(0, tag.find(' '));
        if (name.starts_with('/')) {
            if (open.empty() || open.back() != name.substr(1))
                return std::string(tag);
            open.pop_back();
        } else if (!tag.ends_with('/')) {
            open.push_back(name);
        }
    }
    return open.empty() ? "" : std::string(open.back());
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

    for (std::string_view const outside : {"http", "<script", "<link", "src=", "@import", "url("})
        BOOST_TEST(!contains(text, outside), outside);
}

BOOST_AUTO_TEST_CASE(all_text_is_escaped)
{
    auto r = full_run();
    r.machine["<i>"] = "<i>";
    r.results[0].scenario = r.results[0].variant = "<i>'\"&";
    r.results[0].failures = {{"<i>", 1}};
    r.results[0].more = {{"<i>", 1}};
    r.results[0].time->marks[0].what = "<i>";

    auto const text = to_html(r);

    BOOST_TEST(!contains(text, "<i>"));
    BOOST_TEST(contains(text, "&lt;i&gt;&#39;&quot;&amp;"));
}

BOOST_AUTO_TEST_CASE(images_are_balanced_and_have_a_role_and_a_title)
{
    for (auto const& r : {full_run(), odd_run()}) {
        auto const page = to_html(r);
        std::size_t images = 0;
        for (auto at = page.find("<svg"); at != page.npos; at = page.find("<svg", at + 1)) {
            auto const svg = page.substr(at, page.find("</svg>", at) + 6 - at);
            ++images;
            BOOST_TEST(unbalanced_tag(svg) == "");
            BOOST_TEST(svg.starts_with("<svg role=\"img\""));
            BOOST_TEST(occurrences(svg, "<title>") == 1U);
            BOOST_TEST(!contains(svg, "nan"));
            BOOST_TEST(!contains(svg, "inf"));
        }
        BOOST_TEST(images > 0U);
    }
}

BOOST_AUTO_TEST_CASE(results_that_differ_in_nodes_make_a_chart_against_nodes)
{
    auto r = full_run();
    BOOST_TEST(!contains(to_html(r), "against nodes"));

    r.results.push_back(r.results[0]);
    r.results[1].nodes = 3;

    BOOST_TEST(contains(to_html(r), "Client CPU per cycle against nodes"));
    BOOST_TEST(!contains(to_html(r), "against clients"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(an_empty_run_survives_every_format)
{
    run const empty;

    BOOST_TEST(from_json(to_json(empty), "run.json").results.empty());
    BOOST_TEST(occurrences(to_csv(empty), "\n") == 1U);
    BOOST_TEST(contains(to_table(empty), "No results."));
    BOOST_TEST(contains(to_comparison(empty, empty), "No result is in both runs."));
    BOOST_TEST(contains(to_html(empty), "0 results"));
}

BOOST_AUTO_TEST_CASE(a_run_of_extremes_survives_tables)
{
    BOOST_TEST(!to_table(odd_run()).empty());
    BOOST_TEST(!to_comparison(odd_run(), odd_run()).empty());
    BOOST_TEST(!to_csv(odd_run()).empty());
}
