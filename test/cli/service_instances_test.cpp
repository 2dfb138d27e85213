// redlock -u http://… -u http://…: which instance gets a request, and what happens if its answer is lost.

#include "cli/made_up_service.hpp"
#include "cli/service_runs.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(service_instances)

namespace {

using urls = std::vector<std::string>;
using words = std::vector<std::string>;
using request = made_up_service::request;
using std::nullopt;

bool acquires(request const& r) { return r.method() == verb::post && r.target() == "/v1/locks"; }

/// A request with a key of its own and without a body: it asks whether the key has a lock.
bool asks_about_key(request const& r) { return acquires(r) && r.body().empty(); }

/// The keys of all acquisitions.
std::vector<std::string> keys_of(made_up_service const& s)
{
    std::vector<std::string> all;
    for (auto const& r : s.requests()) {
        if (acquires(r))
            all.emplace_back(r["Idempotency-Key"]);
    }
    return all;
}

/// A service with one real instance, and room for one that a test makes up.
struct one_instance {
    real_servers r{1};
    service real{r};

    bool is_held(std::string const& name) const
    {
        return real.ask(verb::get, "/v1/locks/" + name).json().at("locked").as_bool();
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(commands_ask_another_instance_if_one_stands_still, one_instance)
{
    made_up_service const still([](request const&) { return nullopt; });
    urls const both{still.url(), real.url()};
    must_print(over(both, {"run", "-n", "x", "echo", "ran"}), 0, "ran\n");
    must_print(over(both, {"run", "-w", "2s", "x", "echo", "ran"}), 0, "ran\n");
    must_print(over(both, {"run", "x", "echo", "ran"}), 0, "ran\n");
    BOOST_TEST(over(both, {"status", "x"}).status == 1);
    must_show(over(both, {"list"}), 0, "KEY");
    BOOST_TEST(over(both, {"break", "x", "--force", "--yes"}).status == 1);
    auto const asked = still.requests();
    BOOST_TEST(asked.size() >= 1u);
    BOOST_TEST(std::ranges::all_of(asked, asks_for_health));
}

BOOST_AUTO_TEST_CASE(commands_name_instances_that_stand_still)
{
    made_up_service const one([](request const&) { return nullopt; }), two([](request const&) { return nullopt; });
    for (words const& command : {words{"run", "-n", "x", "true"}, words{"run", "-w", "1s", "x", "true"},
                                 words{"status", "x"}, words{"list"}}) {
        auto const e = start_over({one.url(), two.url()}, command, "300ms").wait();
        must_say(e, 69, "no service answers: ", one.url() + ": no answer within 300 ms",
                 two.url() + ": no answer within 300 ms");
    }
    BOOST_TEST(one.count(verb::post, "/") == 0);
}

BOOST_AUTO_TEST_CASE(status_leaves_an_instance_that_stands_still_after_a_look)
{
    std::atomic<bool> is_still = false;
    made_up_service const stops([&](request const& q) {
        is_still = is_still || !asks_for_health(q);
        return is_still ? nullopt : std::optional(healthy());
    });
    must_say(start_over({stops.url()}, {"status", "x"}, "2s").wait(), 69, stops.url() + ": it stands still");
}

BOOST_FIXTURE_TEST_CASE(commands_find_an_instance_by_its_name, one_instance)
{
    auto const port = real.url().substr(real.url().rfind(':'));
    auto const named = "http://localhost" + port, unknown = "http://nobody.invalid" + port;
    must_print(over({named}, {"run", "-n", "x", "echo", "ran"}), 0, "ran\n");
    must_print(over({unknown, named}, {"run", "-n", "x", "echo", "ran"}), 0, "ran\n");
    must_say(start_over({unknown}, {"run", "x", "true"}, "2s").wait(), 69, "no service answers: " + unknown + ": ");
}

BOOST_FIXTURE_TEST_CASE(run_prefers_an_instance_that_reaches_its_nodes, one_instance)
{
    made_up_service const cut_off([](request const& q) {
        return asks_for_health(q)
                   ? answer_of("503 Service Unavailable", R"({"nodes":1,"connected":0,"voting":0,"stopping":false})")
                   : answer_of("503 Service Unavailable", R"({"type":"urn:redlock:unavailable","detail":"no"})");
    });
    must_print(over({cut_off.url(), real.url()}, {"run", "-n", "x", "echo", "ran"}), 0, "ran\n");
    BOOST_TEST(cut_off.count(verb::post, "/") == 0);
    must_say(over({cut_off.url()}, {"run", "-n", "x", "true"}), 69, cut_off.url() + ": no (503)");
}

BOOST_FIXTURE_TEST_CASE(run_leaves_an_instance_that_lost_its_nodes, one_instance)
{
    std::atomic<bool> is_cut_off = false;
    made_up_service const first([&](request const& q) {
        is_cut_off = is_cut_off || acquires(q);
        auto const unavailable = answer_of("503 Service Unavailable", R"({"type":"urn:redlock:unavailable"})");
        return is_cut_off ? unavailable : healthy();
    });
    made_up_service const later(
        [&](request const& q) { return is_cut_off ? std::optional(passed_on(q, real)) : nullopt; });
    must_print(over({first.url(), later.url()}, {"run", "-w", "50s", "x", "echo", "ran"}), 0, "ran\n");
}

BOOST_FIXTURE_TEST_CASE(run_waits_at_another_instance_if_its_own_stands_still, one_instance)
{
    std::atomic<bool> is_still = false;
    made_up_service const stops([&](request const& q) {
        is_still = is_still || !asks_for_health(q);
        return is_still ? nullopt : std::optional(healthy());
    });
    made_up_service const later(
        [&](request const& q) { return is_still ? std::optional(passed_on(q, real)) : nullopt; });
    auto waits = start_over({stops.url(), later.url()}, {"run", "x", "echo", "mine"}, "2s");
    BOOST_TEST(waits.says("mine\n"), waits.err());
    BOOST_TEST(waits.wait().status == 0);
}

BOOST_FIXTURE_TEST_CASE(run_keeps_its_place_if_no_instance_answers_meanwhile, one_instance)
{
    std::atomic<int> acquisitions = 0, looks = 0;
    made_up_service const busy([&](request const& q) -> std::optional<std::string> {
        if (asks_for_health(q)) {
            looks += acquisitions > 0;
            return acquisitions > 0 ? nullopt : std::optional(healthy());
        }
        if (acquires(q) && ++acquisitions == 1 && !comes_true([&] { return looks >= 2; }))
            return nullopt;
        return passed_on(q, real);
    });
    testbed::temporary_folder folder;
    must_print(
        start_over({busy.url(), "unix:" + folder.path + "/nobody"}, {"run", "x", "echo", "mine"}, "300ms").wait(), 0,
        "mine\n");
    BOOST_TEST(acquisitions == 1);
}

BOOST_FIXTURE_TEST_CASE(run_gets_its_lock_by_a_repeated_request_if_the_answer_is_lost, one_instance)
{
    std::atomic<int> acquisitions = 0;
    made_up_service const loses([&](request const& q) {
        auto answer = passed_on(q, real);
        return acquires(q) && !asks_about_key(q) && ++acquisitions == 1 ? std::string() : answer;
    });
    auto const e = over({loses.url()}, {"run", "-n", "--ttl", "60s", "x", "-c", "echo \"$REDLOCK_TOKEN\""});
    BOOST_TEST(e.status == 0, e.err);
    auto const keys = keys_of(loses);
    BOOST_TEST_REQUIRE(keys.size() >= 2u);
    BOOST_TEST(keys[0].size() == 32u);
    BOOST_TEST(std::ranges::count(keys, keys[0]) == static_cast<std::ptrdiff_t>(keys.size()));
    BOOST_TEST(acquisitions == 2);
    BOOST_TEST(!is_held("x"));
}

// The wait of the first request is over for the user, too.
BOOST_FIXTURE_TEST_CASE(run_waits_no_second_time_if_the_answer_is_lost, one_instance)
{
    auto const won = real.acquire(R"({"resources":["x"],"ttl_ms":60000,"wait_ms":9000})");
    made_up_service const loses([&](request const& q) {
        auto answer = passed_on(q, real);
        return acquires(q) && !asks_about_key(q) ? std::string() : answer;
    });
    BOOST_TEST(over({loses.url()}, {"run", "-w", "100ms", "x", "true"}).status == 69);
    auto const asked = loses.requests();
    BOOST_TEST(std::ranges::count_if(asked, [](auto const& q) { return acquires(q) && !asks_about_key(q); }) == 1);
    BOOST_TEST(std::ranges::count_if(asked, asks_about_key) == 1);
}

BOOST_FIXTURE_TEST_CASE(run_uses_a_new_key_for_each_acquisition, one_instance)
{
    made_up_service const between([&](request const& q) { return passed_on(q, real); });
    for (int i = 0; i < 2; ++i)
        BOOST_TEST(over({between.url()}, {"run", "-n", "x", "true"}).status == 0);
    auto const keys = keys_of(between);
    BOOST_TEST_REQUIRE(keys.size() == 2u);
    BOOST_TEST(keys[0] != keys[1]);
}

// The service has acquired the lock, but its answer does not arrive.
BOOST_FIXTURE_TEST_CASE(run_that_is_ended_while_it_waits_leaves_no_lock, one_instance)
{
    std::atomic<int> acquisitions = 0;
    made_up_service const slow([&](request const& q) {
        auto answer = passed_on(q, real);
        return acquires(q) && ++acquisitions == 1 ? nullopt : std::optional(std::move(answer));
    });
    auto waits = start_over({slow.url()}, {"run", "--ttl", "60s", "x", "true"});
    BOOST_TEST(comes_true([&] { return is_held("x"); }));
    must_say(waits.end_by(SIGTERM), 128 + SIGTERM, "interrupted while waiting for x");
    BOOST_TEST(!is_held("x"));
    BOOST_TEST(std::ranges::count_if(slow.requests(), asks_about_key) >= 1);
}

BOOST_FIXTURE_TEST_CASE(run_that_is_ended_while_it_waits_acquires_nothing, one_instance)
{
    auto const won = real.acquire(R"({"resources":["x"],"ttl_ms":60000,"wait_ms":9000})");
    made_up_service const between([&](request const& q) {
        return acquires(q) && !asks_about_key(q) ? nullopt : std::optional(passed_on(q, real));
    });
    auto waits = start_over({between.url()}, {"run", "--ttl", "60s", "x", "true"});
    BOOST_TEST(comes_true([&] { return !keys_of(between).empty(); }));
    BOOST_TEST(waits.end_by(SIGTERM).status == 128 + SIGTERM);
    BOOST_TEST(std::ranges::count_if(between.requests(), asks_about_key) == 1);
    BOOST_TEST(keys_of(between).size() == 2u);
    BOOST_TEST(is_held("x"));
    BOOST_TEST(real.ask(verb::delete_, "/v1/held/" + won.text("id")).status == 204u);
}

// Both addresses may lead to the same instance, which must not take the lock of one key for that of the other.
BOOST_FIXTURE_TEST_CASE(run_leaves_no_lock_at_an_instance_that_it_has_left, one_instance)
{
    std::atomic<bool> is_still = false;
    std::atomic<int> acquisitions = 0;
    made_up_service const left([&](request const& q) -> std::optional<std::string> {
        if (asks_for_health(q))
            return is_still ? nullopt : std::optional(healthy());
        auto answer = passed_on(q, real);
        bool const is_first = acquires(q) && ++acquisitions == 1;
        is_still = is_still || is_first;
        return is_first ? nullopt : std::optional(std::move(answer));
    });
    made_up_service const other(
        [&](request const& q) { return is_still ? std::optional(passed_on(q, real)) : nullopt; });
    auto waits = start_over({left.url(), other.url()}, {"run", "--ttl", "60s", "x", "echo", "mine"}, "2s");
    BOOST_TEST(waits.says("mine\n"), waits.err());
    auto const e = waits.wait();
    BOOST_TEST(e.status == 0, e.err);
    BOOST_TEST(keys_of(left).front() != keys_of(other).front());
    BOOST_TEST(!is_held("x"));
}

BOOST_FIXTURE_TEST_CASE(run_ends_well_if_the_answer_to_its_release_is_lost, one_instance)
{
    made_up_service const loses([&](request const& q) {
        auto answer = passed_on(q, real);
        return q.method() == verb::delete_ ? std::string() : answer;
    });
    std::atomic<bool> is_released = false;
    made_up_service const other([&](request const& q) {
        is_released = is_released || loses.count(verb::delete_, "/") > 0;
        return is_released ? std::optional(passed_on(q, real)) : nullopt;
    });
    must_print(over({loses.url(), other.url()}, {"run", "x", "echo", "ran"}), 0, "ran\n");
    BOOST_TEST(other.count(verb::delete_, "/") == 1);
}

BOOST_AUTO_TEST_SUITE_END()
