// redlock serve: sessions, whose locks are renewed while a stream of events is open.

#include "cli/event_reader.hpp"
#include "cli/running_service.hpp"
#include "support/certificates.hpp"

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <list>
#include <memory>
#include <set>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(serve_sessions)

namespace {

struct two_services {
    real_servers r{3};
    service one{r, {"--fencing"}}, two{r, {"--fencing"}};

    http_answer take(std::string const& name, std::string const& session, int ttl_ms = 60'000)
    {
        auto won = one.acquire(
            fmt::format(R"({{"resources":["{}"],"ttl_ms":{},"wait_ms":9000,"session":"{}"}})", name, ttl_ms, session));
        BOOST_TEST_REQUIRE(won.status == 201u, won.body);
        return won;
    }
    bool is_locked(std::string const& name) const
    {
        return two.ask(verb::get, "/v1/locks/" + name).json().at("locked").as_bool();
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(session_renews_its_locks_until_its_stream_ends, two_services)
{
    auto stream = std::make_unique<event_reader>(one);
    BOOST_TEST(has(stream->head(), "Content-Type: text/event-stream"));
    auto const session = stream->session();
    auto const renewed = take("a", session, 4'000), kept = take("b", session);
    BOOST_TEST(comes_true(
        [&] { return has(one.ask(verb::get, "/metrics").body, "redlock_renewals_total{outcome=\"extended\"} 2"); }));

    auto const shown = one.ask(verb::get, "/v1/sessions/" + session).json().at("locks").as_array();
    BOOST_TEST_REQUIRE(shown.size() == 2u);
    for (auto const& l : shown)
        BOOST_TEST(l.at("valid_for_ms").to_number<int>() > 0);
    BOOST_TEST(two.ask(verb::get, "/v1/sessions/" + session).status == 404u);

    stream.reset();
    BOOST_TEST(two.acquire(R"({"resources":["a","b"],"wait_ms":9000})").status == 201u);
    BOOST_TEST(one.ask(verb::get, "/v1/sessions/" + session).status == 404u);
    BOOST_TEST(one.acquire(fmt::format(R"({{"resources":"c","session":"{}"}})", session)).status == 404u);
}

BOOST_FIXTURE_TEST_CASE(session_locks_are_extended_and_released_by_their_ids, two_services)
{
    event_reader stream(one);
    auto const session = stream.session();
    auto const won = take("a", session);
    auto const path = "/v1/held/" + won.text("id");
    BOOST_TEST(one.ask(verb::patch, path, R"({"ttl_ms":50000})").status == 200u);
    BOOST_TEST(one.ask(verb::patch, path, R"({"ttl_ms":1})").status == 400u);
    BOOST_TEST(one.ask(verb::delete_, path).status == 204u);
    BOOST_TEST(one.ask(verb::delete_, path).status == 404u);
    BOOST_TEST(one.ask(verb::get, "/v1/sessions/" + session).json().at("locks").as_array().empty());

    auto const next = take("a", session);
    BOOST_TEST(next.number("fencing_token") > won.number("fencing_token"));
    BOOST_TEST(one.ask(verb::delete_, "/v1/sessions/" + session).status == 204u);
    BOOST_TEST(two.acquire(R"({"resources":["a"],"wait_ms":9000})").status == 201u);
    BOOST_TEST(!has(stream.rest(), "event: lost"));
}

BOOST_FIXTURE_TEST_CASE(session_tells_that_a_lock_is_lost_before_its_validity_ends, two_services)
{
    event_reader stream(one);
    auto const session = stream.session();
    take("other", session);
    auto const won = take("a", session, 4'000);
    for (std::size_t i = 0; i < 3; ++i)
        r[i].ask({"DEL", "lock:a"});
    auto const lost = stream.next("lost");
    BOOST_TEST(lost.at("id").as_string() == won.text("id"));
    BOOST_TEST(lost.at("resources").as_array().at(0).as_string() == "a");
    BOOST_TEST(lost.at("valid_for_ms").to_number<int>() >= 0);
    BOOST_TEST(one.ask(verb::get, "/v1/sessions/" + session).json().at("locks").as_array().size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(session_tells_that_a_lock_expires_while_the_servers_stand_still, two_services)
{
    event_reader stream(one);
    auto const won = take("a", stream.session(), 8'000);
    for (std::size_t i = 0; i < 3; ++i)
        r[i].pause();
    auto const expiring = stream.next("expiring");
    BOOST_TEST(expiring.at("id").as_string() == won.text("id"));
    BOOST_TEST(stream.next("lost").at("id").as_string() == won.text("id"));
    BOOST_TEST(!has(stream.skipped, "event: expiring"));  // one event is enough
    for (std::size_t i = 0; i < 3; ++i)
        r[i].resume();
}

BOOST_FIXTURE_TEST_CASE(session_tells_about_clients_that_wait_for_its_locks, two_services)
{
    event_reader stream(one, R"({"wanted":true})");
    auto const won = take("a", stream.session());
    for (auto const* const s : {&two, &one}) {
        auto waits = s->connect();
        waits.send(verb::post, "/v1/locks", R"({"resources":["a"],"wait_ms":60000,"owner":"ci","note":"me"})");
        auto const wanted = stream.next("wanted");
        BOOST_TEST(wanted.at("id").as_string() == won.text("id"));
        BOOST_TEST(!wanted.at("waiters").as_array().empty());
        if (s == &one) {
            BOOST_TEST(wanted.at("waiters").at(0).at("owner").as_string() == "ci");
            break;
        }
    }
}

BOOST_FIXTURE_TEST_CASE(session_continues_after_a_reconnection_within_its_grace, two_services)
{
    auto stream = std::make_unique<event_reader>(one, R"({"grace_ms":60000})");
    auto const session = stream->session();
    auto const last = stream->last_id;
    auto const won = take("a", session);
    stream.reset();
    for (std::size_t i = 0; i < 3; ++i)
        r[i].ask({"DEL", "lock:a"});
    BOOST_TEST(one.ask(verb::patch, "/v1/held/" + won.text("id")).status == 404u);
    event_reader again(one, "", {{"Last-Event-ID", last}});
    BOOST_TEST(again.next("lost").at("id").as_string() == won.text("id"));

    event_reader unknown(one, "", {{"Last-Event-ID", "0123.4"}});
    BOOST_TEST(has(unknown.head(), " 404 "));
    take("b", session);
    event_reader newest(one, "", {{"Last-Event-ID", again.last_id}});
    BOOST_TEST(again.rest() == "");  // the new stream has ended the old one, but not the session
    BOOST_TEST(is_locked("b"));
    BOOST_TEST(one.ask(verb::delete_, "/v1/sessions/" + session).status == 204u);
    BOOST_TEST(!has(newest.rest(), "id: "));
}

BOOST_FIXTURE_TEST_CASE(session_takes_over_a_lock_of_another_instance, two_services)
{
    auto const won = two.acquire(R"({"resources":["a"],"ttl_ms":9000,"wait_ms":9000})");
    auto const path = "/v1/held/" + won.text("id");
    auto first = std::make_unique<event_reader>(one);
    auto const session = first->session();
    auto const body = fmt::format(R"({{"ttl_ms":60000,"session":"{}"}})", session);
    auto const taken = one.ask(verb::patch, path, body);
    BOOST_TEST_REQUIRE(taken.status == 200u, taken.body);
    BOOST_TEST(taken.text("id") != won.text("id"));
    BOOST_TEST(one.ask(verb::patch, path, body).text("id") == taken.text("id"));  // the request is repeated
    BOOST_TEST(two.ask(verb::patch, path).status == 404u);                        // the first id is void
    BOOST_TEST(two.ask(verb::delete_, path).status == 404u);
    event_reader second(one);
    auto const moved = fmt::format(R"({{"ttl_ms":60000,"session":"{}"}})", second.session());
    BOOST_TEST(one.ask(verb::patch, "/v1/held/" + taken.text("id"), moved).text("id") == taken.text("id"));
    BOOST_TEST(one.ask(verb::get, "/v1/sessions/" + session).json().at("locks").as_array().empty());
    BOOST_TEST(one.ask(verb::delete_, "/v1/sessions/" + session).status == 204u);
    BOOST_TEST(is_locked("a"));
    BOOST_TEST(one.ask(verb::patch, path, R"({"session":"0123"})").status == 404u);
}

// Requests with the old id and another session come late.
BOOST_FIXTURE_TEST_CASE(session_keeps_its_lock_from_late_moves_with_the_old_id, two_services)
{
    auto const won = two.acquire(R"({"resources":["a"],"ttl_ms":60000,"wait_ms":9000})");
    auto const path = "/v1/held/" + won.text("id");
    event_reader late(one), holder(one, R"({"grace_ms":100})"), elsewhere(two);
    auto const into = [](std::string const& session) {
        return fmt::format(R"({{"ttl_ms":60000,"session":"{}"}})", session);
    };
    auto const session = holder.session();
    auto const moved = one.ask(verb::patch, path, into(session));
    BOOST_TEST_REQUIRE(moved.status == 200u, moved.body);
    BOOST_TEST(one.ask(verb::patch, path, into(late.session())).status == 404u);
    BOOST_TEST(two.ask(verb::patch, path, into(elsewhere.session())).status == 404u);
    BOOST_TEST(one.ask(verb::get, "/v1/sessions/" + session).json().at("locks").as_array().size() == 1u);
    BOOST_TEST(one.ask(verb::get, "/v1/held/" + moved.text("id")).status == 200u);
    BOOST_TEST(one.ask(verb::delete_, "/v1/held/" + moved.text("id")).status == 204u);
}

// The first instance hears at once that the keys are gone, and renews. The renewal must not set them again.
BOOST_FIXTURE_TEST_CASE(release_on_another_instance_leaves_no_keys_of_a_session, two_services)
{
    event_reader stream(one);
    auto const session = stream.session();
    for (int i = 0; i < 5; ++i) {
        auto const won = take("a", session, 4'000);  // fails if the keys of the lock before are left
        BOOST_TEST(two.ask(verb::delete_, "/v1/held/" + won.text("id")).status == 204u);
        BOOST_TEST(stream.next("lost").at("id").as_string() == won.text("id"));
    }
}

BOOST_FIXTURE_TEST_CASE(session_sets_a_key_again_that_a_node_has_forgotten, two_services)
{
    event_reader stream(one);
    take("a", stream.session(), 4'000);
    for (std::size_t i = 0; i < 3; ++i) {
        r[i].ask({"DEL", "lock:a"});
        BOOST_TEST(comes_true([&] { return r.keys("lock:a") == 3; }));
        stream.next("valid");
    }
    BOOST_TEST(!has(stream.skipped, "event: lost"));
}

BOOST_FIXTURE_TEST_CASE(held_lock_of_a_session_that_was_released_elsewhere_is_unknown, two_services)
{
    event_reader stream(one);
    auto const won = take("a", stream.session());
    auto const path = "/v1/held/" + won.text("id");
    BOOST_TEST(one.ask(verb::get, path).status == 200u);
    BOOST_TEST(two.ask(verb::delete_, path).status == 204u);
    BOOST_TEST(one.ask(verb::get, path).status == 404u);
}

BOOST_FIXTURE_TEST_CASE(session_that_is_deleted_has_released_its_locks, two_services)
{
    for (int i = 0; i < 3; ++i) {
        event_reader stream(one);
        auto const session = stream.session();
        take("a", session);
        take("b", session);
        BOOST_TEST(one.ask(verb::delete_, "/v1/sessions/" + session).status == 204u);
        auto const next = two.acquire(R"({"resources":["a","b"],"ttl_ms":60000})");
        BOOST_TEST_REQUIRE(next.status == 201u, next.body);
        BOOST_TEST(two.ask(verb::delete_, "/v1/held/" + next.text("id")).status == 204u);
    }
    event_reader stream(one);
    auto const session = stream.session();
    take("a", session);
    r[0].pause();
    r[1].pause();
    auto const told = one.ask(verb::delete_, "/v1/sessions/" + session);
    r[0].resume();
    r[1].resume();
    BOOST_TEST(told.status == 503u);
    BOOST_TEST(has(told.text("detail"), "goes on with it in the background"), told.body);
    BOOST_TEST(two.acquire(R"({"resources":["a"],"wait_ms":60000})").status == 201u);
}

BOOST_FIXTURE_TEST_CASE(extend_by_requests_at_once_leaves_a_lock_in_one_session, two_services)
{
    for (int i = 0; i < 5; ++i) {
        auto const won = two.acquire(fmt::format(R"({{"resources":["a{}"],"ttl_ms":60000,"wait_ms":9000}})", i));
        auto const path = "/v1/held/" + won.text("id");
        auto first = std::make_unique<event_reader>(one), second = std::make_unique<event_reader>(one);
        std::vector<std::string> const sessions{first->session(), second->session()};
        std::list<http_connection> requests;
        for (auto const& session : {sessions[0], sessions[1], sessions[0], sessions[1]}) {
            requests.emplace_back(one.endpoint());
            requests.back().send(verb::patch, path, fmt::format(R"({{"ttl_ms":60000,"session":"{}"}})", session));
        }
        std::vector<std::string> ids;  // the requests of one session get the lock
        for (auto& r : requests) {
            auto const moved = r.receive();
            BOOST_TEST((moved.status == 200u || moved.status == 404u), moved.body);
            if (moved.status == 200)
                ids.push_back(moved.text("id"));
        }
        BOOST_TEST_REQUIRE(ids.size() == 2u);
        BOOST_TEST(ids.front() == ids.back());
        auto const locks_of = [&](std::string const& session) {
            return one.ask(verb::get, "/v1/sessions/" + session).json().at("locks").as_array().size();
        };
        BOOST_TEST(locks_of(sessions[0]) + locks_of(sessions[1]) == 1u);
        (locks_of(sessions[0]) == 0 ? first : second).reset();
        BOOST_TEST(one.ask(verb::patch, "/v1/held/" + ids.front(), R"({"ttl_ms":50000})").status == 200u);
        BOOST_TEST(is_locked(fmt::format("a{}", i)));
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_repeated_after_the_end_of_the_lock_returns_404, two_services)
{
    http_headers const key{{"Idempotency-Key", "7"}};
    auto stream = std::make_unique<event_reader>(one);
    auto const body =
        fmt::format(R"({{"resources":["a"],"ttl_ms":60000,"wait_ms":9000,"session":"{}"}})", stream->session());
    auto const first = one.acquire(body, key), again = one.acquire(body, key);
    BOOST_TEST_REQUIRE(first.status == 201u, first.body);
    BOOST_TEST(again.status == 201u);
    BOOST_TEST(again.text("id") == first.text("id"));
    stream.reset();
    BOOST_TEST(comes_true([&] { return !is_locked("a"); }));
    BOOST_TEST(one.acquire(body, key).status == 404u);

    std::string const plain = R"({"resources":["b"],"ttl_ms":60000,"wait_ms":9000})";
    auto const won = one.acquire(plain, {{"Idempotency-Key", "8"}});
    BOOST_TEST(two.ask(verb::delete_, "/v1/held/" + won.text("id")).status == 204u);
    BOOST_TEST(one.acquire(plain, {{"Idempotency-Key", "8"}}).text("type") == "urn:redlock:not-held");
}

BOOST_FIXTURE_TEST_CASE(session_with_a_grace_leaves_a_lock_that_was_moved, two_services)
{
    auto first = std::make_unique<event_reader>(one, R"({"grace_ms":100})");
    auto const session = first->session();
    auto const won = take("a", session);
    event_reader second(two, R"({"grace_ms":60000})");
    auto const body = fmt::format(R"({{"ttl_ms":60000,"session":"{}"}})", second.session());
    auto const moved = two.ask(verb::patch, "/v1/held/" + won.text("id"), body);
    BOOST_TEST_REQUIRE(moved.status == 200u, moved.body);
    first.reset();
    BOOST_TEST(comes_true([&] { return one.ask(verb::get, "/v1/sessions/" + session).status == 404; }));
    BOOST_TEST(is_locked("a"));
    BOOST_TEST(two.ask(verb::patch, "/v1/held/" + moved.text("id"), R"({"ttl_ms":60000})").status == 200u);
    BOOST_TEST(one.acquire(R"({"resources":["a"]})").status == 409u);
}

// The first session has no grace. Its instance releases the first token, which is void.
BOOST_FIXTURE_TEST_CASE(session_without_a_grace_leaves_a_lock_that_was_moved, two_services)
{
    auto first = std::make_unique<event_reader>(one);
    auto const session = first->session();
    auto const won = take("a", session);
    event_reader second(two);
    auto const body = fmt::format(R"({{"ttl_ms":60000,"session":"{}"}})", second.session());
    auto const moved = two.ask(verb::patch, "/v1/held/" + won.text("id"), body);
    BOOST_TEST_REQUIRE(moved.status == 200u, moved.body);
    first.reset();
    BOOST_TEST(comes_true([&] { return one.ask(verb::get, "/v1/sessions/" + session).status == 404; }));
    for (int i = 0; i < 5; ++i)
        BOOST_TEST(one.acquire(R"({"resources":["a"],"wait_ms":100})").status == 409u);
    BOOST_TEST(one.ask(verb::get, "/v1/held/" + moved.text("id")).status == 200u);
    BOOST_TEST(one.ask(verb::delete_, "/v1/held/" + moved.text("id")).status == 204u);
}

BOOST_AUTO_TEST_CASE(session_is_told_that_the_service_ends_and_its_locks_stay)
{
    real_servers r(3);
    service one(r), two(r);
    event_reader stream(one, R"({"grace_ms":5000})");
    auto const won = one.acquire(
        fmt::format(R"({{"resources":["a"],"ttl_ms":60000,"wait_ms":9000,"session":"{}"}})", stream.session()));
    BOOST_TEST_REQUIRE(won.status == 201u, won.body);
    one.tool().process().signal(SIGTERM);
    stream.next("stopping");
    BOOST_TEST(stream.rest() == "");
    BOOST_TEST(one.tool().wait().status == 0);
    event_reader next(two);
    auto const body = fmt::format(R"({{"ttl_ms":60000,"session":"{}"}})", next.session());
    BOOST_TEST(two.ask(verb::patch, "/v1/held/" + won.text("id"), body).status == 200u);
}

BOOST_AUTO_TEST_CASE(session_belongs_to_its_bearer_token)
{
    real_servers r(1);
    testbed::temporary_folder folder;
    auto const file = folder.path + "/tokens";
    write_secret(file, "first-token-0123456789 a/ lock,read\nother-token-0123456789 * lock\n");
    service const s(r, {"--token-file", file, "--max-sessions", "1", "--max-locks", "2"});
    http_headers const first{{"Authorization", "Bearer first-token-0123456789"}};
    http_headers const other{{"Authorization", "Bearer other-token-0123456789"}};
    BOOST_TEST(s.ask(verb::post, "/v1/sessions").status == 401u);
    event_reader stream(s, "", first);
    auto const session = stream.session();
    auto const named = [&](std::string const& name) {
        return fmt::format(R"({{"resources":["{}"],"wait_ms":9000,"ttl_ms":60000,"session":"{}"}})", name, session);
    };
    BOOST_TEST(s.acquire(named("a/1"), first).status == 201u);
    BOOST_TEST(s.acquire(named("b"), first).status == 403u);
    BOOST_TEST(s.acquire(named("a/2"), other).text("type") == "urn:redlock:unknown-session");
    BOOST_TEST(s.ask(verb::get, "/v1/sessions/" + session, "", other).status == 404u);
    BOOST_TEST(s.ask(verb::delete_, "/v1/sessions/" + session, "", other).status == 404u);
    BOOST_TEST(s.ask(verb::post, "/v1/sessions", "", first).text("type") == "urn:redlock:too-many-sessions");
    BOOST_TEST(s.acquire(R"({"resources":["a/3"],"ttl_ms":60000})", first).status == 201u);
    auto const refused = s.acquire(R"({"resources":["a/4"]})", first);
    BOOST_TEST(refused.status == 429u);
    BOOST_TEST(refused.text("type") == "urn:redlock:too-many-locks");
    BOOST_TEST(s.acquire(R"({"resources":["a/4"],"ttl_ms":60000})", other).status == 201u);
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_by_several_waiters_gives_each_its_own_lock, two_services)
{
    auto const writer = one.acquire(R"({"resources":["a"],"ttl_ms":60000,"wait_ms":9000})");
    std::list<http_connection> readers;
    for (int i = 0; i < 4; ++i) {
        readers.emplace_back(one.endpoint());
        readers.back().send(verb::post, "/v1/locks",
                            R"({"resources":["a"],"ttl_ms":60000,"wait_ms":60000,"mode":"shared"})");
    }
    BOOST_TEST(comes_true([&] { return has(one.ask(verb::get, "/metrics").body, "redlock_waiters 4\n"); }));
    BOOST_TEST(one.ask(verb::delete_, "/v1/held/" + writer.text("id")).status == 204u);
    std::vector<std::string> ids;
    for (auto& reader : readers) {
        auto const won = reader.receive();
        BOOST_TEST_REQUIRE(won.status == 201u, won.body);
        ids.push_back(won.text("id"));
    }
    for (auto const& id : ids)
        BOOST_TEST(two.ask(verb::delete_, "/v1/held/" + id).status == 204u);
    BOOST_TEST(two.acquire(R"({"resources":["a"],"wait_ms":9000})").status == 201u);
}

BOOST_FIXTURE_TEST_CASE(acquire_of_several_locks_after_a_wait_succeeds_without_a_node, two_services)
{
    auto const other = one.acquire(R"({"resources":["b"],"ttl_ms":60000,"wait_ms":9000})");
    auto waits = two.connect();
    waits.send(verb::post, "/v1/locks", R"({"resources":["a","b","c"],"ttl_ms":60000,"wait_ms":60000})");
    BOOST_TEST(comes_true([&] { return has(two.ask(verb::get, "/metrics").body, "redlock_waiters 1\n"); }));
    r[2].pause();
    BOOST_TEST(one.ask(verb::delete_, "/v1/held/" + other.text("id")).status == 204u);
    auto const won = waits.receive();
    BOOST_TEST_REQUIRE(won.status == 201u, won.body);
    BOOST_TEST(one.ask(verb::delete_, "/v1/held/" + won.text("id")).status == 204u);
    r[2].resume();
}

BOOST_AUTO_TEST_CASE(serve_with_tls_and_several_threads_serves_all_requests)
{
    namespace ssl = asio::ssl;
    certificates const own;
    real_servers r(3);
    service const s(r, {"--threads", "2", "--tls", own.file("server.pem"), own.file("server.key")});
    BOOST_TEST(s.url().starts_with("https://"));
    ssl::context trust(ssl::context::tls_client);
    trust.load_verify_file(own.file("ca.pem"));
    trust.set_verify_mode(ssl::verify_peer);
    asio::io_context context;
    ssl::stream<asio::generic::stream_protocol::socket> stream(context, trust);
    stream.next_layer().connect(s.endpoint());
    stream.handshake(ssl::stream_base::client);
    boost::beast::flat_buffer input;
    for (int i = 0; i < 3; ++i) {
        http::request<http::string_body> asked(verb::post, "/v1/locks", 11);
        asked.body() = fmt::format(R"({{"resources":["a{}"],"wait_ms":9000}})", i);
        asked.set(http::field::host, "localhost");
        asked.prepare_payload();
        http::write(stream, asked);
        http::response<http::string_body> answer;
        http::read(stream, input, answer);
        BOOST_TEST(answer.result_int() == 201u, answer.body());
    }
    http::request<http::empty_body> opens(verb::post, "/v1/sessions", 11);
    opens.set(http::field::host, "localhost");
    http::write(stream, opens);
    std::string text;
    while (!has(text, "event: session")) {
        char bytes[512];
        text.append(bytes, stream.read_some(asio::buffer(bytes)));
    }
    auto plain = s.connect();
    plain.send_bytes("GET / HTTP/1.1\r\n\r\n");
    BOOST_TEST(plain.is_closed());
}

BOOST_AUTO_TEST_CASE(serve_with_threads_ends_waits_of_clients_that_have_gone)
{
    real_servers r(3);
    service s(r, {"--threads", "2"});
    auto const won = s.acquire(R"({"resources":["a"],"ttl_ms":60000,"wait_ms":9000})");
    for (int i = 0; i < 10; ++i) {
        auto goes = s.connect(), also = s.connect();
        for (auto* const c : {&goes, &also})
            c->send(verb::post, "/v1/locks", R"({"resources":["a"],"ttl_ms":60000,"wait_ms":60000})");
        event_reader const stream(s);
    }
    for (int i = 0; i < 300; ++i)
        s.connect().send(verb::post, "/v1/sessions");
    BOOST_TEST(comes_true([&] { return has(s.ask(verb::get, "/metrics").body, "redlock_waiters 0\n"); }));
    BOOST_TEST(s.ask(verb::delete_, "/v1/held/" + won.text("id")).status == 204u);
    BOOST_TEST(s.acquire(R"({"resources":["a"],"wait_ms":9000})").status == 201u);
    auto waits = s.connect();
    waits.send(verb::post, "/v1/locks", R"({"resources":["a"],"wait_ms":60000})");
    BOOST_TEST(comes_true([&] { return has(s.ask(verb::get, "/metrics").body, "redlock_waiters 1\n"); }));
    s.tool().process().signal(SIGTERM);
    BOOST_TEST(waits.receive().status == 503u);
    BOOST_TEST(s.tool().wait().status == 0);
}

BOOST_AUTO_TEST_CASE(serve_refuses_certificates_that_it_cannot_read)
{
    must_say(run_tool({"-u", "memory://a", "serve", "--tls", "/nowhere.pem", "/nowhere.key"}), 64, "/nowhere.pem");
    must_say(run_tool({"-u", "memory://a", "serve", "--tls", "/nowhere.pem"}), 64, "--tls must have two files");
}

BOOST_AUTO_TEST_SUITE_END()
