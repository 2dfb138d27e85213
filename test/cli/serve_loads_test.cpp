// redlock serve under clients that take all that they can: connections, sessions, waits, bodies, answers, locks.

#include "cli/event_reader.hpp"
#include "cli/running_service.hpp"
#include "tools/serve/answer_sizes.hpp"
#include "tools/serve/client_loads.hpp"
#include "tools/serve/event_queue.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <linux/filter.h>
#include <list>
#include <map>
#include <optional>
#include <set>
#include <sys/socket.h>
#include <thread>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(serve_loads)

namespace {

using words = std::vector<std::string>;

http_headers with_token(std::string const& token) { return {{"Authorization", "Bearer " + token}}; }

std::string lock_of(std::string const& name, int wait_ms = 0, int ttl_ms = 60'000)
{
    return fmt::format(R"({{"resources":["{}"],"ttl_ms":{},"wait_ms":{}}})", name, ttl_ms, wait_ms);
}

std::string path_of(http_answer const& won) { return "/v1/held/" + won.text("id"); }

std::uint16_t port_of(service const& s)
{
    return static_cast<std::uint16_t>(std::stoi(s.url().substr(s.url().rfind(':') + 1)));
}

/// A client that sends bytes, and reads only what it is told to read.
class raw_client {
public:
    /// @param sends  as much of it as the service takes at once
    raw_client(service const& s, std::string const& sends) : socket_(context_)
    {
        socket_.open(asio::ip::tcp::v4());
        socket_.set_option(asio::socket_base::receive_buffer_size(2048));
        socket_.connect({asio::ip::address_v4::loopback(), port_of(s)});
        socket_.non_blocking(true);
        socket_.write_some(asio::buffer(sends), ignored_);
    }

    /// Asks by sending. To read would make room for a further answer.
    bool is_closed()
    {
        boost::system::error_code ec;
        socket_.write_some(asio::buffer("G", 1), ec);
        return ec && ec != asio::error::would_block;
    }

    /// Whether a part of an answer has come. It is not read.
    bool is_answered() { return socket_.available(ignored_) > 0; }

    /// From now on, nothing arrives at this client, and it confirms nothing, as if its host had vanished.
    void vanish()
    {
        sock_filter drop_all{BPF_RET | BPF_K, 0, 0, 0};
        sock_fprog const program{1, &drop_all};
        BOOST_TEST_REQUIRE(::setsockopt(socket_.native_handle(), SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program)
                           == 0);
    }

private:
    asio::io_context context_;
    asio::ip::tcp::socket socket_;
    boost::system::error_code ignored_;
};

/// A service of few connections, with three tokens.
struct served_by_tokens {
    explicit served_by_tokens(words more = {"--max-connections", "16"})
    {
        std::string tokens;
        for (auto const& token : {greedy, other, third})
            tokens += token + " * lock,read,metrics\n";
        write_secret(folder.path + "/tokens", tokens);
        more.insert(more.end(), {"--token-file", folder.path + "/tokens"});
        running.emplace(r, more);
    }

    service& s() { return *running; }

    std::string const greedy = "greedy-token-0123456789", other = "other-token-0123456789",
                      third = "third-token-0123456789";
    http_headers const of_greedy = with_token(greedy), of_other = with_token(other), of_third = with_token(third);
    real_servers r{1};
    testbed::temporary_folder folder;
    std::optional<service> running;
};

struct served_by_tokens_on_eight : served_by_tokens {
    served_by_tokens_on_eight() : served_by_tokens({"--max-connections", "8"}) {}
};

/// Sends one request on a new connection. The answer may come later, or never.
void send(std::list<http_connection>& from, service const& s, verb method, std::string const& target,
          http_headers const& headers, std::string const& body = {})
{
    from.emplace_back(s.endpoint()).send(method, target, body, headers);
}

/// A session with locks that are megabytes of text, because of their names.
struct served_locks_with_long_names {
    served_locks_with_long_names()
    {
        for (std::size_t i = 0; i < locks; ++i) {
            boost::json::array names;
            for (std::size_t n = 0; n < names_of_lock; ++n)
                names.emplace_back(fmt::format("{}/{}/{:x>500}", i, n, ""));
            auto const won = s.acquire(boost::json::serialize(
                boost::json::object{{"resources", names}, {"ttl_ms", 60'000}, {"session", session}}));
            BOOST_TEST_REQUIRE(won.status == 201u, won.body);
            acquired.insert(won.text("id"));
        }
    }

    /// Reads all pages, from the first one on.
    template <class Function>
    void each_page(std::string const& first, Function f)
    {
        for (auto target = first;;) {
            auto const page = s.ask(verb::get, target);
            BOOST_TEST_REQUIRE(page.status == 200u, page.body);
            BOOST_TEST(page.body.size() < serve::page_bytes * 3 / 2);
            f(page.json());
            auto const next = page.json().at("next");
            if (next.is_null())
                return;
            target = first + "&from=" + std::string(next.as_string());
        }
    }

    static constexpr std::size_t locks = 100, names_of_lock = 8;
    real_servers r{1};
    service s{r};
    event_reader stream{s, R"({"grace_ms":60000})"};
    std::string const session = stream.session();
    std::set<std::string> acquired;
};

/// A queue of events of 1,000 bytes.
struct events_to_read {
    void add(int count)
    {
        for (int i = 0; i < count; ++i)
            all.add("expiring", {{"id", std::string(1000, 'x')}});
        added += count;
    }

    std::optional<std::string> next(std::uint64_t stream)
    {
        std::optional<std::string> text;
        asio::co_spawn(context, all.next(stream), [&](std::exception_ptr, auto t) { text = std::move(t); });
        context.restart();
        context.run();
        return text;
    }

    /// Reads all pieces. @return their size
    std::size_t rest(std::uint64_t stream)
    {
        std::size_t size = 0;
        for (auto piece = next(stream); piece && piece->size() > 3;
             piece = is_last(*piece) ? std::nullopt : next(stream)) {
            BOOST_TEST(piece->size() < serve::piece_bytes * 3 / 2);
            size += piece->size();
        }
        return size;
    }

    bool is_last(std::string const& piece) const { return has(piece, fmt::format("id: s.{}\n", added)); }

    asio::io_context context;
    int added = 0;
    serve::event_queue all{context.get_executor(), "s", true, [](auto&) { return std::nullopt; }};
};

std::string many_requests_of(std::string const& target)
{
    std::string all;
    for (int i = 0; i < 300; ++i)
        all += "GET " + target + " HTTP/1.1\r\nHost: localhost\r\n\r\n";
    return all;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(renewals_beside_clients_that_take_all_they_can_succeed, served_by_tokens)
{
    auto holder = s().connect();
    auto const held = holder.ask(verb::post, "/v1/locks", lock_of("x"), of_other);
    BOOST_TEST_REQUIRE(held.status == 201u, held.body);
    BOOST_TEST_REQUIRE(s().acquire(lock_of("busy"), of_greedy).status == 201u);
    std::list<http_connection> greedy_ones;
    std::list<raw_client> unknown;
    for (int round = 0; round < 3; ++round) {
        for (int i = 0; i < 40; ++i) {
            send(greedy_ones, s(), verb::post, "/v1/sessions", of_greedy);
            send(greedy_ones, s(), verb::post, "/v1/locks", of_greedy, lock_of("busy", 600'000));
            if (i % 4 == 0) {
                unknown.emplace_back(s(), many_requests_of("/openapi.json"));
                unknown.emplace_back(s(), "GET /healthz HTTP/1.1\r\n");
            }
        }
        std::this_thread::sleep_for(1200ms);  // the service may close connections that have been idle for a second

        BOOST_TEST(holder.ask(verb::patch, path_of(held), "", of_other).status == 200u);
        BOOST_TEST(s().ask(verb::patch, path_of(held), "", of_other).status == 200u);
        auto const won = s().acquire(lock_of("y", 5000), of_other);
        BOOST_TEST_REQUIRE(won.status == 201u, won.body);
        BOOST_TEST(event_reader(s(), "", of_other).session() != "");
        BOOST_TEST(s().ask(verb::delete_, path_of(won), "", of_other).status == 204u);
    }
}

BOOST_AUTO_TEST_CASE(sessions_and_waits_of_a_token_count_together)
{
    served_by_tokens by({"--max-connections", "32"});  // 16 for each token; 12 of these, and 24 of all, for long
                                                       // requests
    auto const won = by.s().acquire(lock_of("a"), by.of_greedy);
    BOOST_TEST_REQUIRE(won.status == 201u, won.body);
    auto waits = by.s().connect();
    waits.send(verb::post, "/v1/locks", lock_of("a", 600'000), by.of_greedy);
    BOOST_TEST(comes_true(
        [&] { return has(by.s().ask(verb::get, "/metrics", "", by.of_other).body, "redlock_waiters 1\n"); }));
    std::list<event_reader> sessions;
    for (int i = 0; i < 11; ++i)
        BOOST_TEST(sessions.emplace_back(by.s(), "", by.of_greedy).session() != "");

    for (auto const& refused : {by.s().acquire(lock_of("a", 600'000), by.of_greedy),
                                by.s().ask(verb::post, "/v1/sessions", "", by.of_greedy)}) {
        BOOST_TEST(refused.status == 429u);
        BOOST_TEST(refused.text("type") == "urn:redlock:too-many-long-requests");
        BOOST_TEST(has(refused.text("detail"), "may have 12 sessions and requests that wait"), refused.body);
        BOOST_TEST(has(refused.text("detail"), "--max-client-connections"), refused.body);
    }
    BOOST_TEST(by.s().acquire(lock_of("b"), by.of_greedy).status == 201u);
    sessions.pop_front();
    BOOST_TEST(comes_true([&] { return has(sessions.emplace_back(by.s(), "", by.of_greedy).head(), " 200 "); }));

    for (int i = 0; i < 12; ++i)
        BOOST_TEST(sessions.emplace_back(by.s(), "", by.of_other).session() != "");
    auto const full = by.s().ask(verb::post, "/v1/sessions", "", by.of_third);
    BOOST_TEST(full.status == 503u);
    BOOST_TEST(full.text("type") == "urn:redlock:full");
    BOOST_TEST(has(full.text("detail"), "has 24 sessions and requests that wait"), full.body);
    BOOST_TEST(!full.retry_after.empty());
    BOOST_TEST(by.s().acquire(lock_of("c"), by.of_third).status == 201u);
    BOOST_TEST(by.s().ask(verb::delete_, path_of(won), "", by.of_greedy).status == 204u);
    BOOST_TEST(waits.receive().status == 201u);
}

BOOST_AUTO_TEST_CASE(sessions_without_tokens_leave_connections_for_renewals)
{
    real_servers r(1);
    service const s(r, {"--max-connections", "4"});
    auto const won = s.acquire(lock_of("a"));
    std::list<event_reader> sessions;
    for (int i = 0; i < 3; ++i)
        BOOST_TEST(sessions.emplace_back(s).session() != "");
    auto const refused = s.acquire(lock_of("a", 600'000));
    BOOST_TEST(refused.status == 429u);
    BOOST_TEST(has(refused.text("detail"), "may have 3 sessions and requests that wait"), refused.body);
    BOOST_TEST(has(refused.text("detail"), "or raise --max-connections."), refused.body);
    BOOST_TEST(s.ask(verb::patch, path_of(won), "").status == 200u);
    BOOST_TEST(s.ask(verb::delete_, path_of(won), "").status == 204u);
}

BOOST_AUTO_TEST_CASE(connections_of_a_token_beyond_its_share_return_429)
{
    served_by_tokens by({"--max-connections", "8", "--max-client-connections", "1"});
    auto session = std::make_unique<event_reader>(by.s(), "", by.of_greedy);
    auto const refused = by.s().ask(verb::get, "/v1/locks/a", "", by.of_greedy);
    BOOST_TEST(refused.status == 429u);
    BOOST_TEST(refused.text("type") == "urn:redlock:too-many-connections");
    BOOST_TEST(has(refused.text("detail"), "may have 1 connections"), refused.body);
    BOOST_TEST(has(refused.text("detail"), "--max-client-connections"), refused.body);
    BOOST_TEST(by.s().ask(verb::get, "/v1/locks/a", "", by.of_other).status == 200u);
    session.reset();
    BOOST_TEST(comes_true([&] { return by.s().ask(verb::get, "/v1/locks/a", "", by.of_greedy).status == 200; }));
}

BOOST_AUTO_TEST_CASE(connections_of_a_token_that_are_idle_end_for_its_further_ones)
{
    served_by_tokens by({"--max-connections", "8", "--max-client-connections", "2"});
    auto first = by.s().connect(), second = by.s().connect(), of_other = by.s().connect();
    for (auto* const c : {&first, &second})
        BOOST_TEST(c->ask(verb::get, "/v1/locks/a", "", by.of_greedy).status == 200u);
    BOOST_TEST(of_other.ask(verb::get, "/v1/locks/a", "", by.of_other).status == 200u);
    std::list<http_connection> further;
    BOOST_TEST(comes_true([&] {  // an idle connection has a second
        return further.emplace_back(by.s().endpoint()).ask(verb::get, "/v1/locks/a", "", by.of_greedy).status == 200;
    }));
    BOOST_TEST(first.is_closed());
    BOOST_TEST(further.back().ask(verb::get, "/v1/locks/a", "", by.of_greedy).status == 200u);
    BOOST_TEST(of_other.ask(verb::get, "/v1/locks/a", "", by.of_other).status == 200u);
}

BOOST_FIXTURE_TEST_CASE(wrong_token_is_refused_before_the_body_is_read, served_by_tokens)
{
    auto const header = [](std::string const& token, std::string const& more) {
        return "POST /v1/locks HTTP/1.1\r\nHost: localhost\r\nContent-Length: 17\r\nAuthorization: Bearer " + token
               + "\r\n" + more + "\r\n";
    };
    auto const head = header("no-token-of-the-file", ""),
               asks = header("no-token-of-the-file", "Expect: 100-continue\r\n");
    for (auto const& sent : {head, head + "{", asks}) {
        auto c = s().connect();
        c.send_bytes(sent);
        BOOST_TEST(c.receive().status == 401u);
        BOOST_TEST(c.is_closed());
    }
    auto c = s().connect();
    for (int i = 0; i < 2; ++i) {
        c.send_bytes(header(other, "Expect: 100-continue\r\n"));
        c.read_until("HTTP/1.1 100 Continue\r\n\r\n");
        c.send_bytes(R"({"resources":"x"})");
        auto const won = c.receive();
        BOOST_TEST_REQUIRE(won.status == 201u, won.body);
        BOOST_TEST(c.ask(verb::delete_, path_of(won), "", of_other).status == 204u);
    }
    // A long body, most of which comes while the token is checked.
    BOOST_TEST(s().acquire(lock_of("x") + std::string(250'000, ' '), of_other).status == 201u);
}

BOOST_AUTO_TEST_CASE(bodies_that_are_still_to_come_count_for_max_bytes)
{
    served_by_tokens by({"--max-bytes", "1000"});
    auto const header = [&](int size) {
        return fmt::format("POST /v1/locks HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n{}\r\n", size,
                           "Authorization: Bearer " + by.greedy + "\r\n");
    };
    auto first = by.s().connect();
    first.send_bytes(header(900) + '{');
    std::optional<http_answer> refused;
    BOOST_TEST(comes_true([&] {  // as soon as the service has read the header of the first one
        auto second = by.s().connect();
        second.send_bytes(header(200));
        second.send_bytes(std::string(200, ' '));
        refused = second.receive();
        return refused->status == 429;
    }));
    BOOST_TEST(refused->text("type") == "urn:redlock:too-many-bytes");
    BOOST_TEST(by.s().acquire(lock_of("a") + std::string(200, ' '), by.of_other).status == 201u);
    first.send_bytes(std::string(899, ' '));
    BOOST_TEST(first.receive().status == 400u);
    BOOST_TEST(by.s().acquire(lock_of("b") + std::string(200, ' '), by.of_greedy).status == 201u);
}

BOOST_AUTO_TEST_CASE(short_requests_beyond_max_requests_return_429)
{
    served_by_tokens by({"--max-requests", "1"});
    by.r[0].pause();
    std::list<http_connection> slow;
    http_answer refused;
    BOOST_TEST(comes_true([&] {
        send(slow, by.s(), verb::get, "/v1/locks/a", by.of_greedy);
        refused = by.s().ask(verb::delete_, "/v1/sessions/0", "", by.of_greedy);
        return refused.status == 429;
    }));
    BOOST_TEST(refused.text("type") == "urn:redlock:too-many-requests");
    BOOST_TEST(has(refused.text("detail"), "--max-requests"), refused.body);
    BOOST_TEST(by.s().ask(verb::delete_, "/v1/sessions/0", "", by.of_other).status == 404u);
    by.r[0].resume();
    BOOST_TEST(comes_true([&] { return by.s().ask(verb::delete_, "/v1/sessions/0", "", by.of_greedy).status == 404; }));
}

// The service gives up after ten seconds if a client reads nothing, and has closed all slow ones then. Further clients
// must not wait for that.
BOOST_FIXTURE_TEST_CASE(connect_beside_slow_readers_without_a_token_succeeds, served_by_tokens_on_eight)
{
    std::list<raw_client> slow;
    for (int i = 0; i < 30; ++i)
        slow.emplace_back(s(), many_requests_of("/openapi.json"));
    auto const begun = clock::now();
    for (int i = 0; i < 3; ++i)
        BOOST_TEST(s().ask(verb::get, "/v1/locks/a", "", of_other).status == 200u);
    BOOST_TEST((clock::now() - begun < 9s));
}

BOOST_FIXTURE_TEST_CASE(slow_readers_without_a_token_are_few_although_there_is_room, served_by_tokens)
{
    std::list<raw_client> slow;
    for (int i = 0; i < 8; ++i)
        slow.emplace_back(s(), many_requests_of("/openapi.json"));
    BOOST_TEST(s().ask(verb::get, "/v1/locks/a", "", of_other).status == 200u);
    auto const closed = [&] { return std::ranges::count_if(slow, [](auto& c) { return c.is_closed(); }); };
    auto const begun = clock::now();
    BOOST_TEST(comes_true([&] { return closed() >= 1; }));
    BOOST_TEST((clock::now() - begun < 9s));
}

BOOST_AUTO_TEST_CASE(locks_that_a_session_leaves_count_until_their_ttl_is_over)
{
    real_servers r(1);
    service const s(r, {"--max-locks", "2"});
    auto stream = std::make_unique<event_reader>(s, R"({"grace_ms":1})");
    auto const session = stream->session();
    auto const in_session = [&](std::string const& name, int ttl_ms) {
        return s.acquire(fmt::format(R"({{"resources":["{}"],"ttl_ms":{},"session":"{}"}})", name, ttl_ms, session));
    };
    auto const won = in_session("a", 60'000);
    BOOST_TEST_REQUIRE(won.status == 201u, won.body);
    BOOST_TEST_REQUIRE(in_session("b", 60'000).status == 201u);
    stream.reset();
    BOOST_TEST(comes_true([&] { return s.ask(verb::get, "/v1/sessions/" + session).status == 404; }));
    auto const refused = s.acquire(lock_of("c"));
    BOOST_TEST(refused.status == 429u);
    BOOST_TEST(refused.text("type") == "urn:redlock:too-many-locks");
    BOOST_TEST(s.ask(verb::delete_, path_of(won)).status == 204u);
    BOOST_TEST(s.acquire(lock_of("c")).status == 201u);
    BOOST_TEST(s.acquire(lock_of("d")).status == 429u);
}

BOOST_FIXTURE_TEST_CASE(pages_of_a_session_with_long_names_end_early, served_locks_with_long_names)
{
    std::set<std::string> ids;
    std::size_t pages = 0;
    each_page("/v1/sessions/" + session + "?limit=1000", [&](auto const& page) {
        BOOST_TEST(page.at("session").as_string() == session);
        for (auto const& l : page.at("locks").as_array())
            ids.emplace(l.at("id").as_string());
        ++pages;
    });
    BOOST_TEST((ids == acquired));
    BOOST_TEST(pages > 2u);

    auto const first = s.ask(verb::get, "/v1/sessions/" + session + "?limit=3").json();
    BOOST_TEST(first.at("locks").as_array().size() == 3u);
    BOOST_TEST(first.at("next").as_string() != "");
    for (auto const* const wrong : {"?limit=0", "?limit=1001", "?from=x", "?prefix=x"})
        BOOST_TEST(s.ask(verb::get, "/v1/sessions/" + session + wrong).status == 400u);
}

BOOST_FIXTURE_TEST_CASE(pages_of_a_list_with_long_names_end_early, served_locks_with_long_names)
{
    std::set<std::string> seen;
    std::size_t pages = 0;
    each_page("/v1/locks?prefix=&limit=1000", [&](auto const& page) {
        for (auto const& l : page.at("locks").as_array())
            seen.emplace(l.at("resource").as_string());
        ++pages;
    });
    BOOST_TEST(seen.size() == locks * names_of_lock);
    BOOST_TEST(pages > 1u);
    BOOST_TEST(s.ask(verb::get, "/v1/locks?limit=20").json().at("locks").as_array().size() >= 20u);
}

// The service makes two lists of a client at a time. So others get their turn between two of them.
BOOST_AUTO_TEST_CASE(acquire_beside_many_unread_lists_of_another_token_succeeds)
{
    served_by_tokens by({"--max-connections", "400"});
    for (int i = 0; i < 75; ++i) {
        boost::json::array names;
        for (int n = 0; n < 8; ++n)
            names.emplace_back(fmt::format("{}/{}/{:x>490}", i, n, ""));
        auto const body = boost::json::serialize(boost::json::object{{"resources", names}, {"ttl_ms", 60'000}});
        BOOST_TEST_REQUIRE(by.s().acquire(body, by.of_greedy).status == 201u);
    }
    auto connection = by.s().connect();
    auto const cycle = [&] {
        auto const won = connection.ask(verb::post, "/v1/locks", lock_of("x"), by.of_other);
        BOOST_TEST_REQUIRE(won.status == 201u, won.body);
        BOOST_TEST(connection.ask(verb::delete_, path_of(won), "", by.of_other).status == 204u);
    };
    cycle();
    std::list<raw_client> lists;
    for (int i = 0; i < 150; ++i)
        lists.emplace_back(by.s(), "GET /v1/locks?limit=1000 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer "
                                       + by.greedy + "\r\n\r\n");
    int cycles = 0;
    while (!std::ranges::all_of(lists, [](auto& c) { return c.is_answered(); })) {
        cycle();
        ++cycles;
    }
    BOOST_TEST(cycles >= 20);
}

BOOST_AUTO_TEST_CASE(turns_beyond_the_lists_of_a_client_wait_in_their_order)
{
    asio::io_context context;
    serve::client_loads loads(1000);
    std::vector<std::string> begun;
    std::map<std::string, asio::cancellation_signal> ends;
    auto const make_list = [&](std::string name, std::string client) -> asio::awaitable<void> {
        serve::client_loads::turn turn(loads, client);
        bool const has_come = co_await turn.wait();
        begun.push_back(has_come ? name : "not " + name);
        asio::steady_timer never(context, asio::steady_timer::time_point::max());
        co_await never.async_wait(asio::use_awaitable);
    };
    auto const ask = [&](std::string const& name, std::string const& client) {
        asio::co_spawn(context, make_list(name, client),
                       asio::bind_cancellation_slot(ends[name].slot(), [](std::exception_ptr) {}));
    };
    auto const end = [&](std::string const& name) { ends.at(name).emit(asio::cancellation_type::terminal); };
    auto const now_begun = [&] {
        context.restart();
        context.poll();
        return std::exchange(begun, {});
    };
    for (auto const* const name : {"a1", "a2", "a3", "a4", "a5"})
        ask(name, "a");
    ask("b1", "b");
    BOOST_TEST((now_begun() == words{"a1", "a2", "b1"}));
    end("a2");
    BOOST_TEST((now_begun() == words{"a3"}));
    end("a4");  // its client has gone
    BOOST_TEST((now_begun() == words{"not a4"}));
    {
        serve::client_loads::place const unread(loads, "a", {.unread = 1001});
        end("a1");
        end("a3");
        BOOST_TEST(now_begun().empty());
    }
    BOOST_TEST((now_begun() == words{"a5"}));
    end("a5");
    end("b1");
    BOOST_TEST(now_begun().empty());
    BOOST_TEST(loads.of("a").is_empty());
}

// Otherwise each of the former streams would keep its connection until it gives up after ten seconds.
BOOST_FIXTURE_TEST_CASE(stream_opened_again_ends_the_former_at_once, served_locks_with_long_names)
{
    std::list<raw_client> slow;
    for (int i = 0; i < 5; ++i) {
        slow.emplace_back(s, "POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\nLast-Event-ID: "
                                 + session + ".1\r\n\r\n");
        std::this_thread::sleep_for(200ms);  // until the service cannot send more
    }
    auto const begun = clock::now();
    BOOST_TEST(comes_true([&] { return std::ranges::count_if(slow, [](auto& c) { return c.is_closed(); }) >= 4; }));
    BOOST_TEST((clock::now() - begun < 9s));
    BOOST_TEST(s.ask(verb::get, "/v1/sessions/" + session).status == 200u);
}

BOOST_AUTO_TEST_CASE(next_beyond_the_bytes_of_all_events_ends_the_stream)
{
    events_to_read q;
    auto const slow = q.all.attach(0);
    q.add(3000);
    BOOST_TEST(!q.next(slow));
    auto const again = q.all.attach(1);
    BOOST_TEST(q.rest(again) > serve::events_bytes / 2);
    q.add(10);
    BOOST_TEST(q.rest(again) > 10'000u);
    q.all.close();
    BOOST_TEST(!q.next(again));
}

BOOST_AUTO_TEST_CASE(next_with_many_events_returns_all_of_them_in_pieces)
{
    events_to_read q;
    auto const stream = q.all.attach(0);
    q.add(500);
    BOOST_TEST(q.rest(stream) > 500'000u);
    q.add(500);
    q.all.close();
    BOOST_TEST(q.rest(stream) > 500'000u);
    BOOST_TEST(!q.next(stream));
}

BOOST_AUTO_TEST_CASE(wait_of_a_host_that_has_vanished_ends)
{
    real_servers r(1);
    service const s(r);
    auto const held = s.acquire(lock_of("a"));
    BOOST_TEST_REQUIRE(held.status == 201u, held.body);
    auto const body = lock_of("a", 600'000);
    raw_client waits(s, fmt::format("POST /v1/locks HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n\r\n{}",
                                    body.size(), body));
    auto const waiters = [&](int n) {
        return comes_true([&, line = fmt::format("redlock_waiters {}\n", n)] {
            s.ask(verb::patch, path_of(held), R"({"ttl_ms":60000})");  // otherwise the wait would succeed
            return has(s.ask(verb::get, "/metrics").body, line);
        });
    };
    BOOST_TEST(waiters(1));
    waits.vanish();
    BOOST_TEST(waiters(0));
    BOOST_TEST(s.ask(verb::patch, path_of(held)).status == 200u);
}

BOOST_AUTO_TEST_CASE(long_requests_leave_connections_for_short_ones)
{
    for (std::size_t all = 2; all < 2000; ++all) {
        BOOST_TEST_REQUIRE(serve::limits::long_requests(all) >= 1u);
        BOOST_TEST_REQUIRE(serve::limits::long_requests(all) < all);
    }
    BOOST_TEST(serve::limits::long_requests(1) == 1u);
    BOOST_TEST(serve::limits::long_requests(1000) == 750u);
}

BOOST_AUTO_TEST_SUITE_END()
