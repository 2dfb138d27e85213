// Tests the example service from outside: the real program, real servers, real sockets.

#include "bed/local_server.hpp"
#include "bed/process.hpp"
#include "bed/service.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <boost/json.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <sys/resource.h>
#include <thread>
#include <vector>

using namespace std::chrono_literals;
namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;
namespace json = boost::json;
using tcp = asio::ip::tcp;
using redlock::testbed::local_server;
using response = http::response<http::string_body>;

BOOST_AUTO_TEST_SUITE(shop_service)

namespace {

bool eventually(std::function<bool()> const& true_now)
{
    for (auto const end = std::chrono::steady_clock::now() + 20s; std::chrono::steady_clock::now() < end;
         std::this_thread::sleep_for(5ms)) {
        if (true_now())
            return true;
    }
    return false;
}

// The program on a free port.
class service : public redlock::testbed::service {
public:
    explicit service(std::vector<std::string> options)
        : redlock::testbed::service(REDLOCK_SHOP, with_port(std::move(options)))
    {
    }

private:
    static std::vector<std::string> with_port(std::vector<std::string> options)
    {
        // The long timeout is for busy machines. Later options override it.
        options.insert(options.begin(), {"--port", "0", "--node-timeout", "1500"});
        return options;
    }
};

using headers = std::vector<std::pair<std::string, std::string>>;

// A client with one connection.
class client {
public:
    explicit client(service const& s) { socket.connect({asio::ip::address_v4::loopback(), s.port()}); }

    void send(http::verb verb, std::string const& target, std::string body = {}, headers const& more = {})
    {
        http::request<http::string_body> r(verb, target, 11);
        r.set(http::field::host, "shop");
        for (auto const& [name, value] : more)
            r.set(name, value);
        r.body() = std::move(body);
        r.prepare_payload();
        http::write(socket, r);
    }

    response read()
    {
        response r;
        http::read(socket, input, r);
        return r;
    }

    response get(std::string const& target)
    {
        send(http::verb::get, target);
        return read();
    }

    response post(std::string const& target, std::string body, headers const& more = {})
    {
        send(http::verb::post, target, std::move(body), more);
        return read();
    }

    asio::io_context context;
    tcp::socket socket{context};
    beast::flat_buffer input;
};

constexpr char one_espresso[] = R"({"item":"espresso","count":1})";

struct lock_servers {
    explicit lock_servers(std::size_t count = 5)
    {
        for (std::size_t i = 0; i < count; ++i)
            all.emplace_back();
    }
    std::string urls() const
    {
        std::string list;
        for (auto const& s : all)
            list += (list.empty() ? "" : ",") + s.url();
        return list;
    }
    std::size_t locked(std::string const& item)
    {
        std::size_t n = 0;
        for (auto& s : all)
            n += s.pid() > 0 && s.ask({"EXISTS", "lock:item:" + item}) == "1";
        return n;
    }
    std::deque<local_server> all;
};

template <std::size_t Servers>
struct shop_on {
    lock_servers nodes{Servers};
    service s{{"--nodes", nodes.urls()}};
    client c{s};
};

std::int64_t left(service const& s, std::string const& item)
{
    auto const value = json::parse(client(s).get("/stock").body());
    for (auto const& i : value.at("items").as_array()) {
        if (i.at("item").as_string() == item)
            return i.at("left").as_int64();
    }
    return -1;
}

std::int64_t holders_and_waiters(service const& s)
{
    auto const value = json::parse(client(s).get("/locks.json").body());
    auto n = static_cast<std::int64_t>(value.at("held").as_array().size());
    for (auto const& w : value.at("waiting").as_array())
        n += w.at("count").as_int64();
    return n;
}

// The state that a page receives when it is opened.
json::value state_of(service const& s)
{
    client events(s);
    events.send(http::verb::get, "/events");
    std::string text;
    while (text.find("\n\n", text.find("event: state")) == std::string::npos) {
        char some[4096];
        text.append(some, events.socket.read_some(asio::buffer(some)));
    }
    BOOST_TEST(text.find("text/event-stream") != std::string::npos);
    auto const data = text.find("data: ") + 6;
    return json::parse(text.substr(data, text.find("\n\n", data) - data));
}

void is_problem(response const& r, unsigned status)
{
    BOOST_TEST(r.result_int() == status);
    BOOST_TEST(r[http::field::content_type] == "application/problem+json");
    auto const value = json::parse(r.body());
    BOOST_TEST(value.at("status").as_int64() == status);
    BOOST_TEST(!value.at("title").as_string().empty());
    BOOST_TEST(r.body().find("127.0.0.1:") == std::string::npos);  // no address of a node
}

}  // namespace

