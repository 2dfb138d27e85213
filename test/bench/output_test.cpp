#include <boost/test/unit_test.hpp>

#include "output/json.hpp"
#include "output/plot.hpp"
#include "bench/sample_run.hpp"
#include "output/table.hpp"
#include "bed/local_server.hpp"
#include "bed/process.hpp"

#include <boost/property_tree/ptree.hpp>
#include <boost/property_tree/xml_parser.hpp>

#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <stdexcept>
#include <string>

using namespace redlock::bench;

namespace {

run run_of(double ratio, double spread)
{
    auto r = full_run();
    r.results[0].ratio_to_floor = ratio;
    r.results[0].spread = spread;
    return r;
}

/// A run whose scenario and variant have this name.
run named(std::string const& name)
{
    auto r = full_run();
    r.results[0].scenario = r.results[0].variant = name;
    return r;
}

boost::test_tools::assertion_result gnuplot_is_installed(boost::unit_test::test_unit_id)
{
    redlock::testbed::process gnuplot({"gnuplot", "--version"}, {.output = "/dev/null"});
    boost::test_tools::assertion_result can(gnuplot.wait().code() == 0);
    can.message() << "skipped: gnuplot is not installed (Debian's package gnuplot-nox)";
    return can;
}

/// All text of a picture, which must be well-formed XML.
std::string text_of(std::string const& svg)
{
    std::istringstream in(svg);
    boost::property_tree::ptree tree;
    boost::property_tree::read_xml(in, tree);
    std::string all;
    auto const add = [&](auto const& self, boost::property_tree::ptree const& t) -> void {
        all += t.data() + '\n';
        for (auto const& child : t)
            self(self, child.second);
    };
    add(add, tree);
    return all;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(table)

BOOST_AUTO_TEST_CASE(to_table_always_shows_violations)
{
    auto none = full_run();
    none.results[0].violations = 0;

    BOOST_TEST(contains(to_table(none), "0 violations"));
    BOOST_TEST(contains(to_table(full_run()), "2 violations"));
}

BOOST_AUTO_TEST_CASE(to_table_chooses_the_unit_of_durations)
{
    auto const text = to_table(full_run());

    BOOST_TEST(contains(text, "150 us"));
    BOOST_TEST(contains(text, "1.24 ms"));
    BOOST_TEST(contains(text, "2.1 s"));
}

BOOST_AUTO_TEST_CASE(to_table_shows_failures_figures_and_disturbed_rounds)
{
    auto const text = to_table(full_run());

    BOOST_TEST(contains(text, "failures: 12 contended, 3 no quorum <5>"));
    BOOST_TEST(contains(text, "bytes per held lock: 412"));
    BOOST_TEST(contains(text, "1 of 7 rounds disturbed"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(comparison)

BOOST_AUTO_TEST_CASE(to_comparison_marks_a_change_within_the_larger_spread)
{
    BOOST_TEST(contains(to_comparison(run_of(0.80, 0.01), run_of(0.82, 0.05)), "within the spread of 5.0 %"));
    BOOST_TEST(contains(to_comparison(run_of(0.80, 0.05), run_of(0.78, 0.01)), "within the spread of 5.0 %"));
}

BOOST_AUTO_TEST_CASE(to_comparison_does_not_mark_a_change_above_the_spread)
{
    auto const text = to_comparison(run_of(0.80, 0.01), run_of(0.82, 0.02));

    BOOST_TEST(contains(text, "+2.5 %"));
    BOOST_TEST(!contains(text, "within the spread"));
}

BOOST_AUTO_TEST_CASE(to_comparison_lists_results_of_only_one_run)
{
    auto after = full_run();
    after.results[0].nodes = 3;

    auto const text = to_comparison(full_run(), after);

    BOOST_TEST(contains(text, "Only before:\n  scale: 5 nodes"));
    BOOST_TEST(contains(text, "Only after:\n  scale: 3 nodes"));
}

BOOST_AUTO_TEST_CASE(to_comparison_of_different_machines_warns)
{
    auto after = full_run();
    after.machine["processor"] = "C";

    BOOST_TEST(contains(to_comparison(full_run(), after), "only ratios to the floor can be compared"));
    BOOST_TEST(!contains(to_comparison(full_run(), full_run()), "only ratios"));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(plot)

BOOST_AUTO_TEST_CASE(to_plot_writes_rates_and_percentiles_of_library_and_floor)
{
    auto const script = to_plot(full_run());

    // The columns are y, rate, lowest rate, highest rate; p50, p99 and maximum in seconds.
    BOOST_TEST(contains(script, "$library << EOD\n47 12345 12098.1 12591.9 0.00015 0.00124 2.1 "
                                "\"12,345, 0.823 of the floor\" 0\nEOD\n"));
    BOOST_TEST(contains(script, "$floor << EOD\n67 15000 NaN NaN 7.5e-05 0.00031 0.001 \"\" 0\nEOD\n"));
    BOOST_TEST(contains(script, "'redlock_bench <all>'"));
    BOOST_TEST(contains(script, "'scale'"));
    BOOST_TEST(contains(script, "'5 nodes, 16 clients, rtt 1 ms, \"far\",'.\"\\n\"."
                                "'VIOLATIONS: 2' at graph 0, first 48.5 "));
    BOOST_TEST(!contains(script, "plot $changes"));
}

BOOST_AUTO_TEST_CASE(to_plot_without_floor_of_one_round_draws_no_floor_and_no_range)
{
    auto r = full_run();
    r.results[0].floor_cycles_per_second.reset();
    r.results[0].floor_cycle_us.reset();
    r.results[0].ratio_to_floor.reset();
    r.results[0].rounds = 1;

    auto const script = to_plot(r);

    BOOST_TEST(contains(script, "$library << EOD\n57 12345 NaN NaN "));
    BOOST_TEST(contains(script, "$floor << EOD\n-1 NaN "));
}

BOOST_AUTO_TEST_CASE(to_plot_with_a_run_before_draws_the_ratio_and_the_larger_spread)
{
    auto const before = run_of(0.80, 0.05);

    auto const script = to_plot(run_of(0.84, 0.01), &before);

    BOOST_TEST(contains(script, "$changes << EOD\n57 1.05 1 1.1 \"+5.0 % (ratio to floor)\"\nEOD\n"));
    BOOST_TEST(contains(script, "plot $changes"));
    run const other;
    BOOST_TEST(contains(to_plot(full_run(), &other), "$changes << EOD\n-1 NaN "));
}

BOOST_AUTO_TEST_CASE(to_plot_of_versus_draws_others_without_their_floor)
{
    auto r = full_run();
    r.results.push_back(r.results[0]);
    r.results[0].scenario = r.results[1].scenario = "versus: 1 node";
    r.results[0].variant = "redlock";
    r.results[1].variant = "etcd";
    r.results[1].violations = 0;
    r.results.push_back(r.results[1]);
    r.results[2].rounds = 0;

    auto const script = to_plot(r);

    BOOST_TEST(contains(script, "0.823 of the floor\" 0\n"));
    BOOST_TEST(contains(script, "\"12,345, 0.823 of redlock\" 1\n"));
    BOOST_TEST(contains(script, "\"failed\" 1\n"));
    BOOST_TEST(contains(script, "'etcd' at graph 0"));
    BOOST_TEST(contains(script, "others = 'others'"));
    BOOST_TEST(contains(to_plot(full_run()), "others = ''"));
    BOOST_TEST(occurrences(
                   script.substr(script.find("$floor <<"), script.find("$changes <<") - script.find("$floor <<")), "\n")
               == 3U);
    BOOST_TEST(contains(to_table(r), "the floor of the others is redlock"));
}

BOOST_AUTO_TEST_CASE(to_plot_of_more_results_is_higher)
{
    auto const height = [](run const& r) {
        auto const script = to_plot(r);
        return std::stoi(script.substr(script.find(',') + 1));
    };
    auto more = full_run();
    more.results.resize(40, more.results[0]);

    BOOST_TEST(height(more) == height(full_run()) + 39 * 46);
}

BOOST_AUTO_TEST_CASE(to_plot_quotes_names)
{
    BOOST_TEST(contains(to_plot(named("it's `x`\n\"EOD\" \\")), "set label 'it''s `x` \"EOD\" \\' at "));
}

BOOST_AUTO_TEST_CASE(drawn_is_well_formed_and_holds_the_names, *boost::unit_test::precondition(gnuplot_is_installed))
{
    redlock::testbed::temporary_folder folder;
    auto const file = folder.path + "/made";
    auto const command = "touch " + file;
    auto const name = "</text>'.system('" + command + "').'`" + command + "` $x @x {/Bold x} %s _a ^b & \"EOD\" | \\n";

    auto const text = text_of(drawn(to_plot(named(name))));

    BOOST_TEST(contains(text, name), text);
    BOOST_TEST(!std::filesystem::exists(file));
    for (auto const* part : {"redlock_bench <all>", "5 nodes, 16 clients", "12,345, 0.823 of the floor", "p99"})
        BOOST_TEST(contains(text, part), text);
}

BOOST_AUTO_TEST_CASE(drawn_of_extremes_is_well_formed, *boost::unit_test::precondition(gnuplot_is_installed))
{
    for (auto const& r : {odd_run(), run()}) {
        BOOST_TEST(contains(text_of(drawn(to_plot(r))), "Locks per second"));
        BOOST_TEST(contains(text_of(drawn(to_plot(r, &r))), "Ratio to the run before"));
    }
    BOOST_TEST(contains(text_of(drawn(to_plot({}))), "No results."));
}

BOOST_AUTO_TEST_CASE(drawn_of_a_bad_script_throws, *boost::unit_test::precondition(gnuplot_is_installed))
{
    auto const tells_the_status = [](auto& e) { return contains(e.what(), "gnuplot ended with status 1"); };
    BOOST_CHECK_EXCEPTION(drawn("plot nonsense("), std::runtime_error, tells_the_status);
    BOOST_CHECK_THROW(drawn(""), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(need_gnuplot_without_gnuplot_names_the_package)
{
    std::string const path = std::getenv("PATH");
    ::setenv("PATH", "/nonexistent", 1);
    auto const names_the_package = [](auto& e) { return contains(e.what(), "apt-get install gnuplot-nox"); };
    BOOST_CHECK_EXCEPTION(need_gnuplot(), std::runtime_error, names_the_package);
    ::setenv("PATH", path.c_str(), 1);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_CASE(output_of_an_empty_run_is_valid)
{
    run const empty;

    BOOST_TEST(from_json(to_json(empty), "run.json").results.empty());
    BOOST_TEST(contains(to_table(empty), "No results."));
    BOOST_TEST(contains(to_comparison(empty, empty), "No result is in both runs."));
}

BOOST_AUTO_TEST_CASE(output_of_extreme_values_is_not_empty)
{
    BOOST_TEST(!to_table(odd_run()).empty());
    BOOST_TEST(!to_comparison(odd_run(), odd_run()).empty());
}
