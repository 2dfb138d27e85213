// Twenty buyers, five hair dryers: with_lock holds the lock while a coroutine runs.

#include <redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include <boost/asio.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// Stands for a database: reading and writing take time, and other buyers may run in between.
struct shop {
    int stock = 5;

    asio::awaitable<int> read()
    {
        asio::steady_timer network(co_await asio::this_coro::executor, 1ms);
        co_await network.async_wait(asio::deferred);
        co_return stock;
    }

    asio::awaitable<void> write(int count)
    {
        asio::steady_timer network(co_await asio::this_coro::executor, 1ms);
        co_await network.async_wait(asio::deferred);
        stock = count;
    }
};

//[with_lock
asio::awaitable<bool> sell_one(redlock::lock_manager& locks, shop& db)
{
    auto sell = [&db](redlock::lock&) -> asio::awaitable<bool> {
        int const left = co_await db.read();  // no other buyer holds the lock now
        if (left == 0)
            co_return false;
        co_await db.write(left - 1);  // if the lock is lost, the library cancels this coroutine
        co_return true;
    };
    co_return co_await locks.with_lock("stock:hair-dryer", {.ttl = 5s, .wait = 10s}, sell);
}
//]

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};

    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes});
    shop db;
    int sold = 0, served = 0;
    for (int buyer = 0; buyer < 20; ++buyer)
        asio::co_spawn(context, sell_one(locks, db), [&](std::exception_ptr failure, bool bought) {
            if (failure)
                std::rethrow_exception(failure);
            sold += bought;
            if (++served == 20)
                locks.async_shutdown([](redlock::error_code) {});
        });
    context.run();

    std::cout << sold << " sold, " << db.stock << " left\n";
    return sold == 5 && db.stock == 0 ? 0 : 1;
}
