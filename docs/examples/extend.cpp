// Extends a lock between the steps of its work, without automatic renewal.

#include <redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> copy(std::string table)
{
    asio::steady_timer work(co_await asio::this_coro::executor, 100ms);
    co_await work.async_wait(asio::deferred);
    std::cout << table << " is copied\n";
}

//[extend
asio::awaitable<void> copy_all(redlock::lock_manager& locks, std::vector<std::string> tables)
{
    redlock::lock held = co_await locks.async_acquire("migration", {.ttl = 5s, .wait = 10s});
    for (std::string const& table : tables) {
        co_await held.async_extend(5s);  // from now on: 5 s. It throws if the lock is lost
        co_await copy(table);            // each step takes less than 5 s
    }
    co_await held.async_release();
}
//]

asio::awaitable<void> run(redlock::lock_manager& locks)
{
    std::vector<std::string> const tables{"customers", "orders", "prices"};
    co_await copy_all(locks, tables);
    co_await locks.async_shutdown();
}

int main()
{
    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = {"memory://a", "memory://b", "memory://c"}});
    asio::co_spawn(context, run(locks), [](std::exception_ptr failure) {
        if (failure)
            std::rethrow_exception(failure);
    });
    context.run();

    return locks.stats().released == 1 ? 0 : 1;
}
