//[first
#include <redlock.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

asio::awaitable<void> sell(redlock::lock_manager& locks)
{
    int stock = 1;
    auto work = [&](redlock::lock&) -> asio::awaitable<void> {
        // The library cancels this body if the lock is lost.
        std::cout << "nobody else is here, and " << --stock << " are left\n";
        co_return;
    };
    try {
        co_await locks.with_lock("stock:lamp", {.ttl = 5s, .wait = 10s}, work);
    } catch (redlock::lock_error const& e) {
        if (e.code() == redlock::errc::contended)
            std::cout << "somebody else was here for ten seconds; try again later\n";
        std::cerr << e.what() << '\n';
    }
    co_await locks.async_shutdown();  // closes the connections; without it, run() does not return
}

int main()
{
    asio::io_context context;
    redlock::lock_manager locks(context,
                                {.nodes = {"memory://a", "memory://b", "memory://c"}, .log = redlock::log_to_stderr});
    asio::co_spawn(context, sell(locks), [](std::exception_ptr e) {
        if (e)
            std::rethrow_exception(e);
    });
    context.run();
}
//]
