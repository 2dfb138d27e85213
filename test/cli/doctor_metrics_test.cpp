// The metrics of redlock doctor.

#include "tools/redlock/doctor/checks.hpp"
#include "tools/redlock/doctor/metrics.hpp"
#include "cli/doctor_report.hpp"
#include "cli/made_up_nodes.hpp"
#include "support/fake_server.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <thread>

BOOST_AUTO_TEST_SUITE(doctor_metrics)

namespace {

using namespace redlock::test;
using namespace redlock::test::made_up;
using redlock::cli::doctor::checks_about;
using redlock::cli::doctor::diagnose;

constexpr auto ended = today + std::chrono::seconds(7);

// Parses series and their values. The test fails if a line has the wrong form, or a series occurs twice.
class series {
public:
    explicit series(std::string const& text)
    {
        static std::regex const comment("# (HELP|TYPE) ([a-z0-9_]+) (.+)"),
            line(R"re(([a-z0-9_]+)(\{([a-z]+="([^"\\]|\\["\\n])*",?)+\})? ([^ ]+))re");
        std::istringstream in(text);
        for (std::string l; std::getline(in, l);) {
            std::smatch m;
            if (std::regex_match(l, m, comment))
                names_.insert(m[2]);
            else if (std::regex_match(l, m, line))
                BOOST_TEST(values_.emplace(m[1].str() + m[2].str(), m[5]).second, "twice: " << l);
            else
                BOOST_ERROR("not in the form: " << l);
        }
    }

    std::string operator[](std::string const& name) const
    {
        auto const found = values_.find("redlock_doctor_" + name);
        return found == values_.end() ? "none" : found->second;
    }

    std::string check(std::string_view what, std::string_view node = {}) const
    {
        return (*this)[fmt::format(R"(check{{check="{}",node="{}"}})", what, node)];
    }

    std::string of(std::string_view name, std::string_view node) const
    {
        return (*this)[fmt::format(R"({}{{node="{}"}})", name, node)];
    }

    std::set<std::string> const& names() const { return names_; }

    // The series of checks, without their values.
    std::set<std::string> checks() const
    {
        std::set<std::string> all;
        for (auto const& [name, value] : values_) {
            if (name.starts_with("redlock_doctor_check{"))
                all.insert(name);
        }
        return all;
    }

private:
    std::set<std::string> names_;
    std::map<std::string, std::string> values_;
};

std::string document_of(std::vector<node_facts> const& nodes, std::vector<std::string> const& skipped = {})
{
    return redlock::cli::doctor::to_prometheus(diagnose(nodes, usual(), skipped), nodes,
                                               {.skipped = skipped, .ended = ended});
}

series series_of(std::vector<node_facts> const& nodes, std::vector<std::string> const& skipped = {})
{
    return series(document_of(nodes, skipped));
}

node_facts silent(int number)
{
    auto const was = healthy(number);
    return {.name = was.name, .place = was.place, .hello = silence("Connection refused")};
}

node_facts with_tls(int number)
{
    auto f = healthy(number);
    f.certificate = redlock::cli::server_certificate{.begins = today, .ends = today + std::chrono::days(90)};
    return f;
}

std::string const first = healthy(1).name, second = healthy(2).name;

tool_run tell_prometheus(std::vector<std::string> const& urls, std::vector<std::string> const& options = {})
{
    std::vector<std::string> arguments{"doctor", "-o", "prometheus", "--connect-timeout", "300ms"};
    for (auto const& url : urls)
        arguments.insert(arguments.end(), {"-u", url});
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run_tool(std::move(arguments));
}

// A server that is no lock server: it answers in HTTP.
class foreign_server {
public:
    ~foreign_server()
    {
        context_.stop();
        thread_.join();
    }

    std::string url() const { return server_.url(); }

private:
    boost::asio::io_context context_;
    fake_server server_{context_, [](std::string_view) { return "HTTP/1.1 400 Bad Request\r\n\r\n"; }};
    std::thread thread_{[this] { context_.run(); }};
};

void promtool_must_accept(std::string const& text)
{
    redlock::testbed::temporary_folder const folder;
    auto const file = folder.path + "/metrics";
    std::ofstream(file) << text;
    redlock::testbed::process check({"sh", "-c", "exec promtool check metrics <\"$0\" 2>&1", file}, {.piped = true});
    auto const said = check.read();
    BOOST_TEST(check.wait().code() == 0, said);
    BOOST_TEST(said == "");
}

// The first code block of docs/cli.md that contains @p words.
std::string documented(std::string const& words)
{
    auto const text = text_of(REDLOCK_SOURCE "/docs/cli.md");
    auto const middle = text.find(words);
    BOOST_TEST_REQUIRE(middle != text.npos);
    auto const begin = text.find('\n', text.rfind("```sh", middle)) + 1;
    return text.substr(begin, text.find("```", begin) - begin);
}

}  // namespace

