// redlock serve: requests with several operations.

#include "cli/event_reader.hpp"
#include "cli/running_service.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(serve_batch)

namespace {

std::string acquisition_of(std::string const& name, std::string const& more = "")
{
    return fmt::format(R"({{"acquire":{{"resources":["{}"],"ttl_ms":60000{}}}}})", name, more);
}

std::string extension_of(std::string const& id, std::string const& more = "")
{
    return fmt::format(R"({{"extend":{{"id":"{}","ttl_ms":50000{}}}}})", id, more);
}

std::string release_of(std::string const& id) { return fmt::format(R"({{"release":{{"id":"{}"}}}})", id); }

std::string batch_of(std::vector<std::string> const& operations)
{
    return fmt::format(R"({{"operations":[{}]}})", fmt::join(operations, ","));
}

/// The results of a batch.
struct batch_results {
    explicit batch_results(http_answer const& a)
    {
        BOOST_TEST_REQUIRE(a.status == 200u, a.body);
        auto const all = a.json();
        for (auto const& r : all.at("results").as_array()) {
            statuses.push_back(r.at("status").to_number<unsigned>());
            auto const* const body = r.as_object().if_contains("body");
            bodies.push_back(body ? body->as_object() : boost::json::object());
        }
    }

    std::string text(std::size_t i, char const* name) const { return std::string(bodies.at(i).at(name).as_string()); }

    std::vector<unsigned> statuses{};
    std::vector<boost::json::object> bodies{};
};

using codes = std::vector<unsigned>;

struct two_services {
    batch_results run(std::vector<std::string> const& operations, http_headers const& more = {}) const
    {
        return batch_results(one.ask(verb::post, "/v1/batch", batch_of(operations), more));
    }

    bool are_free(std::string const& prefix) const
    {
        auto const page = two.ask(verb::get, "/v1/locks?prefix=" + prefix);
        BOOST_TEST_REQUIRE(page.status == 200u, page.body);
        return page.json().at("locks").as_array().empty();
    }

    std::string id_of(std::string const& name) const
    {
        auto const won = one.acquire(fmt::format(R"({{"resources":["{}"],"ttl_ms":60000,"wait_ms":9000}})", name));
        BOOST_TEST_REQUIRE(won.status == 201u, won.body);
        return won.text("id");
    }