BOOST_AUTO_TEST_CASE(orders_with_the_same_idempotency_key_are_placed_once)
{
    lock_servers nodes;
    service s({"--nodes", nodes.urls(), "--stock", "3"});
    client c(s);
    auto const first = c.post("/orders", one_espresso, {{"Idempotency-Key", "k1"}});
    BOOST_TEST(first.result_int() == 201u);
    BOOST_TEST(json::parse(first.body()).at("left").as_int64() == 2);
    auto const again = c.post("/orders", one_espresso, {{"Idempotency-Key", "k1"}});
    BOOST_TEST(again.result_int() == 201u);
    BOOST_TEST(again.body() == first.body());
    is_problem(c.post("/orders", R"({"item":"lemonade","count":1})", {{"Idempotency-Key", "k1"}}), 422);
    BOOST_TEST(left(s, "espresso") == 2);
    BOOST_TEST(c.post("/orders", R"({"item":"espresso","count":2})").result_int() == 201u);
    is_problem(c.post("/orders", one_espresso, {{"Idempotency-Key", "k2"}}), 410);
    is_problem(c.post("/orders", one_espresso, {{"Idempotency-Key", "k2"}}), 410);
    BOOST_TEST(left(s, "espresso") == 0);
    BOOST_TEST(eventually([&] { return nodes.locked("espresso") == 0; }));
}

// A lock on any name would leave a counter for ever, so the service locks only known items.
BOOST_FIXTURE_TEST_CASE(orders_of_unknown_items_take_no_lock, shop_on<1>)
{
    for (int i = 0; i < 100; ++i)
        is_problem(c.post("/orders", R"({"item":"no)" + std::to_string(i) + R"(","count":1})",
                          {{"Idempotency-Key", "k" + std::to_string(i)}}),
                   422);
    BOOST_TEST(nodes.all[0].count_keys() == "0");
    BOOST_TEST(c.post("/orders", one_espresso).result_int() == 201u);
    BOOST_TEST(eventually([&] { return nodes.all[0].count_keys() == "1"; }));  // the counter of the espresso
}

