// A handler on Boost.Beast that sells under a lock. The program is its own client. It needs no server of locks, and no
// port of its own: the system chooses one.

#include <redlock.hpp>
#include <redlock/beast.hpp>

#include <boost/asio.hpp>
#include <boost/beast/http.hpp>

#include <iostream>
#include <string>
#include <utility>

namespace asio = boost::asio;
namespace http = boost::beast::http;
using namespace std::chrono_literals;
using asio::ip::tcp;
using redlock::memory_server;
using request = http::request<http::string_body>;
using response = http::response<http::string_body>;

int lamps = 3;

//[handler
asio::awaitable<response> sell(redlock::lock_manager& locks, request const& asked, redlock::request_deadline deadline)
{
    redlock::acquire_options const how{.ttl = 2s, .wait = deadline.wait(100ms)};
    response answer(http::status::created, asked.version());
    auto work = [&](redlock::lock&) -> asio::awaitable<void> {
        answer.body() = std::to_string(--lamps) + " are left\n";  // stands for a database
        co_return;
    };
    try {
        co_await locks.with_lock("stock:lamp", how, work);
    } catch (redlock::lock_error const& e) {
        if (e.code() == asio::error::operation_aborted)
            throw;  // run_request knows why: the client has gone, or the deadline has passed
        co_return redlock::problem_response(asked, e, how);
    }
    answer.keep_alive(asked.keep_alive());
    answer.prepare_payload();
    co_return answer;
}
//]

//[session
asio::awaitable<void> serve(redlock::lock_manager& locks, tcp::socket client)
{
    boost::beast::flat_buffer input;
    for (response answer; answer.keep_alive();) {
        request asked;
        co_await http::async_read(client, input, asked, asio::use_awaitable);
        try {
            redlock::request_deadline const deadline(asked, 5s);  // or less, by the field Request-Timeout-Ms
            auto handle = [&] { return sell(locks, asked, deadline); };
            answer = co_await redlock::run_request(client, input, deadline, handle);
        } catch (redlock::system_error const& e) {
            if (e.code() == asio::error::eof)
                co_return;  // the client has gone
            answer = redlock::problem_response(asked, e.code());
        } catch (std::invalid_argument const&) {
            answer = response(http::status::bad_request, asked.version());  // that field is no number
            answer.prepare_payload();
        }
        co_await http::async_write(client, answer, asio::use_awaitable);
    }
}
//]

int failures = 0;

asio::awaitable<void> buy(tcp::endpoint server)
{
    tcp::socket socket(co_await asio::this_coro::executor);
    co_await socket.async_connect(server, asio::use_awaitable);
    boost::beast::flat_buffer input;
    auto const post = [&](std::string patience) -> asio::awaitable<int> {
        request asked(http::verb::post, "/lamps", 11);
        asked.set(http::field::host, "localhost");
        asked.set("Request-Timeout-Ms", patience);
        asked.prepare_payload();
        co_await http::async_write(socket, asked, asio::use_awaitable);
        response answer;
        co_await http::async_read(socket, input, answer, asio::use_awaitable);
        std::cout << answer.result_int() << ' ' << answer.body() << '\n';
        co_return static_cast<int>(answer.result_int());
    };
    failures += co_await post("60000") != 201;
    auto const a = memory_server::at("a"), b = memory_server::at("b");
    for (auto const& node : {a, b})
        node->set("lock:stock:lamp", "somebody else", 1min);
    int const refused = co_await post("300");
    failures += refused != 503 && refused != 504;  // the latter if this machine was too busy to answer in time
    failures += co_await post("soon") != 400;
    for (auto const& node : {a, b})
        node->erase("lock:stock:lamp");
    failures += co_await post("60000") != 201;
    failures += lamps != 1;
}

int main()
{
    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = {"memory://a", "memory://b", "memory://c"}});
    tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
    auto const drop = [](std::exception_ptr) {};  // serve throws when its client closes the connection
    acceptor.async_accept([&](redlock::error_code ec, tcp::socket client) {
        if (!ec)
            asio::co_spawn(context, serve(locks, std::move(client)), drop);
    });
    asio::co_spawn(context, buy(acceptor.local_endpoint()), [&](std::exception_ptr failure) {
        locks.async_shutdown([](redlock::error_code) {});
        if (failure)
            std::rethrow_exception(failure);
    });
    context.run();
    return failures;
}
