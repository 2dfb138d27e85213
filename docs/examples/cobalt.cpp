// Boost.Cobalt: a coroutine awaits the library's operations with use_op. The example is only compiled, because linking
// needs the library Boost.Cobalt.

#include <redlock.hpp>

#include <boost/asio/steady_timer.hpp>
#include <boost/cobalt/main.hpp>
#include <boost/cobalt/op.hpp>
#include <boost/cobalt/promise.hpp>
#include <boost/cobalt/race.hpp>
#include <boost/cobalt/task.hpp>
#include <boost/cobalt/this_coro.hpp>

#include <iostream>

namespace asio = boost::asio;
namespace cobalt = boost::cobalt;
using namespace std::chrono_literals;

//[sell
cobalt::promise<void> work()
{
    asio::steady_timer timer(co_await cobalt::this_coro::executor, 20ms);
    co_await timer.async_wait(cobalt::use_op);  // stands for the work; a loss cancels it
}

cobalt::task<void> sell(redlock::lock_manager& locks)
{
    redlock::acquire_options const options{.ttl = 10s, .wait = 2s, .renew = redlock::renewal::automatic};
    redlock::lock held = co_await locks.async_acquire("stock:hair-dryer", options, cobalt::use_op);
    co_await cobalt::race(work(), held.async_wait_lost(cobalt::use_op));  // throws errc::lost if the lock is lost
    co_await held.async_release(cobalt::use_op);
}
//]

//[main
cobalt::main co_main(int, char**)
{
    redlock::manager_options settings;
    settings.nodes = {"memory://a", "memory://b", "memory://c"};
    redlock::lock_manager locks(co_await cobalt::this_coro::executor, settings);
    co_await sell(locks);
    co_await locks.async_shutdown(cobalt::use_op);
    std::cout << locks.stats().released << " sold\n";
    co_return locks.stats().released == 1 ? 0 : 1;
}
//]
