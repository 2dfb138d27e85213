#include "output/json.hpp"
#include "bench/sample_run.hpp"

#include <boost/test/unit_test.hpp>

#include <stdexcept>
#include <string>

using namespace redlock::bench;

BOOST_AUTO_TEST_SUITE(json)

namespace {

std::string replaced(std::string text, std::string_view what, std::string_view by)
{
    auto const at = text.find(what);
    BOOST_REQUIRE(at != text.npos);
    return text.replace(at, what.size(), by);
}

/// The error of from_json for a full run in which @p what is replaced.
std::string complaint_about(std::string_view what, std::string_view by)
{
    try {
        from_json(replaced(to_json(full_run()), what, by), "old.json");
    } catch (std::runtime_error const& e) {
        return e.what();
    }
    return "nothing";
}

}  // namespace

BOOST_AUTO_TEST_CASE(from_json_of_a_full_run_restores_every_field)
{
    auto const written = full_run();
    auto const text = to_json(written);

    auto const read = from_json(text, "run.json");

    BOOST_TEST(to_json(read) == text);
    BOOST_TEST((read.machine == written.machine));
    auto const& was = written.results.at(0);
    auto const& is = read.results.at(0);
    BOOST_TEST(is.variant == was.variant);
    BOOST_TEST(is.cycles_per_second == was.cycles_per_second);
    BOOST_TEST(is.ratio_to_floor.value() == was.ratio_to_floor.value());
    BOOST_TEST(is.cycle_us.p999 == was.cycle_us.p999);
    BOOST_TEST(is.floor_cycle_us.value().mean == was.floor_cycle_us.value().mean);
    BOOST_TEST((is.failures == was.failures));
    BOOST_TEST((is.more == was.more));
    BOOST_TEST(is.peak_heap_bytes == was.peak_heap_bytes);
    BOOST_TEST((is.curve == was.curve));
    BOOST_TEST((is.time.value().cycles_per_second == was.time.value().cycles_per_second));
    BOOST_TEST(is.time.value().marks.at(1).what == "it is back");
}

BOOST_AUTO_TEST_CASE(to_json_writes_absent_figures_as_null)
{
    auto const text = to_json({.machine = {}, .results = {result{}}});

    auto const read = from_json(text, "run.json").results.at(0);

    BOOST_TEST(contains(text, "\"ratio_to_floor\": null"));
    BOOST_TEST(!read.ratio_to_floor.has_value());
    BOOST_TEST(!read.floor_cycles_per_second.has_value());
    BOOST_TEST(!read.floor_cpu_us_per_cycle.has_value());
    BOOST_TEST(!read.server_cpu_us_per_cycle.has_value());
    BOOST_TEST(!read.floor_cycle_us.has_value());
    BOOST_TEST(!read.time.has_value());
}

BOOST_AUTO_TEST_CASE(from_json_error_names_file_field_and_expected_type)
{
    BOOST_TEST(complaint_about("\"nodes\": 5", "\"nodes\": \"five\"")
               == "old.json: results[0].nodes: expected a whole number from 0 on");
    BOOST_TEST(complaint_about("\"p90\": 200", "\"p90\": []")
               == "old.json: results[0].acquire_us.p90: expected a number");
    BOOST_TEST(complaint_about("[0.5, 150]", "[0.5]")
               == "old.json: results[0].curve[0]: expected a pair: share and microseconds");
    BOOST_TEST(complaint_about("\"spread\"", "\"sprawl\"")
               == "old.json: results[0].spread: expected this field, but it is missing");
    BOOST_TEST(contains(complaint_about("\"spread\":", "\"spread\""), "old.json: line "));
}

BOOST_AUTO_TEST_CASE(from_json_of_a_truncated_file_throws)
{
    auto const text = to_json(full_run());

    BOOST_CHECK_THROW(from_json(std::string_view(text).substr(0, text.size() / 2), "run.json"), std::runtime_error);
    BOOST_CHECK_THROW(from_json("", "run.json"), std::runtime_error);
}

BOOST_AUTO_TEST_CASE(from_json_of_another_schema_throws)
{
    BOOST_TEST(complaint_about("\"schema\": 1", "\"schema\": 2")
               == "old.json: schema: expected 1, the only one this program reads, found 2");
}

BOOST_AUTO_TEST_CASE(from_json_ignores_unknown_fields)
{
    auto const text = replaced(to_json(full_run()), "\"nodes\": 5", "\"colour\": {\"red\": [1]}, \"nodes\": 5");

    BOOST_TEST(to_json(from_json(text, "run.json")) == to_json(full_run()));
}

BOOST_AUTO_TEST_CASE(to_json_of_extreme_values_is_read_back)
{
    auto const text = to_json(odd_run());

    BOOST_TEST(to_json(from_json(text, "run.json")) == text);
}

BOOST_AUTO_TEST_SUITE_END()
