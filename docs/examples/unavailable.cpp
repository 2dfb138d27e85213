// Works on without the lock if the lock servers are down, and only then.

#include <redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct cache {
    int loads = 0;
    asio::awaitable<void> load()
    {
        ++loads;
        co_return;
    }
};

//[open
asio::awaitable<void> refresh(redlock::lock_manager& locks, cache& prices)
{
    auto load = [&prices](redlock::lock&) { return prices.load(); };
    bool down = false;
    try {
        co_await locks.with_lock("prices", {.ttl = 5s, .wait = 1s}, load);
    } catch (redlock::lock_error const& e) {
        down = e.code() == redlock::errc::no_quorum;  // too few servers answered, so the body was not called
        if (!down)
            throw;  // contended: another process loads the prices
    }
    if (down)
        co_await prices.load();  // two at once only cost time here
}
//]

asio::awaitable<void> run(redlock::lock_manager& here, redlock::lock_manager& away, cache& prices)
{
    co_await refresh(here, prices);
    co_await refresh(away, prices);
    co_await here.async_shutdown();
    co_await away.async_shutdown(asio::as_tuple(asio::deferred));
}

int main()
{
    asio::io_context context;
    redlock::lock_manager here(context, {.nodes = {"memory://a", "memory://b", "memory://c"}});
    redlock::lock_manager away(context, {.nodes = {"localhost:1", "localhost:2", "localhost:3"}});
    cache prices;
    asio::co_spawn(context, run(here, away, prices), [](std::exception_ptr failure) {
        if (failure)
            std::rethrow_exception(failure);
    });
    context.run();

    std::cout << "loaded " << prices.loads << " times\n";
    return prices.loads == 2 && here.stats().acquired == 1 ? 0 : 1;
}