BOOST_AUTO_TEST_CASE(metrics_of_a_healthy_set_have_each_check_with_zero)
{
    auto const told = series_of(healthy_set());

    BOOST_TEST(told["status"] == "0");
    BOOST_TEST(told["timestamp_seconds"] == std::to_string(ended.time_since_epoch().count()));
    for (auto const& f : healthy_set()) {
        for (auto const check : checks_about(f))
            BOOST_TEST(told.check(check, f.name) == "0", check << " of " << f.name);
    }
    for (auto const* const check :
         {"nodes", "same-server", "same-host", "same-settings", "same-database", "restart-guard", "votes", "deadlock"})
        BOOST_TEST(told.check(check) == "0", check);
    BOOST_TEST(told.checks().size() == 3 * checks_about(healthy()).size() + 8);
    BOOST_TEST(told.check("certificate", first) == "none");  // the address has no TLS
    BOOST_TEST(told.check("settings", first) == "none");     // only other stores have this check
}

BOOST_AUTO_TEST_CASE(metrics_have_the_numbers_of_each_node)
{
    auto nodes = healthy_set();
    nodes[0].round_trips = {100us, 200us, 300us};
    nodes[0].last_time->theirs -= 1500ms;
    nodes[0].keys.found = 7;
    nodes[0].keys.counters = 2;
    nodes[1].vote.quarantine = 2500ms;
    nodes[2].vote.is_connected = false;

    auto const told = series_of(nodes);

    BOOST_TEST(told["votes"] == "1");
    BOOST_TEST(told["votes_needed"] == "2");
    BOOST_TEST(told.of("node_votes", first) == "1");
    BOOST_TEST(told.of("node_votes", second) == "0");
    BOOST_TEST(told.of("quarantine_seconds", first) == "0");
    BOOST_TEST(told.of("quarantine_seconds", second) == "2.5");
    BOOST_TEST(told.of("quarantine_seconds", nodes[2].name) == "none");
    BOOST_TEST(told.of("round_trip_p50_seconds", first) == "2e-04");
    BOOST_TEST(told.of("round_trip_p99_seconds", first) == "3e-04");
    BOOST_TEST(told.of("clock_offset_seconds", first) == "-1.5");
    BOOST_TEST(told.of("keys", first) == "7");
    BOOST_TEST(told.of("fencing_counters", first) == "2");
}

BOOST_AUTO_TEST_CASE(metrics_of_a_server_with_tls_have_its_certificate)
{
    auto const end = (today + std::chrono::days(90)).time_since_epoch() / std::chrono::seconds(1);
    auto const told = series_of({with_tls(1), healthy(2), healthy(3)});

    BOOST_TEST(told.check("certificate", first) == "0");
    BOOST_TEST(told.check("certificate", second) == "none");
    BOOST_TEST(told.of("certificate_end_timestamp_seconds", first) == std::to_string(end));
    BOOST_TEST(told.of("certificate_end_timestamp_seconds", second) == "none");
}

BOOST_AUTO_TEST_CASE(metrics_of_a_silent_server_have_the_same_checks)
{
    auto const told = series_of({silent(1), healthy(2), healthy(3)});

    BOOST_TEST(told.checks() == series_of(healthy_set()).checks(), boost::test_tools::per_element());
    BOOST_TEST(told["status"] == "2");
    BOOST_TEST(told.check("reachable", first) == "2");
    BOOST_TEST(told.check("eviction", first) == "3");
    BOOST_TEST(told.check("eviction", second) == "0");
    BOOST_TEST(told.of("node_votes", first) == "0");
    for (auto const* const name : {"keys", "fencing_counters", "round_trip_p50_seconds", "clock_offset_seconds"})
        BOOST_TEST(told.of(name, first) == "none", name);
}

