// Boost.Cobalt: a coroutine awaits the library's operations with use_op. The example is only compiled, because linking
// needs the library Boost.Cobalt.

#include <redlock.hpp>

#include <boost/cobalt/main.hpp>
#include <boost/cobalt/op.hpp>
#include <boost/cobalt/task.hpp>
#include <boost/cobalt/this_coro.hpp>

#include <iostream>

namespace cobalt = boost::cobalt;
using namespace std::chrono_literals;

cobalt::main co_main(int, char**)
{
    redlock::config settings;
    settings.nodes = {"memory://a"};
    redlock::lock_manager locks(co_await cobalt::this_coro::executor, settings);
    redlock::acquire_options const options{.ttl = 10s, .wait = 2s};
    redlock::lock held = co_await locks.async_acquire("stock:hair-dryer", options, cobalt::use_op);
    std::cout << "selling\n";
    co_await held.async_release(cobalt::use_op);
    co_await locks.async_shutdown(cobalt::use_op);
    co_return 0;
}
