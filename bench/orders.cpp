#include "scenarios.hpp"

#include "interrupt.hpp"
#include "laboratory.hpp"
#include "programs.hpp"
#include "bed/service.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <fmt/format.h>

#include <array>

namespace redlock::bench {

namespace {

namespace http = boost::beast::http;
using tcp = asio::ip::tcp;
using steady = std::chrono::steady_clock;

// A buyer sends one order after the other on one connection.
asio::awaitable<void> buy(std::uint16_t port, std::size_t number, steady::time_point end, sample& s)
{
    constexpr std::array items{"cappuccino", "croissant", "espresso", "lemonade"};
    tcp::socket socket(co_await asio::this_coro::executor);
    co_await socket.async_connect({asio::ip::address_v4::loopback(), port}, asio::use_awaitable);
    socket.set_option(tcp::no_delay(true));
    boost::beast::flat_buffer input;
    for (std::size_t i = number; steady::now() < end && !was_interrupted(); ++i) {
        http::request<http::string_body> order(http::verb::post, "/orders", 11);
        order.set(http::field::host, "shop");
        order.body() = fmt::format(R"({{"item":"{}","count":1}})", items[i % items.size()]);
        order.prepare_payload();
        auto const begun = steady::now();
        co_await http::async_write(socket, order, asio::use_awaitable);
        http::response<http::string_body> answer;
        co_await http::async_read(socket, input, answer, asio::use_awaitable);
        if (answer.result() == http::status::created) {
            ++s.cycles;
            s.cycle.record(steady::now() - begun);
        } else {
            ++s.failures[fmt::format("status {}", answer.result_int())];
        }
    }
}

sample sell(laboratory& lab, std::size_t clients, std::vector<std::string> const& more)
{
    std::string nodes;
    for (auto const& u : lab.servers().urls())
        nodes += (nodes.empty() ? "" : ",") + u;
    std::vector<std::string> options{"--port", "0", "--stock", "1000000", "--threads", "1", "--timeout", "60000"};
    options.insert(options.end(), more.begin(), more.end());
    // The URLs may contain passwords, so they are in the environment, not in the arguments.
    testbed::service shop(program_of_ours("redlock_shop", "docs/examples/shop", "install libsqlite3-dev and build it"),
                          options, {"REDLOCK_NODES=" + nodes});
    lab.count_in(shop.pid());
    sample s;
    asio::io_context context(1);
    auto const begun = steady::now();
    for (std::size_t i = 0; i < clients; ++i) {
        asio::co_spawn(context, buy(shop.port(), i, begun + lab.settings().duration, s),
                       [&](std::exception_ptr failure) {
                           if (failure)
                               ++s.failures["connections that broke"];
                       });
    }
    context.run();
    throw_if_interrupted();
    s.seconds = std::chrono::duration<double>(steady::now() - begun).count();
    return s;
}

}  // namespace

std::vector<result> orders(options const& o, progress const& p)
{
    laboratory lab(o, p, o.count);
    std::vector<result> results;
    for (auto const clients : o.clients > 0 ? std::vector{o.clients} : std::vector<std::size_t>{64, 1}) {
        auto const rounds = lab.rounds(
            fmt::format("orders, {} clients", clients), [&] { return sell(lab, clients, {"--no-locks"}); },
            [&](round& r) {
                r.library = lab.observe([&] { return sell(lab, clients, {}); });
                auto const own = r.library.cycle.summary(), floor = r.floor.cycle.summary();
                r.more["p50_to_floor"] = floor.p50 > 0 ? own.p50 / floor.p50 : 0;
                r.more["p99_to_floor"] = floor.p99 > 0 ? own.p99 / floor.p99 : 0;
            });
        results.push_back(lab.conclude(rounds, "orders", "floor: without locks", clients));
    }
    return results;
}

}  // namespace redlock::bench
