// Acquires a lock, uses it and releases it.
//   hello                                   three nodes in this process
//   hello redis://10.0.0.1 redis://10.0.0.2 redis://10.0.0.3

#include <redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>

#include <chrono>
#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

//[hello
asio::awaitable<void> sell_one(redlock::lock_manager& locks)
{
    redlock::lock held = co_await locks.async_acquire("stock:hair-dryer", {.ttl = 10s, .wait = 2s});

    auto const left = std::chrono::duration_cast<std::chrono::milliseconds>(held.remaining());
    std::cout << "holding " << held.resource() << " for " << left.count() << " ms more\n";

    co_await held.async_release();
}
//]

//[run
asio::awaitable<void> run(redlock::lock_manager& locks)
{
    try {
        co_await sell_one(locks);
    } catch (redlock::lock_error const& e) {
        if (e.code() == redlock::errc::contended)
            std::cout << "somebody else held the lock for two seconds; try again later\n";
        std::cerr << e.what() << '\n';
    }
    co_await locks.async_shutdown();  // closes the connections; without it, io_context::run does not return
}

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};

    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes});
    asio::co_spawn(context, run(locks), [](std::exception_ptr failure) {
        if (failure)
            std::rethrow_exception(failure);
    });
    context.run();

    return locks.stats().acquired == 1 && locks.stats().released == 1 ? 0 : 1;
}
//]
