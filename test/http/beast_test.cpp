// Tests the helpers for HTTP handlers on real sockets. The locks are on nodes in memory.

#include <redlock.hpp>
#include <redlock/beast.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
namespace beast = boost::beast;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

BOOST_AUTO_TEST_SUITE(beast_helpers)

namespace {

response problem(error_code ec, acquire_options const& tried = {},
                 std::shared_ptr<attempt_report const> const& report = {})
{
    request r(http::verb::post, "/orders", 11);
    return problem_response(r, ec, tried, report);
}

long retry_after_ms(response const& r)
{
    auto const at = r.body().find("\"retry_after_ms\":");
    return at == std::string::npos ? -1 : std::stol(r.body().substr(at + 17));
}

// A server with one connection at a time. Its handler holds "stock" for the milliseconds in the target.
struct shop {
    shop() { asio::co_spawn(context, serve(), asio::detached); }

    ~shop()
    {
        acceptor.close();
        bool done = false;
        locks.async_shutdown([&](error_code) { done = true; });
        run_to([&] { return done; });
    }

    asio::awaitable<void> serve()
    {
        for (;;) {
            auto socket = co_await acceptor.async_accept(asio::use_awaitable);
            beast::flat_buffer input;
            try {
                for (;;)
                    co_await answer(socket, input);
            } catch (system_error const& e) {
                ended.push_back(e.code());
            }
        }
    }

    asio::awaitable<void> answer(tcp::socket& socket, beast::flat_buffer& input)
    {
        request r;
        co_await http::async_read(socket, input, r, asio::use_awaitable);
        request_deadline const deadline(r, 30s);
        response reply;
        std::optional<error_code> failed;
        acquire_options const how{.ttl = 60s, .wait = deadline.wait()};
        try {
            auto handle = [&]() -> asio::awaitable<std::string> {
                auto const hold = std::chrono::milliseconds(std::stol(std::string(r.target().substr(1))));
                auto work = [&](lock&) -> asio::awaitable<std::string> {
                    ++holding;
                    asio::steady_timer timer(context, hold);
                    co_await timer.async_wait(asio::use_awaitable);
                    co_return std::string("held for ") + std::string(r.target());
                };
                co_return co_await locks.with_lock("stock", how, work);
            };
            reply.body() = co_await run_request(socket, input, deadline, handle);
            reply.version(11);
            reply.prepare_payload();
        } catch (system_error const& e) {
            if (e.code() == asio::error::eof)
                throw;
            failed = e.code();
        }
        if (failed)
            reply = problem_response(r, *failed, how);
        co_await http::async_write(socket, reply, asio::use_awaitable);
    }

    bool run_to(std::function<bool()> const& done)
    {
        auto const end = std::chrono::steady_clock::now() + 20s;
        while (!done() && std::chrono::steady_clock::now() < end)
            context.run_one_for(20ms);
        return done();
    }

    tcp::socket connect()
    {
        tcp::socket s(context);
        s.connect(acceptor.local_endpoint());
        return s;
    }

    static std::string get(std::string const& target, std::string const& more = {})
    {
        return "GET /" + target + " HTTP/1.1\r\nHost: shop\r\n" + more + "\r\n";
    }

    // Reads one response.
    response read(tcp::socket& s, beast::flat_buffer& input)
    {
        response r;
        bool done = false;
        http::async_read(s, input, r, [&](error_code ec, std::size_t) {
            BOOST_TEST(!ec);
            done = true;
        });
        BOOST_TEST(run_to([&] { return done; }));
        return r;
    }

    bool locked() const { return node->value("lock:stock").has_value(); }

    asio::io_context context{1};
    std::shared_ptr<memory_server> node = memory_server::at("shop");
    lock_manager locks{context, {.nodes = {"memory://shop"}}};
    tcp::acceptor acceptor{context, {asio::ip::address_v4::loopback(), 0}};
    std::vector<error_code> ended;  // the error that ended each connection
    int holding = 0;
};

struct visited_shop {
    shop s;
    tcp::socket client = s.connect();
    beast::flat_buffer input;
};

}  // namespace

