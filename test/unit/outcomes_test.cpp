#include "tools/redlock/args/exit_status.hpp"

#include <redlock/detail/outcome.hpp>
#include <redlock/prometheus.hpp>
#include <redlock/report.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/error.hpp>
#include <boost/test/unit_test.hpp>

#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <set>
#include <string>

using namespace redlock;
using detail::outcome_kind;
using detail::outcome_of;

BOOST_AUTO_TEST_SUITE(outcomes)

namespace {

std::string text_of(char const* path)
{
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

// The names and values of the enumerators in error.hpp.
std::map<std::string, errc> all_errors()
{
    std::map<std::string, errc> all;
    auto const header = text_of(REDLOCK_SOURCE "/include/redlock/error.hpp");
    std::regex const enumerator(R"(\n    ([a-z_]+) = (\d+),)");
    for (std::sregex_iterator i(header.begin(), header.end(), enumerator), end; i != end; ++i)
        all[(*i)[1]] = static_cast<errc>(std::stoi((*i)[2]));
    return all;
}

bool has_letters(std::string const& text) { return text.find_first_of("abcdefghijklmnopqrstuvwxyz") != text.npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(outcome_of_each_error_of_the_header_is_whole)
{
    auto const all = all_errors();
    BOOST_TEST(all.size() >= 29u);
    std::set<std::string> messages;
    for (auto const& [name, e] : all) {
        BOOST_TEST_CONTEXT(name) {
            auto const row = outcome_of(e);
            BOOST_TEST(row.name == name);
            BOOST_TEST(has_letters(row.message));
            BOOST_TEST(messages.insert(row.message).second);
            BOOST_TEST(row.message == make_error_code(e).message());
            BOOST_TEST((row.kind != outcome_kind::none && row.kind != outcome_kind::cancelled));
            BOOST_TEST((row.kind == outcome_kind::node) == (static_cast<int>(e) >= 20));
            BOOST_TEST(has_letters(row.metric));
            BOOST_TEST((row.counter != nullptr));
            BOOST_TEST((row.exit_status > 0 && row.exit_status < 128));
            BOOST_TEST((row.http.status == 503 || row.http.status == 500));
            for (auto const* const word : {row.http.name, row.http.title, row.http.detail, row.code})
                BOOST_TEST(has_letters(word));
            // A user of the command line needs a way out exactly if waiting for the node cannot help.
            BOOST_TEST(has_letters(row.way_out) == (row.kind == outcome_kind::node && !row.temporary));
        }
    }
}

BOOST_AUTO_TEST_CASE(outcome_of_a_number_that_is_no_error_is_a_fault)
{
    std::size_t rows = 0;
    for (int e = 1; e < 1000; ++e)
        rows += std::string(outcome_of(static_cast<errc>(e)).name).empty() ? 0u : 1u;
    BOOST_TEST(rows == all_errors().size());
    BOOST_TEST(make_error_code(static_cast<errc>(999)).message() == "unknown error");
    for (error_code const ec :
         {make_error_code(static_cast<errc>(999)), make_error_code(boost::system::errc::not_enough_memory)}) {
        BOOST_TEST(outcome_of(ec).exit_status == cli::failed);
        BOOST_TEST(outcome_of(ec).http.status == 500u);
        BOOST_TEST(outcome_of(ec).metric == "failed");
    }
}

BOOST_AUTO_TEST_CASE(outcome_of_success_and_of_a_cancellation)
{
    BOOST_TEST((outcome_of({}).kind == outcome_kind::none));
    BOOST_TEST(outcome_of({}).exit_status == cli::done);
    BOOST_TEST((outcome_of({}).counter == nullptr));
    auto const cancelled = outcome_of(boost::asio::error::operation_aborted);
    BOOST_TEST((cancelled.kind == outcome_kind::cancelled));
    BOOST_TEST(cancelled.metric == "cancelled");
    BOOST_TEST(cancelled.exit_status == cli::failed);
    BOOST_TEST(cancelled.http.name == "stopping");
}

BOOST_AUTO_TEST_CASE(outcome_of_an_error_has_an_exit_status_of_the_tool)
{
    BOOST_TEST(outcome_of(errc::contended).exit_status == cli::busy);
    BOOST_TEST(outcome_of(errc::no_quorum).exit_status == cli::no_quorum);
    BOOST_TEST(outcome_of(errc::lost).exit_status == cli::lock_lost);
    BOOST_TEST(outcome_of(errc::not_held).exit_status == cli::no);
    BOOST_TEST(outcome_of(errc::invalid_argument).exit_status == cli::wrong_usage);
    BOOST_TEST(outcome_of(errc::unsupported).exit_status == cli::wrong_configuration);
    BOOST_TEST(outcome_of(errc::keys_left).exit_status == cli::failed);
    BOOST_TEST(outcome_of(errc::permission_denied).exit_status == cli::no_permission);
    for (auto const& [name, e] : all_errors()) {
        auto const row = outcome_of(e);
        if (row.kind == outcome_kind::unavailable || (row.kind == outcome_kind::node && row.temporary))
            BOOST_TEST(row.exit_status == cli::no_quorum, name);
    }
}

// Metrics and logs use the same word.
BOOST_AUTO_TEST_CASE(outcome_of_each_error_counts_under_its_label)
{
    auto all = all_errors();
    all.emplace("operation_aborted", errc());
    for (auto const& [name, e] : all) {
        auto const ec = e == errc() ? error_code(boost::asio::error::operation_aborted) : make_error_code(e);
        stats s;
        s.*outcome_of(ec).counter = 7;
        auto const sample = "\nredlock_acquisitions_total{outcome=\"" + std::string(outcome_of(ec).metric) + "\"} 7\n";
        auto const text = prometheus_text(s);
        BOOST_TEST(text.find(sample) != text.npos, name);
    }
}

BOOST_AUTO_TEST_CASE(outcome_of_each_error_is_as_docs_errors_md_says)
{
    std::set<std::string> listed, known;
    auto const page = text_of(REDLOCK_SOURCE "/docs/errors.md");
    std::regex const row("\\n(\\| `errc::[a-z_]+` \\| \\d+ \\| [^\\n]*)");
    for (std::sregex_iterator i(page.begin(), page.end(), row), end; i != end; ++i)
        listed.insert((*i)[1]);
    for (auto const& [name, e] : all_errors()) {
        auto const o = outcome_of(e);
        auto line = "| `errc::" + name + "` | " + std::to_string(o.exit_status) + " | ";
        if (o.kind == outcome_kind::node)
            line += '`' + std::string(o.code) + "` | " + (o.temporary ? "yes" : "no") + " |";
        else
            line += std::to_string(o.http.status) + " `" + o.http.name + "` | `" + o.metric + "` |";
        known.insert(line);
    }
    BOOST_TEST(listed == known, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
