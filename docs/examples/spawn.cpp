// Stackful coroutines with asio::spawn. The example is only compiled, because linking needs the library Boost.Context.

#include <redlock.hpp>

#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/spawn.hpp>

#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;

void sell(redlock::lock_manager& locks, asio::yield_context yield)
{
    redlock::lock held = locks.async_acquire("stock:hair-dryer", {.ttl = 10s, .wait = 2s}, yield);
    std::cout << "selling\n";
    held.async_release(yield);
    locks.async_shutdown(yield);
}

int main()
{
    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = {"memory://a"}});
    asio::spawn(
        context, [&](asio::yield_context yield) { sell(locks, yield); }, asio::detached);
    context.run();
}
