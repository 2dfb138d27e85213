// An order service: a complete HTTP server with locks. docs/http.md explains it.

#include "tools/redlock/args/early_exit.hpp"
#include "nodes.hpp"
#include "options.hpp"
#include "server.hpp"
#include "shop.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>

#include <csignal>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace asio = boost::asio;

namespace {

void allow_many_connections()
{
    rlimit files{};
    if (::getrlimit(RLIMIT_NOFILE, &files) == 0) {
        files.rlim_cur = files.rlim_max;
        ::setrlimit(RLIMIT_NOFILE, &files);
    }
}

int run(shop::options o)
{
    std::optional<shop::nodes> own;
    if (o.how.locks.nodes.empty()) {
        own.emplace(5);
        o.how.locks.nodes = own->urls();
    }
    o.how.locks.owner = "shop";
    o.how.locks.max_ttl = std::chrono::seconds(5);  // a restarted node does not vote for this time
    for (auto const* name : {"cappuccino", "croissant", "espresso", "lemonade"})
        o.how.goods.push_back({.name = name, .was = o.pieces});

    asio::io_context context(static_cast<int>(o.threads));
    shop::shop shop(context.get_executor(), o.how, o.demo ? &*own : nullptr);
    shop::server server(context, shop, o.how, o.port);
    server.start();
    asio::co_spawn(context, shop.watch_times(), asio::detached);

    int status = 0;
    asio::signal_set signals(context, SIGTERM, SIGINT);
    asio::co_spawn(
        context,
        [&]() -> asio::awaitable<void> {
            co_await signals.async_wait(asio::use_awaitable);
            co_await server.stop(std::chrono::seconds(2));
            co_await shop.close();
        },
        [&](std::exception_ptr failure) {
            status = failure ? 1 : 0;
            context.stop();
        });
    std::printf("http://127.0.0.1:%d/\n", int{server.port()});
    std::fflush(stdout);

    std::vector<std::jthread> others;
    for (std::size_t i = 1; i < o.threads; ++i)
        others.emplace_back([&] { context.run(); });
    context.run();
    return status;
}

}  // namespace

int main(int argc, char** argv)
{
    std::signal(SIGPIPE, SIG_IGN);
    allow_many_connections();
    try {
        return run(shop::parse({argv + 1, argv + argc}));
    } catch (redlock::cli::early_exit const& e) {
        return e.tell();
    } catch (std::exception const& e) {
        std::fprintf(stderr, "redlock_shop: %s\n", e.what());
        return 1;
    }
}
