// redlock serve: its log on standard error, and its own metrics.

#include "cli/event_reader.hpp"
#include "cli/running_service.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <chrono>
#include <csignal>
#include <regex>
#include <set>
#include <string>
#include <thread>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(serve_log)

namespace {

using namespace std::chrono_literals;

std::string const jobs = "jobs-token-0123456789", admin = "admin-token-0123456789";

http_headers with(std::string const& token) { return {{"Authorization", "Bearer " + token}}; }

struct service_with_names {
    testbed::temporary_folder folder;
    std::string const file = [this] {
        write_secret(folder.path + "/tokens",
                     "# tokens\n" + jobs + " * lock,read\n" + admin + " * read,break operators\n");
        return folder.path + "/tokens";
    }();
    real_servers r{3};
    service s{r, {"--token-file", file, "--max-locks", "1"}};
};

double sample(std::string const& metrics, std::string const& name)
{
    auto const at = metrics.find('\n' + name + ' ');
    BOOST_TEST_REQUIRE(at != metrics.npos, name << "\n" << metrics);
    return std::stod(metrics.substr(at + name.size() + 2));
}

// How many refusals the lines tell: one each, or a number of further ones.
std::size_t refusals_in(std::string const& text, std::string const& status)
{
    std::regex const line("redlock serve: refused with " + status + ": (\\d+ more in the last second)?");
    std::size_t count = 0;
    for (std::sregex_iterator l(text.begin(), text.end(), line), end; l != end; ++l)
        count += (*l)[1].length() > 0 ? std::stoul((*l)[1].str()) : 1;
    return count;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(break_is_logged_with_the_name_of_the_token, service_with_names)
{
    auto const body = R"({"resources":["x\"\n"],"ttl_ms":60000,"wait_ms":9000,"note":"nightly \"report"})";
    auto const won = s.acquire(body, with(jobs));
    BOOST_TEST_REQUIRE(won.status == 201u, won.body);
    auto const etag = s.ask(verb::get, "/v1/locks/x%22%0a", "", with(admin)).etag;
    http_headers const condition{{"Authorization", "Bearer " + admin}, {"If-Match", etag}};
    BOOST_TEST(s.ask(verb::post, "/v1/locks/x%22%0a/break", "", condition).status == 200u);

    BOOST_TEST(s.tool().complains("redlock serve: token \"operators\" from 127.0.0.1:"), s.tool().err());
    BOOST_TEST(has(s.tool().err(), R"( broke the lock "x\"\x0a" of ")"), s.tool().err());
    BOOST_TEST(has(s.tool().err(), R"(, note "nightly \"report": deleted on 3 of 3 nodes)"
                                   "\n"),
               s.tool().err());
    BOOST_TEST(!has(s.tool().err(), admin), s.tool().err());
    BOOST_TEST(!has(s.tool().err(), won.text("id")), s.tool().err());
}

