// Metrics for Prometheus. The tests of `stats()` check the numbers. These tests check names, labels and format.

#include "support/manager_test.hpp"
#include "bed/local_server.hpp"
#include "bed/process.hpp"

#include <redlock/prometheus.hpp>

#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(prometheus_metrics)

namespace {

struct sample {
    std::string name, labels, value;
};

// Parses a metrics text. Each invalid or repeated line is an error of the test.
struct exposition {
    std::map<std::string, std::string> types;
    std::vector<sample> samples;

    explicit exposition(std::string const& text)
    {
        static std::regex const comment("# (HELP|TYPE|UNIT) ([a-z_]+) (.+)"),
            line(R"(([a-z_]+)(\{([a-z_]+="([^"\\]|\\["\\n])*",?)+\})? ([^ ]+))");
        std::set<std::string> seen, described;
        std::istringstream in(text);
        std::string family;
        for (std::string l; std::getline(in, l);) {
            std::smatch m;
            if (l == "# EOF") {
                BOOST_TEST(in.peek() == EOF);
            } else if (std::regex_match(l, m, comment)) {
                family = m[2];
                BOOST_TEST(described.insert(m[1].str() + ' ' + family).second, "repeated line: " << l);
                if (m[1] == "TYPE")
                    types[family] = m[3];
            } else if (std::regex_match(l, m, line)) {
                BOOST_TEST(seen.insert(m[1].str() + m[2].str()).second, "repeated line: " << l);
                BOOST_TEST(m[1].str().starts_with(family), l);
                samples.push_back({m[1], m[2], m[5]});
            } else {
                BOOST_ERROR("invalid line: " << l);
            }
        }
    }

    std::string value(std::string const& name, std::string const& labels = {}) const
    {
        auto const found =
            std::find_if(samples.begin(), samples.end(), [&](auto& s) { return s.name == name && s.labels == labels; });
        return found == samples.end() ? "none" : found->value;
    }
};

// A manager with a lost, a renewed and a held lock, and a waiter.
struct busy : connected_to<3> {
    busy()
    {
        auto const lost = w.acquire(*locks, "lost", {.ttl = 1s});
        auto renewed = w.acquire(*locks, "renewed", {.ttl = 1s, .renew = renewal::automatic});
        w.run_for(2s);
        w.acquire(*locks, "renewed");
        w.release(renewed.held);
        kept = w.acquire(*locks, "kept", {.ttl = 10s});
        w.start_acquire(waits, *locks, "kept", {.wait = wait_forever});
        w.run_for(1s);
    }