BOOST_FIXTURE_TEST_CASE(orders_that_are_invalid_are_answered_with_a_problem, shop_on<1>)
{
    for (auto const* body :
         {"", "{", "[]", "1", R"({"item":"espresso"})", R"({"count":1})", R"({"item":"espresso","count":0})",
          R"({"item":"espresso","count":1.5})", R"({"item":"espresso","count":1001})", R"({"item":"","count":1})",
          R"({"item":7,"count":1})"})
        is_problem(c.post("/orders", body), 400);
    is_problem(c.post("/orders", one_espresso, {{"Idempotency-Key", std::string(129, 'k')}}), 400);
    is_problem(c.post("/orders", one_espresso, {{"Request-Timeout-Ms", "soon"}}), 400);
    is_problem(c.post("/orders", R"({"item":"tea","count":1})"), 422);
    is_problem(c.get("/nothing"), 404);
    is_problem(c.post("/demo/nodes/1/kill", ""), 404);  // only with --demo
    auto const r = c.get("/orders");
    is_problem(r, 405);
    BOOST_TEST(r[http::field::allow] == "POST");
    BOOST_TEST(c.post("/orders", one_espresso).result_int() == 201u);  // the connection is still usable
    auto const large = c.post("/orders", std::string(20'000, ' '));
    is_problem(large, 413);
    BOOST_TEST(!large.keep_alive());
    client odd(s);
    asio::write(odd.socket, asio::buffer(std::string("this is no HTTP\r\n\r\n")));
    is_problem(odd.read(), 400);
    client wide(s);
    asio::write(wide.socket, asio::buffer("GET / HTTP/1.1\r\nPad: " + std::string(10'000, 'x') + "\r\n\r\n"));
    is_problem(wide.read(), 431);
}

BOOST_FIXTURE_TEST_CASE(head_has_no_body_and_expect_100_continue_is_answered, shop_on<1>)
{
    for (auto const* target : {"/", "/stock", "/healthz", "/metrics", "/nothing"}) {
        c.send(http::verb::head, target);
        http::response_parser<http::empty_body> parser;
        parser.skip(true);
        http::read(c.socket, c.input, parser);
        BOOST_TEST(parser.get().result_int() == (target == std::string("/nothing") ? 404u : 200u));
        BOOST_TEST(std::stoi(std::string(parser.get()[http::field::content_length])) > 0);
    }
    BOOST_TEST(c.get("/stock").result_int() == 200u);  // no bytes of a body were left on the connection

    client polite(s);
    asio::write(polite.socket,
                asio::buffer("POST /orders HTTP/1.1\r\nHost: shop\r\nExpect: 100-continue\r\nContent-Length: "
                             + std::to_string(sizeof one_espresso - 1) + "\r\n\r\n"));
    std::string interim(25, ' ');
    asio::read(polite.socket, asio::buffer(interim));
    BOOST_TEST(interim == "HTTP/1.1 100 Continue\r\n\r\n");
    asio::write(polite.socket, asio::buffer(std::string(one_espresso)));
    BOOST_TEST(polite.read().result_int() == 201u);

    client old(s);
    asio::write(old.socket, asio::buffer("POST /orders HTTP/1.0\r\nExpect: 100-continue\r\nContent-Length: "
                                         + std::to_string(sizeof one_espresso - 1) + "\r\n\r\n" + one_espresso));
    BOOST_TEST(old.read().result_int() == 201u);  // HTTP/1.0 gets no "100 Continue"

    BOOST_TEST(client(s).get("http://shop/stock").result_int() == 200u);
    BOOST_TEST(client(s).get("http://shop").result_int() == 200u);

    client events(s);
    events.send(http::verb::get, "/events?since=7");
    http::response_parser<http::empty_body> stream;
    http::read_header(events.socket, events.input, stream);
    BOOST_TEST(stream.get()[http::field::content_type] == "text/event-stream");
}

BOOST_FIXTURE_TEST_CASE(orders_from_a_page_of_another_site_are_refused, shop_on<1>)
{
    for (auto const& [name, value] :
         headers{{"Origin", "https://evil.example"}, {"Origin", "null"}, {"Sec-Fetch-Site", "cross-site"}})
        is_problem(c.post("/orders", one_espresso, {{name, value}}), 403);
    BOOST_TEST(left(s, "espresso") == 25);
    BOOST_TEST(c.post("/orders", one_espresso, {{"Origin", "http://shop"}}).result_int() == 201u);
}

BOOST_AUTO_TEST_CASE(connections_above_the_limit_wait)
{
    lock_servers nodes(1);
    service s({"--nodes", nodes.urls(), "--connections", "2"});
    auto first = std::make_unique<client>(s);
    client second(s);
    BOOST_TEST(first->get("/healthz").result_int() == 200u);
    BOOST_TEST(second.get("/healthz").result_int() == 200u);
    client third(s);
    third.send(http::verb::get, "/healthz");
    BOOST_TEST(second.get("/metrics").body().find("shop_connections 2\n") != std::string::npos);
    BOOST_TEST(third.socket.available() == 0u);
    first.reset();
    BOOST_TEST(third.read().result_int() == 200u);
}

BOOST_FIXTURE_TEST_CASE(healthz_metrics_and_locks_show_the_state, shop_on<3>)
{
    BOOST_TEST(c.get("/healthz").result_int() == 200u);
    c.post("/orders", one_espresso);
    auto const page = c.get("/");
    BOOST_TEST(page[http::field::content_type] == "text/html; charset=utf-8");
    BOOST_TEST(page.body().find("<!doctype html>") == 0u);
    BOOST_TEST(eventually([&] {
        return c.get("/metrics").body().find("\nredlock_node_up{node=\"" + nodes.all[2].url() + "\"} 1\n")
               != std::string::npos;
    }));
    auto const metrics = c.get("/metrics").body();
    BOOST_TEST(metrics.find("\nshop_orders_total 1\n") != std::string::npos);
    BOOST_TEST(metrics.find("\nredlock_acquisitions_total{outcome=\"acquired\"} 1\n") != std::string::npos);
    BOOST_TEST(metrics.find("espresso") == std::string::npos);  // metrics have no label per resource
    auto const locks = json::parse(c.get("/locks.json").body());
    BOOST_TEST(locks.at("nodes").as_array().size() == 3u);
    auto const state = state_of(s);
    BOOST_TEST(state.at("nodes").as_array().size() == 3u);
    BOOST_TEST(state.at("oversold").as_int64() == 0);
    BOOST_TEST(!state.at("demo").as_bool());
    nodes.all[0].kill();
    nodes.all[1].kill();
    BOOST_TEST(eventually([&] { return c.get("/healthz").result_int() == 503u; }));
}

BOOST_AUTO_TEST_CASE(events_after_an_order_have_its_wait_and_hold_times)
{
    lock_servers nodes(3);
    service s({"--nodes", nodes.urls(), "--work", "800"});
    client holder(s), waiter(s);
    // Without locks, the series contain null, not zero.
    auto const none = [](json::value const& p) { return p.is_null(); };
    json::value before;
    BOOST_TEST(eventually([&] { return !(before = state_of(s)).at("times").at("hold").as_array().empty(); }));
    for (auto const* name : {"wait", "hold"}) {
        auto const& points = before.at("times").at(name).as_array();
        BOOST_TEST(std::all_of(points.begin(), points.end(), none));
    }

    holder.send(http::verb::post, "/orders", one_espresso);
    BOOST_TEST(eventually([&] { return nodes.locked("espresso") == 3; }));
    waiter.send(http::verb::post, "/orders", one_espresso);
    BOOST_TEST(holder.read().result_int() == 201u);
    BOOST_TEST(waiter.read().result_int() == 201u);
    // The service keeps the history, although no client read events until now.
    auto const most = [&](std::string_view name, std::size_t percentile) {
        double all = 0;
        auto const state = state_of(s);
        for (auto const& point : state.at("times").at(name).as_array())
            all = std::max(all, point.is_null() ? 0 : point.at(percentile).to_number<double>());
        return all;
    };
    BOOST_TEST(eventually([&] { return most("hold", 0) >= 775; }));  // 800 ms with an error of 1/32
    BOOST_TEST(most("hold", 1) < 60'000);
    BOOST_TEST(eventually([&] { return most("wait", 1) > 100; }));  // the wait of the second order
}

BOOST_AUTO_TEST_CASE(orders_without_a_lock_are_answered_in_time)
{
    lock_servers nodes(3);
    service s({"--nodes", nodes.urls(), "--work", "700"});  // a wait leaves at least this time for the work
    client c(s);
    BOOST_TEST(c.post("/orders", one_espresso).result_int() == 201u);
    for (auto& n : nodes.all)
        n.ask({"SET", "lock:item:espresso", "of another kind", "PX", "60000"});
    response busy;
    // The status is 504 if the service is paused for longer than the time that it keeps for the work.
    BOOST_TEST(eventually([&] {
        busy = c.post("/orders", one_espresso, {{"Request-Timeout-Ms", "2000"}, {"Idempotency-Key", "later"}});
        return busy.result_int() != 504u;
    }));
    is_problem(busy, 503);
    BOOST_TEST(std::stol(std::string(busy[http::field::retry_after])) > 30);  // the holder's ttl
    auto const impatient = c.post("/orders", one_espresso, {{"Prefer", "wait=0"}});
    is_problem(impatient, 409);
    BOOST_TEST(json::parse(impatient.body()).at("retry_after_ms").as_int64() > 0);
    BOOST_TEST(c.post("/orders", R"({"item":"lemonade","count":1})").result_int() == 201u);
    for (auto& n : nodes.all)
        n.ask({"DEL", "lock:item:espresso"});
    // A refused request may be tried again with its key.
    BOOST_TEST(c.post("/orders", one_espresso, {{"Idempotency-Key", "later"}}).result_int() == 201u);
    nodes.all[0].kill();
    nodes.all[1].kill();
    auto const away = c.post("/orders", one_espresso, {{"Request-Timeout-Ms", "2000"}});
    is_problem(away, 503);
    BOOST_TEST(std::stol(std::string(away[http::field::retry_after])) <= 3);
}

BOOST_AUTO_TEST_CASE(work_after_the_deadline_is_stopped)
{
    lock_servers nodes(3);
    service s({"--nodes", nodes.urls(), "--work", "60000"});
    client c(s);
    is_problem(c.post("/orders", one_espresso, {{"Request-Timeout-Ms", "300"}}), 504);
    BOOST_TEST(eventually([&] { return nodes.locked("espresso") == 0; }));
    BOOST_TEST(left(s, "espresso") == 25);
}

BOOST_AUTO_TEST_CASE(work_after_the_loss_of_its_lock_is_stopped)
{
    lock_servers nodes(3);
    service s(
        {"--nodes", nodes.urls(), "--work", "60000", "--timeout", "60000", "--ttl", "1000", "--node-timeout", "300"});
    client c(s);
    c.send(http::verb::post, "/orders", one_espresso);
    BOOST_TEST(eventually([&] { return nodes.locked("espresso") >= 2; }));
    for (auto& n : nodes.all)
        n.kill();
    is_problem(c.read(), 503);
    BOOST_TEST(left(s, "espresso") == 25);
}

BOOST_AUTO_TEST_CASE(client_that_disconnects_releases_its_lock_or_its_wait)
{
    lock_servers nodes(3);
    service s({"--nodes", nodes.urls(), "--work", "60000", "--timeout", "600000"});
    auto holder = std::make_unique<client>(s);
    holder->send(http::verb::post, "/orders", one_espresso, {{"Idempotency-Key", "gone"}});
    BOOST_TEST(eventually([&] { return nodes.locked("espresso") == 3; }));
    auto waiter = std::make_unique<client>(s);
    waiter->send(http::verb::post, "/orders", one_espresso);
    BOOST_TEST(eventually([&] { return holders_and_waiters(s) == 2; }));
    is_problem(client(s).post("/orders", one_espresso, {{"Idempotency-Key", "gone"}}), 409);  // the order is in flight
    waiter.reset();
    BOOST_TEST(eventually([&] { return holders_and_waiters(s) == 1; }));
    holder.reset();
    BOOST_TEST(eventually([&] { return nodes.locked("espresso") == 0; }));
    BOOST_TEST(left(s, "espresso") == 25);
    BOOST_TEST(s.stop() == 0);
}

BOOST_AUTO_TEST_CASE(pipelined_requests_are_answered_in_order)
{
    lock_servers nodes(3);
    service s({"--nodes", nodes.urls(), "--work", "50"});
    client c(s);
    for (int i = 0; i < 5; ++i)
        c.send(http::verb::post, "/orders", one_espresso);
    for (int i = 0; i < 5; ++i)
        BOOST_TEST(json::parse(c.read().body()).at("left").as_int64() == 24 - i);
}

BOOST_AUTO_TEST_CASE(slow_client_does_not_delay_others)
{
    lock_servers nodes(3);
    service s({"--nodes", nodes.urls(), "--threads", "1"});
    client slow(s);
    auto const request = "POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Length: "
                         + std::to_string(sizeof one_espresso - 1) + "\r\n\r\n" + one_espresso;
    asio::write(slow.socket, asio::buffer(request.substr(0, 30)));
    client c(s);
    BOOST_TEST(c.post("/orders", one_espresso).result_int() == 201u);
    for (char const byte : request.substr(30))
        asio::write(slow.socket, asio::buffer(&byte, 1));
    BOOST_TEST(slow.read().result_int() == 201u);
}

BOOST_AUTO_TEST_CASE(orders_on_1000_connections_are_all_answered)
{
    rlimit files{};
    ::getrlimit(RLIMIT_NOFILE, &files);
    files.rlim_cur = files.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &files);
    BOOST_TEST_REQUIRE(files.rlim_cur >= 2500u);
    lock_servers nodes(3);
    service s({"--nodes", nodes.urls(), "--stock", "600", "--timeout", "60000"});
    asio::io_context context;
    std::deque<tcp::socket> all;
    auto const request = "POST /orders HTTP/1.1\r\nHost: shop\r\nContent-Length: "
                         + std::to_string(sizeof one_espresso - 1) + "\r\n\r\n" + one_espresso;
    for (int i = 0; i < 1000; ++i) {
        all.emplace_back(context).connect({asio::ip::address_v4::loopback(), s.port()});
        asio::write(all.back(), asio::buffer(request));
    }
    int sold = 0, sold_out = 0;
    for (auto& socket : all) {
        beast::flat_buffer input;
        response r;
        http::read(socket, input, r);
        sold += r.result_int() == 201;
        sold_out += r.result_int() == 410;
    }
    BOOST_TEST(sold == 600);
    BOOST_TEST(sold_out == 400);
    BOOST_TEST(left(s, "espresso") == 0);
    BOOST_TEST(s.stop() == 0);
}

BOOST_AUTO_TEST_CASE(orders_at_two_processes_sell_the_exact_stock_while_a_server_fails)
{
    lock_servers nodes;
    redlock::testbed::temporary_folder folder;
    std::vector<std::string> const options{"--nodes", nodes.urls(), "--database", folder.path + "/shop.db",
                                           "--stock", "400",        "--timeout",  "60000"};
    service one(options), other(options);
    std::atomic<int> sold{0}, refused{0}, failed{0};
    std::vector<std::jthread> buyers;
    for (int i = 0; i < 16; ++i) {
        buyers.emplace_back([&, i] {
            client c(i % 2 == 0 ? one : other);
            for (int k = 0; k < 40; ++k) {
                auto const r =
                    c.post("/orders", one_espresso, {{"Idempotency-Key", std::to_string(i) + "-" + std::to_string(k)}});
                ++(r.result_int() == 201 ? sold : r.result_int() == 410 ? refused : failed);
            }
        });
    }
    eventually([&] { return sold > 50; });
    nodes.all[1].kill();
    eventually([&] { return sold > 150; });
    nodes.all[1].launch();
    buyers.clear();
    BOOST_TEST(sold == 400);
    BOOST_TEST(refused == 240);
    BOOST_TEST(failed == 0);
    BOOST_TEST(left(one, "espresso") == 0);
    BOOST_TEST(one.stop() == 0);
    BOOST_TEST(other.stop() == 0);
    BOOST_TEST(eventually([&] { return nodes.locked("espresso") == 0; }));
}

BOOST_AUTO_TEST_CASE(sigterm_ends_orders_under_way_and_leaves_no_lock)
{
    lock_servers nodes(3);
    service s({"--nodes", nodes.urls(), "--work", "1000", "--timeout", "60000"});
    client quick(s), idle(s);
    quick.send(http::verb::post, "/orders", one_espresso);
    BOOST_TEST(eventually([&] { return nodes.locked("espresso") == 3; }));
    int status = -1;
    std::jthread stopping([&] { status = s.stop(); });
    BOOST_TEST(quick.read().result_int() == 201u);  // the order is carried out
    stopping.join();
    BOOST_TEST(status == 0);
    BOOST_TEST(eventually([&] { return nodes.locked("espresso") == 0; }));

    service slow({"--nodes", nodes.urls(), "--work", "60000", "--timeout", "60000"});
    client c(slow);
    c.send(http::verb::post, "/orders", R"({"item":"lemonade","count":1})");
    BOOST_TEST(eventually([&] { return nodes.locked("lemonade") == 3; }));
    std::jthread stopping_slow([&] { status = slow.stop(); });
    is_problem(c.read(), 503);  // the order is cancelled
    stopping_slow.join();
    BOOST_TEST(status == 0);
    BOOST_TEST(eventually([&] { return nodes.locked("lemonade") == 0; }));
}

BOOST_AUTO_TEST_CASE(shop_with_a_wrong_option_exits_with_64)
{
    using words = std::vector<std::string>;
    auto const status = [](words options, words environment = {}) {
        options.insert(options.begin(), REDLOCK_SHOP);
        return redlock::testbed::process(options, {.environment = environment, .output = "/dev/null"}).wait().code();
    };
    BOOST_TEST(status({"--help"}) == 0);
    for (auto const& wrong :
         {words{"--port"}, words{"--port", "x"}, words{"--port", "65536"}, words{"--ttl", "99"}, words{"--stock", "0"},
          words{"--what", "1"}, words{"--demo", "--nodes", "redis://h"}, words{"--nodes-file", "/nowhere"}})
        BOOST_TEST(status(wrong) == 64);
    BOOST_TEST(status({"--nodes", "http://x"}) == 1);
    BOOST_TEST(status({}, {"REDLOCK_NODES=http://x"}) == 1);
    BOOST_TEST(status({"--nodes", "redis://localhost", "--database", "/nowhere/shop.db"}) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