    real_servers r{3};
    service one{r, {"--fencing"}}, two{r, {"--fencing"}};
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(batch_returns_the_results_in_the_order_of_its_operations, two_services)
{
    auto const x = id_of("x"), y = id_of("y");
    auto const done = run({acquisition_of("a"), release_of(y), extension_of(x), acquisition_of("b", R"(,"note":"n")")});
    BOOST_TEST((done.statuses == codes{201, 204, 200, 201}));
    BOOST_TEST(done.bodies[0].at("resources").as_array().at(0).as_string() == "a");
    BOOST_TEST(done.bodies[1].empty());
    BOOST_TEST(done.text(2, "id") == x);
    BOOST_TEST(done.bodies[3].at("fencing_token").to_number<std::int64_t>() > 0);
    BOOST_TEST(two.ask(verb::get, "/v1/locks/b").text("note") == "n");
    BOOST_TEST(done.bodies[2].at("valid_for_ms").to_number<std::int64_t>() < 50'000);

    auto const ended = run({release_of(done.text(0, "id")), release_of(done.text(3, "id")), release_of(x)});
    BOOST_TEST((ended.statuses == codes{204, 204, 204}));
    BOOST_TEST(are_free(""));
}

BOOST_FIXTURE_TEST_CASE(batch_of_which_a_part_fails_does_the_rest, two_services)
{
    auto const held = id_of("held");
    auto const done = run({acquisition_of("held"), acquisition_of("a"), release_of("unknown"),
                           R"({"acquire":{"resources":["b"],"ttl_ms":1}})", extension_of(held, R"(,"session":"none")"),
                           R"({"acquire":{}})"});
    BOOST_TEST((done.statuses == codes{409, 201, 404, 400, 404, 400}));
    BOOST_TEST(done.text(0, "type") == "urn:redlock:busy");
    BOOST_TEST(done.text(2, "type") == "urn:redlock:unknown-lock");
    BOOST_TEST(has(done.text(3, "detail"), "ttl_ms is 1"));
    BOOST_TEST(done.text(4, "type") == "urn:redlock:unknown-session");
    BOOST_TEST(has(done.text(5, "detail"), "resources is missing"));
    BOOST_TEST(one.ask(verb::get, "/v1/held/" + done.text(1, "id")).status == 200u);
    BOOST_TEST(!one.ask(verb::get, "/v1/locks/b").json().at("locked").as_bool());
}

BOOST_FIXTURE_TEST_CASE(batch_of_a_wrong_form_runs_nothing, two_services)
{
    auto const good = acquisition_of("a");
    for (auto const& [wrong, reason] :
         {std::pair<std::string, std::string>(R"({"acquire":{"resources":"b"},"release":{"id":"x"}})", "one field"),
          {R"({"break":{"id":"x"}})", "one field"},
          {R"({"acquire":5})", "one field"},
          {R"({"release":{}})", "id must be a text"},
          {R"({"release":{"id":"x","ttl_ms":5}})", "no field \"ttl_ms\""},
          {acquisition_of("b", R"(,"wait_ms":5)"), "no field \"wait_ms\""}}) {
        auto const refused = one.ask(verb::post, "/v1/batch", batch_of({good, wrong}));
        BOOST_TEST(refused.status == 400u, refused.body);
        BOOST_TEST(has(refused.text("detail"), reason), refused.body);
    }
    BOOST_TEST(one.ask(verb::post, "/v1/batch", batch_of(std::vector(101, good))).status == 400u);
    BOOST_TEST(are_free(""));
}

BOOST_FIXTURE_TEST_CASE(batch_of_a_client_that_has_gone_leaves_no_lock, two_services)
{
    id_of("first");
    for (int i = 0; i < 40; ++i) {
        std::vector<std::string> operations;
        for (int n = 0; n < 20; ++n)
            operations.push_back(acquisition_of(fmt::format("gone/{}/{}", i, n)));
        auto goes = one.connect();
        goes.send(verb::post, "/v1/batch", batch_of(operations));
        std::this_thread::sleep_for(std::chrono::microseconds(i * 150));
    }
    r[0].pause();
    r[1].pause();
    {
        auto goes = one.connect();
        goes.send(verb::post, "/v1/batch", batch_of({acquisition_of("gone/a"), acquisition_of("gone/b")}));
        std::this_thread::sleep_for(200ms);
    }
    r[0].resume();
    r[1].resume();
    BOOST_TEST(comes_true([&] { return are_free("gone/"); }));
}

BOOST_FIXTURE_TEST_CASE(batch_repeated_with_its_key_returns_the_same_locks, two_services)
{
    auto const x = id_of("x");
    http_headers const key{{"Idempotency-Key", "7"}};
    std::vector<std::string> const operations{acquisition_of("a"), release_of(x), acquisition_of("b")};
    auto const first = run(operations, key), again = run(operations, key);
    BOOST_TEST((first.statuses == codes{201, 204, 201}));
    BOOST_TEST((again.statuses == codes{201, 404, 201}));
    for (std::size_t const i : {0u, 2u})
        BOOST_TEST(again.text(i, "id") == first.text(i, "id"));
    BOOST_TEST((run({acquisition_of("c"), acquisition_of("d")}, key).statuses == codes{422, 201}));
    BOOST_TEST(one.acquire(R"({"resources":["e"]})", key).status == 201u);  // it is another key
    {
        auto goes = one.connect();
        goes.send(verb::post, "/v1/batch", batch_of({acquisition_of("f")}), {{"Idempotency-Key", "9"}});
        BOOST_TEST(comes_true([&] { return !are_free("f"); }));
    }
    BOOST_TEST(comes_true([&] {  // not while the first request is still under way
        return run({acquisition_of("f")}, {{"Idempotency-Key", "9"}}).statuses == codes{201};
    }));
}

BOOST_FIXTURE_TEST_CASE(batch_acquires_locks_of_a_session_and_moves_locks_there, two_services)
{
    event_reader events(one);
    auto const session = events.session(), in_session = fmt::format(R"(,"session":"{}")", session);
    auto const x = id_of("x");
    auto const done = run({acquisition_of("a", in_session), extension_of(x, in_session)});
    BOOST_TEST((done.statuses == codes{201, 200}));
    BOOST_TEST(one.ask(verb::get, "/v1/sessions/" + session).json().at("locks").as_array().size() == 2u);
    BOOST_TEST((run({release_of(done.text(0, "id")), release_of(done.text(1, "id"))}).statuses == codes{204, 204}));
}

BOOST_AUTO_TEST_CASE(batch_has_the_rights_and_limits_of_its_client)
{
    real_servers r(1);
    testbed::temporary_folder folder;
    std::string const token = "token-of-test-0123456789";
    write_secret(folder.path + "/tokens", token + " jobs/ lock\n");
    service const s(r, {"--token-file", folder.path + "/tokens", "--max-waiting", "2", "--max-requests", "1"});
    http_headers const key{{"Authorization", "Bearer " + token}};
    auto const run = [&](std::vector<std::string> const& operations) {
        return batch_results(s.ask(verb::post, "/v1/batch", batch_of(operations), key));
    };
    auto const done = run({acquisition_of("jobs/1"), acquisition_of("jobs/2"), acquisition_of("jobs/3")});
    BOOST_TEST((done.statuses == codes{201, 201, 429}));
    BOOST_TEST(done.text(2, "type") == "urn:redlock:too-many-waiting");
    BOOST_TEST((run({acquisition_of("other"), acquisition_of("jobs/3")}).statuses == codes{403, 201}));
    auto const ended = run({release_of(done.text(0, "id")), release_of(done.text(1, "id"))});
    BOOST_TEST((ended.statuses == codes{204, 429}));
    BOOST_TEST(ended.text(1, "type") == "urn:redlock:too-many-requests");
}

BOOST_AUTO_TEST_SUITE_END()