BOOST_AUTO_TEST_CASE(metrics_of_a_skipped_check_are_left_out)
{
    auto const told = series_of({silent(1), healthy(2), healthy(3)}, {"clock", "votes", "eviction"});

    BOOST_TEST(told.check("clock", second) == "none");
    BOOST_TEST(told.of("clock_offset_seconds", second) == "none");
    BOOST_TEST(told.check("eviction", first) == "none");
    for (auto const* const name : {"redlock_doctor_votes", "redlock_doctor_votes_needed", "redlock_doctor_node_votes"})
        BOOST_TEST(!told.names().contains(name), name);
}

BOOST_AUTO_TEST_CASE(metrics_of_two_findings_of_a_check_have_the_worst_level)
{
    auto nodes = healthy_set();
    nodes[0].keys.endless.add({.name = "lock:a", .type = "string"});
    nodes[0].keys.foreign.add({.name = "lock:b", .type = "list"});
    nodes[1].name = first;  // two URLs with different passwords have the same name
    nodes[1].keys.refusal = error("NOPERM");

    auto const told = series_of(nodes);

    BOOST_TEST(told.check("keys", first) == "1");
    BOOST_TEST(told.check("keys", second) == "none");
}

BOOST_AUTO_TEST_CASE(metrics_escape_the_names_of_nodes)
{
    auto nodes = healthy_set();
    nodes[0].name = "memory://a\"b\\c\nd\xff";
    BOOST_TEST(series_of(nodes).check("reachable", "memory://a\\\"b\\\\c\\nd\xef\xbf\xbd") == "0");
}