BOOST_FIXTURE_TEST_CASE(refusals_are_logged_with_the_client_and_the_reason, service_with_names)
{
    BOOST_TEST(s.ask(verb::get, "/v1/locks", "", with("unknown-0123456789")).status == 401u);
    BOOST_TEST(s.tool().complains("refused with 401: unknown token from 127.0.0.1:"), s.tool().err());
    BOOST_TEST(s.ask(verb::post, "/v1/locks/x%0a/break", "", with(jobs)).status == 403u);
    BOOST_TEST(s.tool().complains("refused with 403: token on line 2 from 127.0.0.1:"), s.tool().err());
    BOOST_TEST(has(s.tool().err(), R"(: "The bearer token does not permit to break \"x\x0a\".")"), s.tool().err());
    auto const body = R"({"resources":["a"],"ttl_ms":60000,"wait_ms":9000})";
    BOOST_TEST(s.acquire(body, with(jobs)).status == 201u);
    BOOST_TEST(s.acquire(body, with(jobs)).status == 429u);
    BOOST_TEST(s.tool().complains("refused with 429: token on line 2 from 127.0.0.1:"), s.tool().err());
    BOOST_TEST(has(s.tool().err(), "raise --max-locks"), s.tool().err());
    for (auto const& token : {jobs, std::string("unknown-0123456789")})
        BOOST_TEST(!has(s.tool().err(), token), s.tool().err());
}

BOOST_FIXTURE_TEST_CASE(refusals_are_logged_without_ids_and_tokens, service_with_names)
{
    auto const won = s.acquire(R"({"resources":["x"],"ttl_ms":60000,"wait_ms":9000})", with(jobs));
    for (auto const& secret : {won.text("id"), jobs}) {
        for (int i = 0; i < 2; ++i)
            BOOST_TEST(s.ask(verb::post, "/v1/locks/" + secret + "/break", "", with(jobs)).status == 403u);
        BOOST_TEST(s.acquire("{\"resources\":\"" + secret + "\"}", with(admin)).status == 403u);
        BOOST_TEST(comes_true([&] { return has(s.tool().err(), "more in the last second"); }), s.tool().err());
        BOOST_TEST(!has(s.tool().err(), secret), s.tool().err());
    }
}

BOOST_FIXTURE_TEST_CASE(refusals_in_great_number_have_one_line_a_second, service_with_names)
{
    auto const begun = std::chrono::steady_clock::now();
    for (int i = 0; i < 200; ++i)
        BOOST_TEST(s.ask(verb::get, "/v1/locks").status == 401u);
    BOOST_TEST(comes_true([&] { return refusals_in(s.tool().err(), "401") == 200; }), s.tool().err());
    auto const seconds = std::chrono::ceil<std::chrono::seconds>(std::chrono::steady_clock::now() - begun).count();
    BOOST_TEST(count_of(s.tool().err(), "refused with 401: ") <= static_cast<std::size_t>(seconds) + 1u,
               s.tool().err());
    BOOST_TEST(has(s.tool().err(), " more in the last second, the last of client without a token from 127.0.0.1:"),
               s.tool().err());
}

BOOST_AUTO_TEST_CASE(refusals_over_a_unix_socket_are_logged_with_the_user)
{
    real_servers r(1);
    testbed::temporary_folder folder;
    service s(r, {}, "unix:" + folder.path + "/socket");
    BOOST_TEST(s.ask(verb::get, "/v1/locks", "", {{"Origin", "http://example.com"}}).status == 403u);
    BOOST_TEST(s.tool().complains(fmt::format("refused with 403: client from uid {}: ", ::getuid())), s.tool().err());
}

// Dashboards depend on these names.
BOOST_AUTO_TEST_CASE(metrics_of_the_service_have_the_names_that_metrics_md_lists)
{
    real_servers r(1);
    service const s(r);
    auto const names_in = [](std::string const& text, char const* pattern) {
        std::set<std::string> all;
        std::regex const row(pattern);
        for (std::sregex_iterator i(text.begin(), text.end(), row), end; i != end; ++i)
            all.insert((*i)[1].str() + " | " + (*i)[2].str());
        return all;
    };
    auto const told = names_in(s.ask(verb::get, "/metrics").body, "# TYPE (redlock_service_[a-z_]+) ([a-z]+)\n");
    auto const listed = names_in(text_of(REDLOCK_SOURCE "/docs/metrics.md"),
                                 R"(\| `(redlock_service_[a-z_]+)(?:\{[^`]*\})?` \| ([a-z]+) \|)");
    BOOST_TEST(told == listed, boost::test_tools::per_element());
    BOOST_TEST(told.size() == 5u);
}

BOOST_AUTO_TEST_CASE(metrics_of_the_service_count_requests_sessions_and_waits)
{
    real_servers r(1);
    service const s(r, {"--threads", "2"});
    auto const metrics = [&] { return s.ask(verb::get, "/metrics").body; };
    auto const before = metrics();
    BOOST_TEST(sample(before, R"(redlock_service_requests_total{status="404"})") == 0);
    BOOST_TEST(sample(before, "redlock_service_sessions") == 0);
    BOOST_TEST(sample(before, "redlock_service_waiting") == 0);

    BOOST_TEST(s.ask(verb::get, "/v1/sessions/0").status == 404u);
    auto raw = s.connect();
    raw.send_bytes("no request\r\n\r\n");
    BOOST_TEST(raw.receive().status == 400u);
    auto const won = s.acquire(R"({"resources":["a"],"ttl_ms":60000,"wait_ms":9000})");
    event_reader const stream(s);
    auto idle = s.connect(), waits = s.connect();
    BOOST_TEST(idle.ask(verb::get, "/healthz").status == 200u);
    waits.send(verb::post, "/v1/locks", R"({"resources":["a","b"],"ttl_ms":60000,"wait_ms":60000})");

    BOOST_TEST(comes_true([&] { return sample(metrics(), "redlock_service_waiting") == 1; }));
    auto const now = metrics();
    BOOST_TEST(sample(now, "redlock_service_sessions") == 1);
    BOOST_TEST(sample(now, "redlock_service_connections") >= 4);  // also the one that asks
    BOOST_TEST(sample(now, R"(redlock_service_requests_total{status="404"})") == 1);
    BOOST_TEST(sample(now, R"(redlock_service_requests_total{status="400"})") == 1);
    BOOST_TEST(sample(now, R"(redlock_service_requests_total{status="201"})") == 1);
    BOOST_TEST(s.ask(verb::delete_, "/v1/held/" + won.text("id")).status == 204u);
    BOOST_TEST(waits.receive().status == 201u);
    BOOST_TEST(sample(metrics(), "redlock_service_waiting") == 0);
}

BOOST_AUTO_TEST_CASE(metrics_of_the_service_show_a_pause_as_lag)
{
    real_servers r(1);
    service s(r);
    auto const metrics = [&] { return s.ask(verb::get, "/metrics").body; };
    auto const longer = [&] {
        auto const now = metrics();
        return sample(now, "redlock_service_lag_seconds_count")
               - sample(now, R"(redlock_service_lag_seconds_bucket{le="0.5"})");
    };
    BOOST_TEST(comes_true([&] { return sample(metrics(), "redlock_service_lag_seconds_count") > 2; }));
    auto const before = longer();
    s.tool().process().pause();
    std::this_thread::sleep_for(700ms);  // the timer is due after 100 ms at most
    s.tool().process().resume();
    BOOST_TEST(comes_true([&] { return longer() > before; }));
}

BOOST_AUTO_TEST_SUITE_END()
