// redlock serve: two instances on the same servers, asked over real connections.

#include "cli/running_service.hpp"
#include "tools/serve/access.hpp"
#include "tools/serve/lock_ids.hpp"
#include "tools/serve/target.hpp"
#include "bed/local_server.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <openssl/evp.h>
#include <openssl/hmac.h>

#include <fstream>
#include <set>
#include <thread>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(serves)

namespace {

using headers = http_headers;

struct two_services {
    real_servers r{3};
    service one{r, {"--fencing"}}, two{r, {"--fencing"}};
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(serve_lets_each_instance_extend_inspect_and_release_a_lock, two_services)
{
    auto const won = one.acquire(R"({"resources":["orders/7"],"ttl_ms":60000,"wait_ms":9000,"note":"order 7"})");
    BOOST_TEST_REQUIRE(won.status == 201u, won.body);
    BOOST_TEST(won.number("valid_for_ms") > 30'000);
    BOOST_TEST(won.number("fencing_token") > 0);
    BOOST_TEST(won.json().at("resources").as_array().at(0).as_string() == "orders/7");

    auto const seen = two.ask(verb::get, "/v1/locks/orders%2F7");
    BOOST_TEST_REQUIRE(seen.status == 200u, seen.body);
    BOOST_TEST(seen.json().at("locked").as_bool());
    BOOST_TEST(seen.text("note") == "order 7");
    BOOST_TEST(!has(seen.body, won.text("id")));

    auto const path = "/v1/held/" + won.text("id");
    auto const extended = two.ask(verb::patch, path, R"({"ttl_ms":50000})", {{"If-Match", won.etag}});
    BOOST_TEST(extended.status == 200u, extended.body);
    BOOST_TEST(extended.text("id") == won.text("id"));
    BOOST_TEST(extended.etag == won.etag);
    BOOST_TEST(one.acquire(R"({"resources":"orders/7"})").status == 409u);

    BOOST_TEST(two.ask(verb::delete_, path).status == 204u);
    BOOST_TEST(one.ask(verb::delete_, path).status == 404u);
    BOOST_TEST(one.ask(verb::patch, path).status == 404u);
    auto const next = two.acquire(R"({"resources":["orders/7"],"wait_ms":9000})");
    BOOST_TEST(next.number("fencing_token") > won.number("fencing_token"));
}

BOOST_FIXTURE_TEST_CASE(serve_waits_until_a_lock_is_released_or_the_time_is_over, two_services)
{
    auto const won = one.acquire(R"({"resources":["a","b"],"ttl_ms":60000,"wait_ms":9000})");
    BOOST_TEST_REQUIRE(won.status == 201u, won.body);

    auto const late = two.acquire(R"({"resources":["b"],"wait_ms":300})");
    BOOST_TEST(late.status == 409u);
    BOOST_TEST(late.text("type") == "urn:redlock:busy");
    BOOST_TEST(!late.retry_after.empty());

    auto waits = two.connect();
    waits.send(verb::post, "/v1/locks", R"({"resources":["b"],"wait_ms":60000})");
    BOOST_TEST(comes_true([&] { return !one.ask(verb::get, "/v1/locks/b").json().at("waiters").as_array().empty(); }));
    BOOST_TEST(one.ask(verb::delete_, "/v1/held/" + won.text("id")).status == 204u);
    BOOST_TEST(waits.receive().status == 201u);
}

BOOST_FIXTURE_TEST_CASE(serve_tells_how_long_a_request_has_waited, two_services)
{
    BOOST_TEST_REQUIRE(one.acquire(R"({"resources":["a"],"ttl_ms":5000})").status == 201u);
    auto const sent = clock::now();
    auto const won = two.acquire(R"({"resources":["a"],"ttl_ms":60000,"wait_ms":60000})");
    BOOST_TEST_REQUIRE(won.status == 201u, won.body);
    auto const took = std::chrono::duration_cast<std::chrono::milliseconds>(clock::now() - sent).count();
    auto const waited = won.number("waited_ms"), valid_for = won.number("valid_for_ms");
    BOOST_TEST(waited <= took);
    BOOST_TEST(waited > 0);
    BOOST_TEST(waited + valid_for > took);
    auto const extended = two.ask(verb::patch, "/v1/held/" + won.text("id"), R"({"ttl_ms":3500})");
    BOOST_TEST(!extended.json().contains("waited_ms"));
}

BOOST_FIXTURE_TEST_CASE(serve_gives_no_lock_to_a_client_that_has_gone, two_services)
{
    auto const won = one.acquire(R"({"resources":["a"],"ttl_ms":60000,"wait_ms":9000})");
    {
        auto goes = two.connect();
        goes.send(verb::post, "/v1/locks", R"({"resources":["a"],"ttl_ms":60000,"wait_ms":60000})");
        BOOST_TEST(
            comes_true([&] { return !one.ask(verb::get, "/v1/locks/a").json().at("waiters").as_array().empty(); }));
    }
    BOOST_TEST(comes_true([&] { return has(two.ask(verb::get, "/metrics").body, "redlock_waiters 0\n"); }));
    BOOST_TEST(one.ask(verb::delete_, "/v1/held/" + won.text("id")).status == 204u);
    BOOST_TEST(one.acquire(R"({"resources":["a"],"wait_ms":5000})").status == 201u);
}

BOOST_FIXTURE_TEST_CASE(serve_answers_a_repeated_request_with_the_same_lock, two_services)
{
    std::string const body = R"({"resources":["a"],"ttl_ms":60000,"wait_ms":9000})";
    headers const key{{"Idempotency-Key", "7"}};
    auto const first = one.acquire(body, key), again = one.acquire(body, key);
    BOOST_TEST(first.status == 201u);
    BOOST_TEST(again.status == 201u);
    BOOST_TEST(again.text("id") == first.text("id"));
    BOOST_TEST(one.acquire(R"({"resources":["b"]})", key).status == 422u);
    {
        auto goes = one.connect();
        goes.send(verb::post, "/v1/locks", R"({"resources":["c"],"ttl_ms":60000})", {{"Idempotency-Key", "9"}});
        BOOST_TEST(comes_true([&] { return one.ask(verb::get, "/v1/locks/c").json().at("locked").as_bool(); }));
    }
    http_answer later;
    BOOST_TEST(comes_true([&] {  // not while the first request is still under way
        later = one.acquire(R"({"resources":["c"],"ttl_ms":60000})", {{"Idempotency-Key", "9"}});
        return later.status == 201;
    }));
    BOOST_TEST(one.ask(verb::delete_, "/v1/held/" + later.text("id")).status == 204u);
    BOOST_TEST(one.acquire(R"({"resources":["a"]})", {{"Idempotency-Key", "8"}}).status == 409u);
}

BOOST_FIXTURE_TEST_CASE(acquire_repeated_after_an_extension_returns_the_same_lock, two_services)
{
    constexpr auto ttl = 3500ms;  // more than the time to wait for a node
    auto const body = fmt::format(R"({{"resources":["a"],"ttl_ms":{},"wait_ms":9000}})", ttl.count());
    headers const key{{"Idempotency-Key", "7"}};
    auto const first = one.acquire(body, key);
    BOOST_TEST_REQUIRE(first.status == 201u, first.body);
    BOOST_TEST(one.ask(verb::patch, "/v1/held/" + first.text("id"), R"({"ttl_ms":60000})").status == 200u);
    std::this_thread::sleep_for(ttl + 100ms);
    auto const again = one.acquire(body, key);
    BOOST_TEST_REQUIRE(again.status == 201u, again.body);
    BOOST_TEST(again.text("id") == first.text("id"));
}

BOOST_FIXTURE_TEST_CASE(condition_with_several_entity_tags_is_met_by_each, two_services)
{
    auto const won = one.acquire(R"({"resources":["a"],"ttl_ms":60000,"wait_ms":9000})");
    BOOST_TEST_REQUIRE(won.status == 201u, won.body);
    auto const extend = [&](std::string const& condition) {
        return two.ask(verb::patch, "/v1/held/" + won.text("id"), "", {{"If-Match", condition}}).status;
    };
    for (auto const& met :
         {won.etag, "*" + std::string(), "\"x\", " + won.etag, won.etag + " ,\"x\"", ",W/\"x\",," + won.etag + ","})
        BOOST_TEST(extend(met) == 200u, met);
    for (auto const& not_met : {std::string("\"\""), "W/" + won.etag, std::string("\"x\", \"y,") + won.etag.substr(1)})
        BOOST_TEST(extend(not_met) == 412u, not_met);
    for (auto const& wrong : {won.etag.substr(1), won.etag + won.etag, "*, " + won.etag, std::string(","),
                              "w/" + won.etag, won.etag + ", \"", won.etag + "W/"})
        BOOST_TEST(extend(wrong) == 400u, wrong);
}

BOOST_FIXTURE_TEST_CASE(serve_lists_locks_in_pages_and_breaks_what_was_seen, two_services)
{
    for (int i = 0; i < 5; ++i)
        one.acquire(fmt::format(R"({{"resources":["job-{}"],"ttl_ms":60000,"wait_ms":9000}})", i));
    std::set<std::string> names;
    std::string from;
    do {
        auto const page = two.ask(verb::get, "/v1/locks?prefix=job-&limit=2&from=" + from);
        BOOST_TEST_REQUIRE(page.status == 200u, page.body);
        auto const document = page.json();
        for (auto const& l : document.at("locks").as_array())
            names.emplace(l.at("resource").as_string());
        auto const& next = document.at("next");
        from = next.is_string() ? std::string(next.as_string()) : "";
    } while (!from.empty());
    BOOST_TEST(names.size() == 5u);

    BOOST_TEST(two.ask(verb::post, "/v1/locks/job-1/break").status == 428u);
    BOOST_TEST(two.ask(verb::post, "/v1/locks/job-1/break", "", {{"If-Match", "\"other\""}}).status == 412u);
    auto const etag = one.ask(verb::get, "/v1/locks/job-1").etag;
    BOOST_TEST(two.ask(verb::post, "/v1/locks/job-1/break", "", {{"If-Match", etag}}).status == 200u);
    BOOST_TEST(one.acquire(R"({"resources":["job-1"],"wait_ms":9000})").status == 201u);
}

BOOST_FIXTURE_TEST_CASE(serve_refuses_wrong_requests_by_name, two_services)
{
    auto const wrong = [&](std::string const& body, std::string const& why) {
        auto const a = one.acquire(body);
        BOOST_TEST(a.status == 400u, body);
        BOOST_TEST(has(a.text("detail"), why), a.body);
    };
    wrong("{", "the body must be a JSON object");
    wrong(R"({"resource":"a"})", R"(there is no field "resource"; there are resources, ttl_ms)");
    wrong(R"({"ttl_ms":5})", "resources is missing");
    wrong(R"({"resources":[]})", "resources is []");
    wrong(R"({"resources":["a"],"ttl_ms":"x"})", R"(ttl_ms is "x", but must be a number of milliseconds)");
    wrong(R"({"resources":["a"],"ttl_ms":5})", "ttl_ms is 5, but must be a number of milliseconds, 20 to");
    wrong(R"({"resources":["a"],"ttl_ms":90000})",
          "ttl_ms is 90000, but must be a number of milliseconds, 20 to 60000");
    wrong(R"({"resources":["a"],"wait_ms":86400000})", "wait_ms is 86400000, but must be at most 600000");
    wrong(R"({"resources":["a"],"mode":"both"})", R"(mode is "both", but must be exclusive or shared)");
    wrong(R"({"resources":["a:=fence"]})", ":=fence");
    std::string names;
    for (int i = 0; i < 20; ++i)
        names += fmt::format(R"("{}{}",)", std::string(500, 'a'), i);
    wrong("{\"resources\":[" + names + "\"b\"]}", "resources have 10031 bytes together, but must have at most 4096");
    BOOST_TEST(one.ask(verb::post, "/v1/sessions", R"({"grace_ms":18446734073709551616})").status == 400u);
    BOOST_TEST(one.ask(verb::get, "/healthz", "", {{"Origin", "http://example.com"}}).status == 403u);
    auto asks = one.connect();
    asks.send_bytes("POST /v1/locks HTTP/1.1\r\nHost: localhost\r\nExpect: 100-continue\r\nContent-Length: 17\r\n\r\n");
    BOOST_TEST(has(asks.read_until("\r\n\r\n"), "HTTP/1.1 100 Continue"));
    asks.send_bytes(R"({"resources":"x"})");
    BOOST_TEST(asks.receive().status == 201u);
    BOOST_TEST(one.ask(verb::get, "/v1/locks?limit=0").status == 400u);
    auto const ignored = one.ask(verb::post, "/v1/locks?wait_ms=5", R"({"resources":["b"]})");
    BOOST_TEST(ignored.status == 400u);
    BOOST_TEST(has(ignored.text("detail"), "there is no parameter \"wait_ms\""), ignored.body);
    BOOST_TEST(one.ask(verb::get, "/v1/locks/%zz").status == 400u);
    BOOST_TEST(one.ask(verb::get, "/v2/locks").status == 404u);
    BOOST_TEST(one.ask(verb::delete_, "/v1/held/abc").status == 404u);
    BOOST_TEST(one.acquire(std::string(300'000, ' ')).status == 413u);
    auto raw = one.connect();
    raw.send_bytes("no request\r\n\r\n");
    BOOST_TEST(raw.receive().status == 400u);
    BOOST_TEST(raw.is_closed());
    auto long_header = one.connect();
    long_header.send_bytes("GET / HTTP/1.1\r\nA: " + std::string(20'000, 'a'));
    BOOST_TEST(long_header.receive().status == 431u);
}

BOOST_AUTO_TEST_CASE(serve_with_tokens_permits_what_each_token_permits)
{
    real_servers r(1);
    testbed::temporary_folder folder;
    auto const file = folder.path + "/tokens";
    write_secret(file, "# tokens\njobs-token-0123456789 jobs/ lock,read\nadmin-token-0123456789 * read,break\n"
                       "other-token-0123456789 other lock crew\nwatch-token-0123456789 x metrics\n");
    service const s(r, {"--token-file", file});
    headers const jobs{{"Authorization", "Bearer jobs-token-0123456789"}};
    headers const admin{{"Authorization", "Bearer admin-token-0123456789"}};
    headers const other{{"Authorization", "Bearer other-token-0123456789"}};
    headers const watch{{"Authorization", "Bearer watch-token-0123456789"}};
    BOOST_TEST(s.acquire(R"({"resources":["other"],"wait_ms":9000,"ttl_ms":60000})", other).status == 201u);
    BOOST_TEST(s.ask(verb::get, "/v1/locks/other", "", admin).text("owner") == "crew");

    BOOST_TEST(s.acquire(R"({"resources":["jobs/1"]})").status == 401u);
    BOOST_TEST(s.acquire(R"({"resources":["jobs/1"]})", {{"Authorization", "Bearer jobs-token"}}).status == 401u);
    BOOST_TEST(s.acquire(R"({"resources":["jobs/1","other"]})", jobs).status == 403u);
    BOOST_TEST(s.acquire(R"({"resources":["jobs/1"]})", admin).status == 403u);
    auto const won = s.acquire(R"({"resources":["jobs/1"],"wait_ms":9000,"ttl_ms":60000})", jobs);
    BOOST_TEST_REQUIRE(won.status == 201u, won.body);
    BOOST_TEST(s.ask(verb::get, "/v1/locks?prefix=jobs/", "", jobs).status == 200u);
    auto const readable = s.ask(verb::get, "/v1/locks", "", jobs).json().at("locks").as_array();
    BOOST_TEST_REQUIRE(readable.size() == 1u);
    BOOST_TEST(readable.at(0).at("resource").as_string() == "jobs/1");
    BOOST_TEST(s.ask(verb::get, "/v1/locks", "", admin).status == 200u);
    BOOST_TEST(s.ask(verb::get, "/v1/locks", "", {{"Authorization", "bearer admin-token-0123456789"}}).status == 200u);
    BOOST_TEST(s.ask(verb::post, "/v1/locks/jobs%2F1/break", "", jobs).status == 403u);
    BOOST_TEST(s.ask(verb::delete_, "/v1/held/" + won.text("id"), "", admin).status == 403u);
    for (auto const method : {verb::get, verb::patch, verb::delete_})
        BOOST_TEST(s.ask(method, "/v1/held/" + won.text("id"), "", other).status == 403u);
    BOOST_TEST(s.ask(verb::get, "/v1/locks", "", other).status == 403u);
    for (auto const* const who : {&admin, &watch})  // who locks nothing needs no session
        BOOST_TEST(s.ask(verb::post, "/v1/sessions", "", *who).status == 403u);
    BOOST_TEST(s.ask(verb::get, "/metrics", "", jobs).status == 403u);
    BOOST_TEST(s.ask(verb::get, "/metrics", "", watch).status == 200u);
    BOOST_TEST(s.ask(verb::get, "/healthz").status == 200u);
    BOOST_TEST(s.ask(verb::delete_, "/v1/held/" + won.text("id"), "", jobs).status == 204u);
}

BOOST_AUTO_TEST_CASE(serve_ends_by_sigterm_with_503_for_those_that_wait)
{
    real_servers r(3);
    testbed::temporary_folder folder;
    service s(r, {}, "unix:" + folder.path + "/socket");
    auto const won = s.acquire(R"({"resources":["a"],"ttl_ms":60000,"wait_ms":9000})");
    auto waits = s.connect(), idle = s.connect();
    waits.send(verb::post, "/v1/locks", R"({"resources":["a"],"wait_ms":60000})");
    BOOST_TEST(comes_true([&] { return has(s.ask(verb::get, "/metrics").body, "redlock_waiters 1\n"); }));

    s.tool().process().signal(SIGTERM);
    auto const told = waits.receive();
    BOOST_TEST(told.status == 503u);
    BOOST_TEST(told.text("type") == "urn:redlock:stopping");
    BOOST_TEST(!told.retry_after.empty());
    BOOST_TEST(idle.is_closed());
    BOOST_TEST(s.tool().wait().status == 0);
    BOOST_TEST(r[0].ask({"EXISTS", "lock:a"}) == "1");  // the lock stays until its time to live is over
    BOOST_TEST(::access((folder.path + "/socket").c_str(), F_OK) != 0);

    service const next(r);
    BOOST_TEST(next.ask(verb::delete_, "/v1/held/" + won.text("id")).status == 204u);
}

BOOST_FIXTURE_TEST_CASE(serve_answers_pipelined_requests_once_and_in_their_order, two_services)
{
    auto const won = one.acquire(R"({"resources":["a"],"ttl_ms":60000,"wait_ms":9000})");
    auto client = two.connect();
    client.send(verb::post, "/v1/locks", R"({"resources":["a"],"wait_ms":60000})");
    client.send(verb::get, "/v1/locks/second");
    BOOST_TEST(comes_true([&] { return has(two.ask(verb::get, "/metrics").body, "redlock_waiters 1\n"); }));
    BOOST_TEST(one.ask(verb::delete_, "/v1/held/" + won.text("id")).status == 204u);
    BOOST_TEST(client.receive().status == 201u);
    BOOST_TEST(client.receive().text("resource") == "second");
    for (auto const* const name : {"third", "fourth"})
        BOOST_TEST(client.ask(verb::get, std::string("/v1/locks/") + name).text("resource") == name);
}

BOOST_AUTO_TEST_CASE(serve_with_too_many_connections_closes_the_oldest_idle_one)
{
    real_servers r(1);
    service const s(r, {"--max-connections", "3"});
    auto oldest = s.connect();
    BOOST_TEST(oldest.ask(verb::get, "/healthz").status == 200u);
    auto stream = s.connect(), slow = s.connect();
    stream.send(verb::post, "/v1/sessions");
    stream.read_until("event: session");
    slow.send_bytes("GET /healthz HTTP/1.1\r\n");
    BOOST_TEST(s.ask(verb::get, "/healthz").status == 200u);
    BOOST_TEST(slow.is_closed());  // it has no whole request, so it was the first to go
    auto next = s.connect();
    BOOST_TEST(next.ask(verb::get, "/healthz").status == 200u);
    BOOST_TEST(s.ask(verb::get, "/healthz").status == 200u);
    BOOST_TEST(oldest.is_closed());
    BOOST_TEST(s.ask(verb::get, "/v1/sessions/0").status == 404u);
}

// Without a reserve, 60 clients take all files, also those with which the service reconnects to its node.
BOOST_AUTO_TEST_CASE(serve_with_few_files_and_many_clients_reconnects_to_its_node)
{
    real_servers r(1);
    service s(r, {}, "127.0.0.1:0", "ulimit -n 64;");
    BOOST_TEST(s.tool().complains("too few open files for --max-connections 1000. It serves 28 at a time"),
               s.tool().err());
    std::deque<http_connection> clients;
    for (int i = 0; i < 60; ++i)
        clients.emplace_back(s.endpoint());
    BOOST_TEST(clients[0].ask(verb::get, "/healthz").status == 200u);
    r[0].ask({"CLIENT", "KILL", "TYPE", "normal"});
    BOOST_TEST(comes_true([&] { return count_of(r[0].ask({"CLIENT", "LIST"}), "\n") > 1; }));

    // No idle client had to go first.
    BOOST_TEST(comes_true([&] { return clients[1].ask(verb::get, "/healthz").status == 200u; }));
}

BOOST_AUTO_TEST_CASE(serve_with_too_few_files_for_its_nodes_says_so)
{
    real_servers r(1);
    started_tool tool({"-u", r[0].url(), "serve", "--listen", "127.0.0.1:0"}, without_nodes(), "", "ulimit -n 32;");
    must_say(tool.wait(), 78, "may have 32 open files, but the nodes alone need up to 36");
}

// The body of a request whose end is unclear must not become the next request.
BOOST_FIXTURE_TEST_CASE(serve_ends_the_connection_after_a_request_without_a_clear_end, two_services)
{
    std::string const inner = "DELETE /v1/held/smuggled HTTP/1.1\r\nHost: localhost\r\n\r\n";
    auto const answers_to = [&](std::string const& request) {
        auto c = one.connect();
        c.send_bytes(request);
        return c.read_all();
    };
    for (auto const* const coding : {"xchunked", "chunked, identity", "identity", "gzip", "chunked;q=1", "chunked,"}) {
        for (auto const& length : {std::string(), "Content-Length: " + std::to_string(inner.size()) + "\r\n"}) {
            auto const all = answers_to("POST /v1/locks HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: "
                                        + std::string(coding) + "\r\n" + length + "\r\n" + inner);
            BOOST_TEST((all.starts_with("HTTP/1.1 400 ") || all.starts_with("HTTP/1.1 501 ")), coding << ": " << all);
            BOOST_TEST(count_of(all, "HTTP/1.1 ") == 1u, coding << ": " << all);
        }
    }
    BOOST_TEST(answers_to("GET /healthz HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 400 "));
    BOOST_TEST(answers_to("GET /healthz HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n").starts_with("HTTP/1.1 400 "));
    BOOST_TEST(
        answers_to("GET /healthz HTTP/1.1\r\nHost: localhost\r\nExpect: more\r\n\r\n").starts_with("HTTP/1.1 417 "));

    auto const whole = answers_to("GET http://localhost/healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
                                  "HEAD /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
                                  "HEAD /v1/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    BOOST_TEST(count_of(whole, "HTTP/1.1 200 ") == 2u, whole);
    BOOST_TEST(count_of(whole, "\"connected\"") == 1u, whole);  // HEAD has no body
    BOOST_TEST(count_of(whole, "HTTP/1.1 405 ") == 1u, whole);
    BOOST_TEST(count_of(whole, " GMT\r\n\r\n") == 3u, whole);
}

// A page that knows a name for the loopback address (DNS rebinding) must not read the locks.
BOOST_AUTO_TEST_CASE(serve_without_tokens_refuses_requests_of_pages)
{
    real_servers r(1);
    service const s(r);
    auto const status_with = [&](std::string const& name, std::string const& value) {
        return s.ask(verb::get, "/v1/locks", "", {{name, value}}).status;
    };
    for (auto const* const host : {"evil.example:8642", "localhost.evil.example", "127.0.0.1.evil.example"})
        BOOST_TEST(status_with("Host", host) == 403u, host);
    for (auto const* const host : {"localhost", "LOCALHOST:8642", "127.0.0.1:8642", "[::1]:8642", "10.0.0.1"})
        BOOST_TEST(status_with("Host", host) == 200u, host);
    for (auto const* const origin : {"http://evil.example", "null", ""})
        BOOST_TEST(status_with("Origin", origin) == 403u, origin);
    BOOST_TEST(status_with("Sec-Fetch-Site", "cross-site") == 403u);
    BOOST_TEST(status_with("Sec-Fetch-Site", "none") == 200u);  // somebody has typed the address
}

BOOST_AUTO_TEST_CASE(serve_ends_at_once_by_a_second_signal)
{
    real_servers r(1);
    service s(r, {"--drain", "60s"});
    auto slow = s.connect(), idle = s.connect();
    slow.send_bytes("POST /v1/locks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n{");
    BOOST_TEST(s.ask(verb::get, "/healthz").status == 200u);
    s.tool().process().signal(SIGTERM);
    BOOST_TEST(idle.is_closed());
    BOOST_TEST(!s.tool().process().ended().has_value());  // it waits for the rest of the request
    s.tool().process().signal(SIGTERM);
    BOOST_TEST(s.tool().wait().status == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(serve_on_a_file_that_is_no_socket_leaves_it_alone)
{
    testbed::temporary_folder folder;
    auto const file = folder.path + "/notes";
    std::ofstream(file) << "important";
    must_say(run_tool({"-u", "memory://a", "serve", "--listen", "unix:" + file}), 125, "in use");
    BOOST_TEST(text_of(file) == "important");
}

// Two that start at once: one of them serves.
BOOST_AUTO_TEST_CASE(serve_by_two_that_start_at_once_is_done_by_one)
{
    testbed::temporary_folder folder;
    auto const address = "unix:" + folder.path + "/socket";
    for (int i = 0; i < 10; ++i) {
        {
            started_tool killed({"-u", "memory://a", "serve", "--listen", address}, without_nodes());
            BOOST_TEST_REQUIRE(killed.complains("redlock serve: unix:"), killed.err());
            killed.end_by(SIGKILL);  // the socket stays
        }
        started_tool one({"-u", "memory://a", "serve", "--listen", address}, without_nodes());
        started_tool two({"-u", "memory://a", "serve", "--listen", address}, without_nodes());
        BOOST_TEST(comes_true([&] { return one.process().ended().has_value() != two.process().ended().has_value(); }));
        auto& loser = one.process().ended() ? one : two;
        auto& winner = one.process().ended() ? two : one;
        BOOST_TEST(loser.wait().status == 125);
        BOOST_TEST(winner.complains("redlock serve: unix:"), winner.err());
        BOOST_TEST(::access((folder.path + "/socket").c_str(), F_OK) == 0);
        BOOST_TEST(winner.end_by(SIGTERM).status == 0);
    }
}

BOOST_AUTO_TEST_CASE(serve_takes_over_the_unix_socket_of_a_killed_service)
{
    real_servers r(1);
    testbed::temporary_folder folder;
    auto const address = "unix:" + folder.path + "/socket";
    {
        service killed(r, {}, address);
        must_say(run_tool({"-u", "memory://a", "serve", "--listen", address}), 125, "in use");
        killed.tool().process().signal(SIGKILL);
        killed.tool().wait();
    }
    BOOST_TEST(::access((folder.path + "/socket").c_str(), F_OK) == 0);
    service const next(r, {}, address);
    BOOST_TEST(next.ask(verb::get, "/healthz").status == 200u);
}

BOOST_AUTO_TEST_CASE(serve_on_new_servers_says_why_no_lock_can_be_granted)
{
    real_servers r(3);
    r.ask_all({"FLUSHALL"});  // they are not founded any more
    service s(r, {"--restart-guard", "strict"});
    std::string const why = "no lock can be granted yet: 0 of 3 nodes vote; "
                            "3 are new to the prefix, or have lost all their keys; a majority votes in ";
    std::string const way_out = " s; if all servers are newly installed: redlock nodes init";
    BOOST_TEST(s.tool().complains("redlock serve: " + why));
    BOOST_TEST(s.tool().complains(way_out));
    auto const not_ready = s.ask(verb::get, "/readyz");
    BOOST_TEST(not_ready.status == 503u);
    BOOST_TEST(not_ready.number("voting") == 0);
    BOOST_TEST(not_ready.text("detail").starts_with(why), not_ready.body);
    BOOST_TEST(not_ready.text("detail").ends_with(way_out), not_ready.body);
    auto const refused = s.acquire(R"({"resources":["x"]})");
    BOOST_TEST(refused.status == 503u);
    BOOST_TEST(refused.text("detail")
               == "The lock servers are new to the prefix, and do not vote yet. If all are newly installed: redlock "
                  "nodes init.");

    must_show(run_tool({"-u", r[0].url(), "-u", r[1].url(), "-u", r[2].url(), "nodes", "init"}), 0, "are founded");

    BOOST_TEST(comes_true([&] { return s.ask(verb::get, "/readyz").status == 200; }));
    auto const ready = s.ask(verb::get, "/readyz");
    BOOST_TEST(!ready.json().contains("detail"), ready.body);
    BOOST_TEST(s.acquire(R"({"resources":["x"]})").status == 201u);
}

BOOST_AUTO_TEST_CASE(serve_with_automatic_guard_founds_new_servers_at_its_start)
{
    real_servers r(3);
    service const s(r);
    BOOST_TEST(comes_true([&] { return s.ask(verb::get, "/readyz").status == 200; }));
}

BOOST_AUTO_TEST_CASE(serve_refuses_addresses_that_other_hosts_reach)
{
    must_say(run_tool({"-u", "memory://a", "serve", "--listen", "0.0.0.0:0"}), 64, "--insecure");
    must_say(run_tool({"-u", "memory://a", "serve", "--listen", "localhost"}), 64, "has no port");
    must_say(run_tool({"-u", "memory://a", "serve", "--token-file", "/nowhere"}), 64, "cannot be read");
}

BOOST_AUTO_TEST_CASE(ticket_of_an_id_is_the_ticket_that_it_was_made_of)
{
    using namespace redlock::serve;
    lock_ids const ids({"0123456789abcdef", "an earlier key of the file"}),
        later({"a new key of the file", "0123456789abcdef"}), others({"an earlier key of the file"});
    for (auto const& bytes : {std::string("a"), std::string("\0\xff:1", 4), std::string(512, 'x')}) {
        lock_ticket const t{.resources = std::vector<std::string>{bytes, bytes + 'b'},
                            .token = bytes,
                            .mode = mode::shared,
                            .fencing_token = 9'007'199'254'740'991};
        auto const id = ids.id_of(t);
        for (auto const* const known : {&ids, &later})
            BOOST_TEST((known->ticket_of(id) == t));
        BOOST_TEST((ids.ticket_of(others.id_of(t)) == t));
        BOOST_TEST(!others.ticket_of(id));
        for (auto const* const bad : {"", "*", "1", "1AAAA", "MTp4"})
            BOOST_TEST(!ids.ticket_of(bad));
        for (std::size_t i = 0; i < id.size() - 1; i += 7) {
            auto changed = id;
            changed[i] = changed[i] == 'A' ? 'B' : 'A';
            BOOST_TEST(!ids.ticket_of(changed));
            BOOST_TEST(!ids.ticket_of(id.substr(0, i)));
        }
    }
}

BOOST_AUTO_TEST_CASE(keyed_hash_with_keys_of_each_length_is_hmac_sha256)
{
    for (std::size_t const size : {1, 16, 63, 64, 65, 200}) {
        std::string const key(size, 'k');
        serve::keyed_hash const hash(key), other(key + 'k');
        for (std::string const text : {"", "a", "a longer text"}) {
            auto const message = std::string("id") + '\0' + text;
            serve::keyed_hash::digest wanted{};
            ::HMAC(::EVP_sha256(), key.data(), static_cast<int>(size),
                   reinterpret_cast<unsigned char const*>(message.data()), message.size(), wanted.data(), nullptr);
            BOOST_TEST((hash("id", text) == wanted));
            BOOST_TEST((other("id", text) != wanted));
        }
    }
}

// A client that may lock b/ must not reach another lock with an id of its own making.
BOOST_FIXTURE_TEST_CASE(serve_refuses_ids_that_it_has_not_made, two_services)
{
    using namespace redlock::serve;
    r[0].ask({"SET", "lock:foreign", "1"});
    auto const won = one.acquire(R"({"resources":["a/x"],"ttl_ms":60000,"wait_ms":9000})");
    lock_ids const ours({"redlock serve"}), made({"another service"});
    auto const ticket = ours.ticket_of(won.text("id"));
    BOOST_TEST_REQUIRE(ticket.has_value());
    auto other = *ticket;
    other.resources = std::string("b/x");
    for (auto const& t : {*ticket, other, lock_ticket{.resources = std::string("foreign"), .token = "1"}}) {
        for (auto const method : {verb::get, verb::patch, verb::delete_})
            BOOST_TEST(two.ask(method, "/v1/held/" + made.id_of(t)).text("type") == "urn:redlock:unknown-lock");
    }
    BOOST_TEST(r[0].ask({"GET", "lock:foreign"}) == "1");
    BOOST_TEST(two.ask(verb::get, "/v1/held/" + won.text("id")).status == 200u);
    for (auto const& l : {"a%2Fx", "foreign"})
        BOOST_TEST(one.ask(verb::post, std::string("/v1/locks/") + l + "/break", "", {{"If-Match", "*"}}).status
                   == 428u);
}

BOOST_AUTO_TEST_CASE(serve_with_the_key_of_another_instance_knows_its_ids)
{
    real_servers r(1);
    testbed::temporary_folder folder;
    std::string const token = "jobs-token-0123456789";
    auto const serves = [&](std::string const& name, std::string const& more) {
        write_secret(folder.path + "/" + name, token + " * lock\n" + more);
        return std::make_unique<service>(r, std::vector<std::string>{"--token-file", folder.path + "/" + name});
    };
    auto const alone = serves("alone", "a-token-of-others-0123 x lock\n"), same = serves("same", "");
    auto const one = serves("one", "key 0123456789abcdef\n");
    auto const two = serves("two", "a-token-of-others-0123 x lock\nkey 9876543210abcdef\nkey 0123456789abcdef\n");
    headers const who{{"Authorization", "Bearer " + token}};
    auto const status_at = [&](service const& asked, service const& acquired) {
        auto const won = acquired.acquire(R"({"resources":["a"],"wait_ms":9000})", who);
        auto const path = "/v1/held/" + won.text("id");
        auto const status = asked.ask(verb::patch, path, "", who).status;
        BOOST_TEST(acquired.ask(verb::delete_, path, "", who).status == 204u);
        return status;
    };
    BOOST_TEST(status_at(*two, *one) == 200u);
    BOOST_TEST(status_at(*one, *two) == 404u);  // its first key is new
    BOOST_TEST(status_at(*alone, *same) == 404u);
}

BOOST_FIXTURE_TEST_CASE(serve_tells_whether_a_lock_is_still_held, two_services)
{
    auto const won = one.acquire(R"({"resources":["a","b"],"ttl_ms":60000,"wait_ms":9000,"owner":"ci","note":"n"})");
    auto const path = "/v1/held/" + won.text("id");
    auto const held = two.ask(verb::get, path);
    BOOST_TEST_REQUIRE(held.status == 200u, held.body);
    BOOST_TEST(held.number("valid_for_ms") > 0);
    BOOST_TEST(held.number("valid_for_ms") <= won.number("valid_for_ms"));
    BOOST_TEST(held.text("id") == won.text("id"));
    BOOST_TEST(held.number("fencing_token") == won.number("fencing_token"));
    for (auto const* const name : {"/v1/locks/a", "/v1/locks?name=b"}) {
        auto const seen = two.ask(verb::get, name);
        BOOST_TEST(seen.text("owner") == "ci", seen.body);
        BOOST_TEST(!seen.etag.empty());
    }
    BOOST_TEST(two.ask(verb::get, "/v1/locks?name=b&prefix=b").status == 400u);
    auto const reader = one.acquire(R"({"resources":["c"],"mode":"shared","ttl_ms":60000})");
    auto const reads = two.ask(verb::get, "/v1/held/" + reader.text("id"));
    BOOST_TEST(reads.status == 200u, reads.body);
    BOOST_TEST(reads.json().at("valid_for_ms").is_null());

    auto const etag = one.ask(verb::get, "/v1/locks/b").etag;
    BOOST_TEST(two.ask(verb::post, "/v1/locks/b/break", "", {{"If-Match", etag}}).status == 200u);
    BOOST_TEST(two.ask(verb::get, path).status == 404u);  // a part of it is gone
    BOOST_TEST(two.ask(verb::delete_, "/v1/held/" + reader.text("id")).status == 204u);
    BOOST_TEST(two.ask(verb::get, "/v1/held/" + reader.text("id")).status == 404u);
}

// A request that comes late looks like a repeated one, so no instance takes the lock of another one over by its key.
BOOST_AUTO_TEST_CASE(serve_recognises_a_repeated_request_on_another_instance)
{
    real_servers r(3);
    service const one(r), two(r);
    for (auto const* const body : {R"({"resources":["a","b"],"ttl_ms":60000,"wait_ms":60000})",
                                   R"({"resources":["c"],"mode":"shared","ttl_ms":60000,"wait_ms":60000})"}) {
        headers const key{{"Idempotency-Key", body}};
        auto const first = one.acquire(body, key), again = two.acquire(body, key);
        BOOST_TEST_REQUIRE(first.status == 201u, first.body);
        BOOST_TEST(again.status == 409u, again.body);
        BOOST_TEST(again.text("type") == "urn:redlock:in-progress");
        BOOST_TEST(one.ask(verb::get, "/v1/held/" + first.text("id")).status == 200u);
        BOOST_TEST(two.ask(verb::delete_, "/v1/held/" + first.text("id")).status == 204u);
        BOOST_TEST(one.acquire(body, key).status == 404u);  // it was released elsewhere
        BOOST_TEST(two.acquire(body, key).status == 201u);
    }
    auto const other = two.acquire(R"({"resources":["b"]})", {{"Idempotency-Key", "8"}});
    BOOST_TEST(other.text("type") == "urn:redlock:busy");
}

BOOST_AUTO_TEST_CASE(extend_of_a_lock_of_another_instance_counts_no_lock_here)
{
    real_servers r(3);
    service const one(r, {"--max-locks", "1"}), two(r);
    auto const won = two.acquire(R"({"resources":["a"],"ttl_ms":60000})");
    BOOST_TEST_REQUIRE(won.status == 201u, won.body);
    BOOST_TEST(one.ask(verb::patch, "/v1/held/" + won.text("id"), R"({"ttl_ms":60000})").status == 200u);
    auto const other = one.acquire(R"({"resources":["b"]})");
    BOOST_TEST(other.status == 201u, other.body);
}

BOOST_AUTO_TEST_CASE(read_of_a_file_of_tokens_names_the_wrong_line)
{
    using redlock::serve::access;
    auto const why = [](std::string const& text) {
        try {
            access::read(text);
            return std::string();
        } catch (std::invalid_argument const& e) {
            return std::string(e.what());
        }
    };
    BOOST_TEST(why("") == "it has no token");
    BOOST_TEST(has(why("# a\nshort * read"), "line 2: the token has 5 bytes"));
    BOOST_TEST(has(why("0123456789abcdef * write"), "line 1: there is no right \"write\""));
    BOOST_TEST(has(why("0123456789abcdef *"), "line 1: it must have a token"));
    BOOST_TEST(why("0123456789abcdef * read") == "");
    BOOST_TEST(has(why("key 0123456789"), "line 1: the key has 10 bytes, but must have 16 at least"));
    BOOST_TEST(has(why("key 0123456789abcdef * read"), "line 1: it must have a token"));
    BOOST_TEST(why("key 0123456789abcdef") == "it has no token");
    BOOST_TEST(has(why("0123456789abcdef * lock, read"), "line 1: it must have a token"));
    BOOST_TEST(has(why("0123456789abcdef * lock read"), "line 1: \"read\" is a right, and no name"));
    BOOST_TEST(has(why("0123456789abcdef * lock jobs more"), "line 1: it must have a token"));
    for (auto const& name :
         {std::string("#jobs"), std::string("jobs\x1b"), std::string("\xc3\xa4"), std::string(65, 'a')})
        BOOST_TEST(has(why("0123456789abcdef * lock " + name), "line 1: the name of the token must have"), name);
    BOOST_TEST(why("0123456789abcdef * lock " + std::string(64, 'a')) == "");
    BOOST_TEST(has(why("0123456789abcdef a lock jobs\n\n0123456789abcdef b lock"),
                   "line 3: the name of the token is not the one on line 1"));
    BOOST_TEST(why("0123456789abcdef a lock jobs\n0123456789abcdef b lock jobs\nother-0123456789 * lock jobs") == "");
}

// A token in a wrong column must not be in a message.
BOOST_AUTO_TEST_CASE(read_of_a_file_of_tokens_never_shows_a_token)
{
    std::string const token = "secret-0123456789", other = "hidden-0123456789";
    for (auto const& text :
         {"prefix-of-names-that-is-long lock " + token, token + " * lock " + other + '\n' + other + " * lock",
          token + " * lock " + token, token + " * " + token, "short lock " + token, token}) {
        try {
            redlock::serve::access::read(text);
            BOOST_ERROR(text);
        } catch (std::invalid_argument const& e) {
            BOOST_TEST(!has(e.what(), token), e.what());
            BOOST_TEST(!has(e.what(), other), e.what());
        }
    }
}

BOOST_AUTO_TEST_CASE(in_words_names_a_token_or_its_first_line)
{
    auto const all = redlock::serve::access::read("# tokens\n0123456789abcdef a/ lock\n0123456789abcdef b/ lock\n"
                                                  "other-0123456789 * read reports\n");
    BOOST_TEST(all.in_words("0123456789abcdef") == "token on line 2");
    BOOST_TEST(all.in_words("other-0123456789") == "token \"reports\"");
    BOOST_TEST(all.in_words("a-third-0123456789") == "unknown token");
    BOOST_TEST(all.in_words("") == "client without a token");
    BOOST_TEST(redlock::serve::access().in_words("") == "client");
}

BOOST_AUTO_TEST_SUITE_END()