    lock_world::outcome kept, waits;
};

std::string from_file(std::string const& name)
{
    std::ifstream in(name);
    return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(prometheus_text_names_and_describes_each_metric_once, busy)
{
    for (auto const format : {metrics_format::prometheus, metrics_format::openmetrics}) {
        auto const s = locks->stats();
        exposition const e(prometheus_text(s, format));
        BOOST_TEST(e.samples.size() == 186u + 29u * s.nodes.size());
        BOOST_TEST(e.value("redlock_acquisitions_begun_total") == std::to_string(s.begun));
        BOOST_TEST(e.value("redlock_acquisitions_total", "{outcome=\"acquired\"}") == std::to_string(s.acquired));
        BOOST_TEST(e.value("redlock_acquisitions_total", "{outcome=\"contended\"}") == std::to_string(s.contended));
        BOOST_TEST(e.value("redlock_lost_total", "{reason=\"expired\"}") == "1");
        BOOST_TEST(e.value("redlock_lost_total", "{reason=\"refused\"}") == "0");
        BOOST_TEST(e.value("redlock_renewal_slack_seconds_count") == std::to_string(s.renewals));
        BOOST_TEST(e.value("redlock_renewals_late_total") == "0");
        BOOST_TEST(e.value("redlock_held") == "1");
        BOOST_TEST(e.value("redlock_waiters") == "1");
        BOOST_TEST(e.value("redlock_renewals_total", "{outcome=\"extended\"}") == std::to_string(s.renewals));
        for (auto const& n : s.nodes) {
            BOOST_TEST(e.value("redlock_node_up", "{node=\"" + n.name + "\"}") == "1");
            BOOST_TEST(e.value("redlock_quarantined", "{node=\"" + n.name + "\"}") == "0");
        }
    }
}

BOOST_FIXTURE_TEST_CASE(prometheus_text_buckets_are_cumulative, busy)
{
    auto const s = locks->stats();
    exposition const e(prometheus_text(s));
    std::uint64_t last = 0;
    for (auto const& one : e.samples) {
        if (one.name != "redlock_hold_seconds_bucket")
            continue;
        BOOST_TEST(std::stoull(one.value) >= last);
        last = std::stoull(one.value);
    }
    BOOST_TEST(last == s.time_held.count());

    BOOST_TEST(e.value("redlock_hold_seconds_bucket", "{le=\"1.0\"}") == "2");  // the warm-up and the lost lock
    BOOST_TEST(e.value("redlock_hold_seconds_bucket", "{le=\"2.5\"}") == "3");
    BOOST_TEST(e.value("redlock_hold_seconds_count") == "3");
    BOOST_TEST(std::abs(std::stod(e.value("redlock_hold_seconds_sum"))
                        - std::chrono::duration<double>(s.time_held.sum()).count())
               < 1e-9);
}

BOOST_FIXTURE_TEST_CASE(prometheus_text_of_two_managers_has_their_labels, and_another<connected_to<3>>)
{
    std::vector<metrics_source> const both{{.stats = locks->stats(), .labels = {{"manager", "or\\der\"s\n"}}},
                                           {.stats = other->stats(), .labels = {{"manager", "stock"}}}};
    for (auto const format : {metrics_format::prometheus, metrics_format::openmetrics}) {
        exposition const e(prometheus_text(both, format));
        BOOST_TEST(e.value("redlock_held", R"({manager="or\\der\"s\n"})") == "0");
        BOOST_TEST(e.value("redlock_held", R"({manager="stock"})") == "0");
        BOOST_TEST(
            e.value("redlock_acquire_duration_seconds_bucket", R"({manager="stock",outcome="acquired",le="+Inf"})")
            != "none");
    }
}

BOOST_FIXTURE_TEST_CASE(prometheus_text_of_groups_has_their_labels, busy)
{
    auto const without = locks->stats().released;
    auto won = w.acquire(*locks, "report", {.group = "reports"});
    w.release(won.held);
    auto const s = locks->stats();
    exposition const e(prometheus_text(s));
    BOOST_TEST(e.samples.size() == 186u + 29u * s.nodes.size() + 152u);
    BOOST_TEST(e.value("redlock_released_total", "{group=\"reports\"}") == "1");
    BOOST_TEST(e.value("redlock_released_total") == std::to_string(without));
    BOOST_TEST(e.value("redlock_acquisitions_total", "{outcome=\"acquired\",group=\"reports\"}") == "1");
    BOOST_TEST(e.value("redlock_hold_seconds_bucket", "{group=\"reports\",le=\"+Inf\"}") == "1");
    BOOST_TEST(e.value("redlock_rounds_total") == std::to_string(s.rounds));
}

BOOST_FIXTURE_TEST_CASE(prometheus_text_as_openmetrics_names_families_without_total, busy)
{
    auto const text = prometheus_text(locks->stats(), metrics_format::openmetrics);
    BOOST_TEST(text.ends_with("# EOF\n"));
    exposition const e(text);
    BOOST_TEST(e.types.at("redlock_lost") == "counter");
    BOOST_TEST(!e.types.contains("redlock_lost_total"));
    BOOST_TEST(text.find("# UNIT redlock_wait_seconds seconds\n") != text.npos);
    BOOST_TEST((metrics_format_for("application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
                == metrics_format::openmetrics));
    BOOST_TEST((metrics_format_for("*/*") == metrics_format::prometheus));
    BOOST_TEST(std::string(content_type(metrics_format::openmetrics)).starts_with("application/openmetrics-text;"));
}

// Dashboards depend on these names.
BOOST_FIXTURE_TEST_CASE(prometheus_text_has_the_names_that_metrics_md_lists, busy)
{
    auto const document = from_file(REDLOCK_SOURCE "/docs/metrics.md");
    std::set<std::string> told, listed;
    for (auto const& [family, type] : exposition(prometheus_text(locks->stats())).types)
        told.insert(family + " | " + type);
    std::regex const row(R"(\| `(redlock_[a-z_]+)(\{[^`]*\})?` \| ([a-z]+) \|)");
    for (std::sregex_iterator i(document.begin(), document.end(), row), end; i != end; ++i)
        if (!(*i)[1].str().starts_with("redlock_service_"))  // `redlock serve` adds these
            listed.insert((*i)[1].str() + " | " + (*i)[3].str());
    BOOST_TEST(told == listed, boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(prometheus_text_passes_promtool_check_metrics, busy)
{
    if (testbed::process({"promtool", "--version"}, {.output = "/dev/null"}).wait().code() == 127) {
        BOOST_TEST_MESSAGE("skipped: there is no promtool here (Debian's package prometheus)");
        return;
    }
    testbed::temporary_folder const folder;
    auto const file = folder.path + "/metrics";
    std::ofstream(file) << prometheus_text(locks->stats());
    testbed::process check({"sh", "-c", "exec promtool check metrics <\"$0\" 2>&1", file}, {.piped = true});
    auto const said = check.read();
    BOOST_TEST(check.wait().code() == 0, said);
    BOOST_TEST(said == "");
}

BOOST_AUTO_TEST_SUITE_END()