BOOST_AUTO_TEST_CASE(problem_response_has_a_status_for_each_error)
{
    struct {
        error_code error;
        std::chrono::milliseconds wait;
        unsigned status;
        bool retry_in_header;
        bool retry_in_body;
    } const cases[] = {
        {errc::contended, 0ms, 409, false, true},
        {errc::contended, 5s, 503, true, true},
        {errc::no_quorum, 0ms, 503, true, true},
        {errc::no_quorum, 5s, 503, true, true},
        {errc::validity_exhausted, 0ms, 503, true, true},
        {errc::quarantined, 0ms, 503, true, true},
        {errc::lost, 0ms, 503, true, true},
        {errc::not_held, 0ms, 503, true, true},
        {asio::error::operation_aborted, 0ms, 503, true, true},
        {make_error_code(beast::error::timeout), 0ms, 504, false, false},
        {errc::invalid_argument, 0ms, 500, false, false},
        {make_error_code(boost::system::errc::not_enough_memory), 0ms, 500, false, false},
    };
    for (auto const& c : cases) {
        auto const r = problem(c.error, {.wait = c.wait});
        BOOST_TEST_CONTEXT(c.error.message()) {
            BOOST_TEST(r.result_int() == c.status);
            BOOST_TEST(r[http::field::content_type] == "application/problem+json");
            BOOST_TEST(r.count(http::field::retry_after) == (c.retry_in_header ? 1u : 0u));
            BOOST_TEST((retry_after_ms(r) > 0) == c.retry_in_body);
            for (auto const* member : {"{\"type\":\"urn:redlock:", "\"title\":\"", "\"detail\":\"", "\"status\":"})
                BOOST_TEST(r.body().find(member) != std::string::npos);
            if (c.retry_in_header) {
                auto const seconds = std::stol(std::string(r[http::field::retry_after]));
                BOOST_TEST(seconds * 1000 >= retry_after_ms(r));
                BOOST_TEST(seconds * 1000 < retry_after_ms(r) + 1000);
            }
        }
    }
}

BOOST_AUTO_TEST_CASE(problem_response_title_says_what_is_missing)
{
    auto const has_title = [](errc e, std::string const& title) {
        return problem(e).body().find("\"title\":\"" + title + "\"") != std::string::npos;
    };
    BOOST_TEST(has_title(errc::contended, "The lock is held"));
    BOOST_TEST(has_title(errc::no_quorum, "Too few lock servers answer"));
    BOOST_TEST(has_title(errc::quarantined, "Too few lock servers vote"));
    BOOST_TEST(has_title(errc::overloaded, "Too many requests for locks"));
}

BOOST_AUTO_TEST_CASE(problem_response_computes_retry_after_from_the_report)
{
    attempt_report report;  // of the acquisition; the answered error may be a later one
    report.remaining = 7300ms;
    report.quarantine = 40s;
    auto const seconds = [](response const& r) { return std::stol(std::string(r[http::field::retry_after])); };

    auto const told = std::make_shared<attempt_report const>(report);
    auto const busy = problem(errc::contended, {.wait = 1s}, told);
    auto const restarted = problem(errc::quarantined, {}, told);
    auto const lost = problem(errc::lost, {}, told);

    BOOST_TEST((retry_after_ms(busy) >= 7300 && retry_after_ms(busy) <= 9125));
    BOOST_TEST((seconds(busy) >= 8 && seconds(busy) <= 10));
    BOOST_TEST((seconds(restarted) >= 40 && seconds(restarted) <= 50));
    BOOST_TEST((seconds(lost) >= 1 && seconds(lost) <= 2));
    BOOST_TEST((retry_after_ms(problem(errc::contended, {}, told)) >= 7300));  // status 409

    report.outcome = errc::contended;
    auto const thrown = problem_response(request(), lock_error(report), {.wait = 1s});
    BOOST_TEST((retry_after_ms(thrown) >= 7300 && seconds(thrown) >= 8));
    BOOST_TEST(seconds(problem(errc::contended, {.wait = 1s})) <= 2);
}