BOOST_AUTO_TEST_CASE(metrics_are_all_listed_in_the_document)
{
    auto const document = text_of(REDLOCK_SOURCE "/docs/cli.md");
    std::set<std::string> listed;
    std::regex const row(R"(\n\| `(redlock_doctor_[a-z0-9_]+)(\{[^`]*\})?` \|)");
    for (std::sregex_iterator i(document.begin(), document.end(), row), end; i != end; ++i)
        listed.insert((*i)[1]);
    BOOST_TEST(series_of({with_tls(1), healthy(2), healthy(3)}).names() == listed, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(doctor_for_prometheus_satisfies_promtool_and_keeps_its_status)
{
    if (redlock::testbed::process({"promtool", "--version"}, {.output = "/dev/null"}).wait().code() == 127) {
        BOOST_TEST_MESSAGE("skipped: there is no promtool here (Debian's package prometheus)");
        return;
    }
    promtool_must_accept(document_of({with_tls(1), healthy(2), silent(3)}));

    real_servers r(3);
    foreign_server const foreign;
    std::vector<std::string> const urls{r[0].url(), r[1].url(), r[2].url()};
    auto const all = tell_prometheus(urls);
    BOOST_TEST(all.status == 1, all.out);
    BOOST_TEST(all.err == "");
    promtool_must_accept(all.out);

    r[0].kill();
    auto const one_down = tell_prometheus({urls[0], urls[1], urls[2], foreign.url()}, {"--restart-guard", "off"});
    BOOST_TEST(one_down.status == 2, one_down.out);
    BOOST_TEST(series(one_down.out)["votes"] == "2", one_down.out);
    promtool_must_accept(one_down.out);

    r[1].kill();
    r[2].kill();
    auto const down = tell_prometheus(urls);
    BOOST_TEST(down.status == 2, down.out);
    BOOST_TEST(series(down.out).checks() == series(all.out).checks(), boost::test_tools::per_element());
    promtool_must_accept(down.out);
}

BOOST_AUTO_TEST_CASE(doctor_for_prometheus_never_shows_a_password)
{
    local_server guarded({"--requirepass", "correct-horse"});
    auto const at = "@127.0.0.1:" + std::to_string(guarded.port());

    auto const right = tell_prometheus({"redis://:correct-horse" + at});
    BOOST_TEST(series(right.out).check("login", guarded.url()) == "0", right.out);
    BOOST_TEST(!has(right.out + right.err, "horse"));

    auto const wrong = tell_prometheus({"redis://:battery-staple" + at});
    BOOST_TEST(series(wrong.out).check("login", guarded.url()) == "2", wrong.out);
    BOOST_TEST(!has(wrong.out + wrong.err, "battery"));
}

BOOST_AUTO_TEST_CASE(doctor_for_prometheus_with_quiet_has_all_series)
{
    auto const usually = tell_prometheus({"memory://a"});
    BOOST_TEST(series(usually.out).check("reachable", "memory://a") == "0");
    BOOST_TEST(series(tell_prometheus({"memory://a"}, {"-q"}).out).checks() == series(usually.out).checks(),
               boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(doctor_for_prometheus_that_cannot_write_ends_with_125)
{
    auto const full =
        started_tool({"-u", "memory://a", "doctor", "-o", "prometheus"}, without_nodes(), ">/dev/full").wait();
    must_say(full, 125, "could not be written");
}

BOOST_AUTO_TEST_CASE(doctor_for_prometheus_with_watch_is_refused)
{
    must_say(tell_prometheus({"memory://a"}, {"--watch", "1s"}), 64, "--watch is not possible");
}

BOOST_AUTO_TEST_CASE(doctor_for_prometheus_with_labels_has_them_on_all_series)
{
    auto const told = tell_prometheus({"memory://a"}, {"--label", "set=a \"b\",c=d", "--label", "team=x"});
    BOOST_TEST(count_of(told.out, R"({set="a \"b\",c=d",team="x")") == count_of(told.out, "\nredlock_"), told.out);
    BOOST_TEST(has(told.out, R"(redlock_doctor_status{set="a \"b\",c=d",team="x"} 1)"), told.out);
}

BOOST_AUTO_TEST_CASE(doctor_label_that_is_invalid_is_refused)
{
    for (std::string const label :
         {"set", "set=", "=a", "1a=b", "a-b=c", "__a=b", "node=a", "check=a", "le=1", "quantile=1"})
        must_say(tell_prometheus({"memory://a"}, {"--label", label}), 64, "--label is \"" + label + "\", but must be");
    must_say(tell_prometheus({"memory://a"}, {"--label", "a=1", "--label", "a=2"}), 64, "two labels a");
    must_say(run_tool({"-u", "memory://a", "doctor", "--label", "a=1"}), 64, "--label is for -o prometheus");
}

BOOST_AUTO_TEST_CASE(output_prometheus_for_another_command_is_refused)
{
    must_say(run_tool({"-u", "memory://a", "status", "x", "-o", "prometheus"}), 64,
             "prometheus not in {table,json,jsonl}; redlock doctor has it");
    BOOST_TEST(run_tool({"-o", "prometheus", "-u", "memory://a", "list"}).status == 64);
    BOOST_TEST(run_tool({"-o", "prometheus", "-u", "memory://a", "doctor"}).status == 1);
}

BOOST_AUTO_TEST_CASE(output_from_the_environment_or_a_file_applies_to_doctor)
{
    redlock::testbed::temporary_folder const folder;
    auto const file = folder.path + "/settings";
    std::ofstream(file) << "output = prometheus\nurl = memory://a\n";
    auto const in = [](std::string const& variable, std::vector<std::string> const& words) {
        auto environment = without_nodes();
        std::erase(environment, variable.substr(0, variable.find('=') + 1));
        environment.push_back(variable);
        return started_tool(words, environment).wait();
    };
    must_show(in("REDLOCK_CONFIG=" + file, {"doctor"}), 1, "redlock_doctor_status 1");
    must_show(in("REDLOCK_OUTPUT=json", {"-u", "memory://a", "doctor"}), 1, "{\"schema\":1");
    must_say(in("REDLOCK_OUTPUT=prometheus", {"-u", "memory://a", "list"}), 78, "it is set in $REDLOCK_OUTPUT");
}

BOOST_AUTO_TEST_CASE(node_exporter_script_of_the_document_writes_the_metrics)
{
    redlock::testbed::temporary_folder const folder;
    auto script = documented("doctor -o prometheus");
    std::string const place = "/var/lib/prometheus/node-exporter";
    BOOST_TEST_REQUIRE(has(script, place));
    script.replace(script.find(place), place.size(), folder.path + "/collected");
    std::ofstream(folder.path + "/script") << script;
    auto const run = [&](std::string const& url) {
        return std::system(fmt::format("mkdir -p {0}/collected {0}/bin && ln -sf {1} {0}/bin/redlock && "
                                       "PATH={0}/bin:$PATH REDLOCK_URLS={2} sh {0}/script 2>{0}/err",
                                       folder.path, REDLOCK_TOOL, url)
                               .c_str());
    };
    auto const collected = folder.path + "/collected/redlock.prom";

    BOOST_TEST(run("memory://a") == 0);
    auto const text = text_of(collected);
    BOOST_TEST(series(text)["status"] == "1", text);

    BOOST_TEST(run("nowhere://") != 0);
    BOOST_TEST(text_of(collected) == text);
    BOOST_TEST(std::system(fmt::format("test \"$(ls {0}/collected)\" = redlock.prom", folder.path).c_str()) == 0);
}

BOOST_AUTO_TEST_SUITE_END()
