// Several parts of the work share one lock: each part has a handle, and the last handle releases the lock.

#include <redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/steady_timer.hpp>

#include <boost/asio.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

int parts_written = 0;

//[share
asio::awaitable<void> write_part(redlock::lock part, std::string name)
{
    asio::steady_timer work(co_await asio::this_coro::executor, 20ms);
    co_await work.async_wait(asio::deferred);
    std::cout << name << " written under " << part.resource() << "\n";
    ++parts_written;
}  // destroys the handle of this part; the last handle releases the lock

asio::awaitable<void> write_report(redlock::lock_manager& locks)
{
    auto lock = co_await locks.async_try_acquire("report:2026", {.ttl = 5s, .renew = redlock::renewal::automatic});
    auto const executor = co_await asio::this_coro::executor;
    asio::co_spawn(executor, write_part(lock.share(), "totals"), asio::detached);
    asio::co_spawn(executor, write_part(lock.share(), "details"), asio::detached);
    asio::co_spawn(executor, write_part(std::move(lock), "summary"), asio::detached);
}
//]

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};

    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes});
    asio::co_spawn(context, write_report(locks), [&](std::exception_ptr failure) {
        if (failure)
            std::rethrow_exception(failure);
        locks.async_shutdown([](redlock::error_code) {});  // waits until the last handle is destroyed
    });
    context.run();
    return parts_written == 3 && locks.stats().released == 1 ? 0 : 1;
}