BOOST_AUTO_TEST_CASE(request_deadline_reads_the_header_and_is_capped)
{
    request r;
    auto const left = [&] { return request_deadline(r, 10s).left(); };
    BOOST_TEST((left() > 9s && left() <= 10s));
    for (auto const* longer : {"10000", "60000", "999999999999999999999999"}) {
        r.set("Request-Timeout-Ms", longer);
        BOOST_TEST((left() > 9s && left() <= 10s));
    }
    r.set("Request-Timeout-Ms", "7000");
    BOOST_TEST((left() > 0ms && left() <= 7s));
    BOOST_TEST((request_deadline(r, 10s, "X-Budget").left() > 9s));
    for (auto const* wrong : {"", "0", "-5", "5s", "1e3", "soon", "-99999999999999999999"}) {
        r.set("Request-Timeout-Ms", wrong);
        BOOST_CHECK_EXCEPTION(left(), std::invalid_argument, [&](auto const& e) {
            return std::string(e.what()).find("Request-Timeout-Ms is \"" + std::string(wrong)) != std::string::npos;
        });
    }
    request_deadline const soon(1ms);
    BOOST_TEST((soon.wait(10s) == 1ms));
    while (!soon.passed()) {
    }
    BOOST_TEST((soon.left() <= 0ms));
    BOOST_TEST((request_deadline(10s).wait(4s) > 5s));
    request_deadline const never(wait_forever);
    BOOST_TEST(!never.passed());
    BOOST_TEST((never.wait(1s) > 24h));
    BOOST_TEST((never.wait(std::chrono::milliseconds::max()) == 1ms));
}

BOOST_FIXTURE_TEST_CASE(run_request_returns_the_result_of_the_handler, visited_shop)
{
    for (int i = 0; i < 3; ++i) {
        asio::write(client, asio::buffer(shop::get("1")));
        BOOST_TEST(s.read(client, input).body() == "held for /1");
    }
    BOOST_TEST(s.ended.empty());
}

BOOST_AUTO_TEST_CASE(run_request_releases_the_lock_when_the_client_disconnects)
{
    for (bool const half : {false, true}) {
        shop s;
        auto client = s.connect();
        asio::write(client, asio::buffer(shop::get("60000")));
        BOOST_TEST(s.run_to([&] { return s.holding == 1; }));
        BOOST_TEST(s.locked());
        if (half)
            client.shutdown(tcp::socket::shutdown_send);
        else
            client.close();
        BOOST_TEST(s.run_to([&] { return !s.locked(); }));  // the ttl is a minute
        BOOST_TEST(s.run_to([&] { return s.ended.size() == 1; }));
        BOOST_TEST((s.ended.at(0) == asio::error::eof));
    }
}

BOOST_FIXTURE_TEST_CASE(run_request_cancels_the_wait_when_the_client_disconnects, visited_shop)
{
    s.node->set("lock:stock", "of another kind", 60s);
    asio::write(client, asio::buffer(shop::get("1")));
    BOOST_TEST(s.run_to([&] { return s.locks.stats().waiting == 1; }));
    client.close();
    BOOST_TEST(s.run_to([&] { return s.locks.stats().waiting == 0; }));
    BOOST_TEST(s.run_to([&] { return s.ended.size() == 1; }));
    BOOST_TEST(s.holding == 0);
}

BOOST_FIXTURE_TEST_CASE(run_request_after_a_reset_releases_the_lock, visited_shop)
{
    asio::write(client, asio::buffer(shop::get("60000")));
    BOOST_TEST(s.run_to([&] { return s.holding == 1; }));
    client.set_option(asio::socket_base::linger(true, 0));
    client.close();
    BOOST_TEST(s.run_to([&] { return !s.locked() && s.ended.size() == 1; }));
}

BOOST_FIXTURE_TEST_CASE(run_request_keeps_pipelined_requests, visited_shop)
{
    asio::write(client, asio::buffer(shop::get("50") + shop::get("2") + shop::get("3").substr(0, 10)));
    BOOST_TEST(s.run_to([&] { return s.holding == 1; }));
    asio::write(client, asio::buffer(shop::get("3").substr(10) + shop::get("4")));
    for (auto const* target : {"/50", "/2", "/3", "/4"})
        BOOST_TEST(s.read(client, input).body() == std::string("held for ") + target);
}

BOOST_FIXTURE_TEST_CASE(run_request_leaves_many_pipelined_requests_on_the_socket, visited_shop)
{
    std::string many;
    int count = 0;
    for (many = shop::get("30"); many.size() < 200'000; ++count)
        many += shop::get("0", "Pad: " + std::string(1000, 'x') + "\r\n");
    bool written = false;
    asio::async_write(client, asio::buffer(many), [&](error_code ec, std::size_t) {
        BOOST_TEST(!ec);
        written = true;
    });
    BOOST_TEST(s.read(client, input).body() == "held for /30");
    for (int i = 0; i < count; ++i)
        BOOST_REQUIRE(s.read(client, input).body() == "held for /0");
    BOOST_TEST(written);
}

BOOST_FIXTURE_TEST_CASE(run_request_after_its_deadline_releases_the_lock, visited_shop)
{
    asio::write(client, asio::buffer(shop::get("60000", "Request-Timeout-Ms: 700\r\n")));
    auto const late = s.read(client, input);
    BOOST_TEST(late.result_int() == 504u);
    BOOST_TEST(s.run_to([&] { return !s.locked(); }));
    asio::write(client, asio::buffer(shop::get("1")));
    BOOST_TEST(s.read(client, input).result_int() == 200u);  // the connection is still usable
}

BOOST_FIXTURE_TEST_CASE(run_request_answers_when_the_wait_is_over, visited_shop)
{
    s.node->set("lock:stock", "of another kind", 60s);
    asio::write(client, asio::buffer(shop::get("1", "Request-Timeout-Ms: 60\r\n")));
    auto const status = s.read(client, input).result_int();
    BOOST_TEST((status == 503u || status == 504u));  // the wait or the deadline ends first
}

namespace {

struct connected_pair {
    connected_pair()
    {
        tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
        client.connect(acceptor.local_endpoint());
        acceptor.accept(server);
    }

    asio::io_context context;
    tcp::socket client{context}, server{context};
    beast::flat_buffer input;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(run_request_rethrows_exceptions_of_the_handler, connected_pair)
{
    std::exception_ptr failure;
    auto handle = []() -> asio::awaitable<void> {
        throw std::runtime_error("sold out");
        co_return;
    };
    asio::co_spawn(context, run_request(server, input, request_deadline(10s), handle),
                   [&](std::exception_ptr e) { failure = e; });
    context.run();  // returns, because no operation is left
    BOOST_TEST_REQUIRE((failure != nullptr));
    BOOST_CHECK_EXCEPTION(std::rethrow_exception(failure), std::runtime_error,
                          [](auto& e) { return e.what() == std::string("sold out"); });
    BOOST_TEST(!server.non_blocking());
}

BOOST_FIXTURE_TEST_CASE(run_request_returns_a_result_after_the_client_disconnects, connected_pair)
{
    int result = 0;
    auto handle = [&]() -> asio::awaitable<int> {
        client.close();
        asio::steady_timer timer(context, 20s);
        error_code ec;
        co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        BOOST_TEST((ec == asio::error::operation_aborted));
        co_return 7;
    };
    asio::co_spawn(context, run_request(server, input, request_deadline(10s), handle),
                   [&](std::exception_ptr, int r) { result = r; });
    context.run();
    BOOST_TEST(result == 7);
}

BOOST_FIXTURE_TEST_CASE(run_request_cancelled_by_the_caller_throws_operation_aborted, connected_pair)
{
    asio::cancellation_signal stop;
    std::exception_ptr failure;
    auto handle = [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(context, 10s);
        co_await timer.async_wait(asio::use_awaitable);
    };
    asio::co_spawn(context, run_request(server, input, request_deadline(10s), handle),
                   asio::bind_cancellation_slot(stop.slot(), [&](std::exception_ptr e) { failure = e; }));
    context.poll();
    stop.emit(asio::cancellation_type::terminal);
    context.run();
    BOOST_TEST_REQUIRE((failure != nullptr));
    BOOST_CHECK_EXCEPTION(std::rethrow_exception(failure), system_error,
                          [](auto& e) { return e.code() == asio::error::operation_aborted; });
}

BOOST_AUTO_TEST_SUITE_END()
