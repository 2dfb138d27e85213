// The manager notifies the holder of a lost lock before the validity ends.

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include <boost/asio.hpp>

#include <iostream>
#include <stdexcept>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using redlock::memory_server;

// Changes two of the three memory nodes. With real servers it has no effect; then max_hold ends the lock.
void set_majority(memory_server& a, memory_server& b, memory_server::fault f) { a.set_fault(f), b.set_fault(f); }

//[lost
asio::awaitable<void> lead(redlock::lock_manager& locks)
{
    auto const a = memory_server::at("a"), b = memory_server::at("b");
    redlock::acquire_options const options{.ttl = 600ms, .renew = redlock::renewal::automatic, .max_hold = 900ms};
    redlock::lock held = co_await locks.async_try_acquire("leader", options);

    set_majority(*a, *b, memory_server::fault::unreachable);
    auto [why] = co_await held.async_wait_lost(asio::as_tuple(asio::deferred));

    if (why != redlock::errc::lost || held.held() || redlock::clock::now() >= held.valid_until())
        throw std::logic_error("not told in time");
    std::cout << "lost, and told in time\n";
    set_majority(*a, *b, memory_server::fault::none);
}
//]

//[body
asio::awaitable<void> work_for_too_long(redlock::lock_manager& locks)
{
    auto work = [](redlock::lock&) -> asio::awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
        co_await timer.async_wait(asio::deferred);  // throws operation_aborted when the lock is lost
    };
    try {
        co_await locks.with_lock("job", {.ttl = 500ms, .renew = redlock::renewal::none}, work);  // expires
    } catch (redlock::system_error const& e) {
        if (e.code() != redlock::errc::lost)
            throw;
        std::cout << e.what() << '\n';
    }
}
//]

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};
    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes});
    auto run = [&]() -> asio::awaitable<void> {
        co_await lead(locks);
        co_await work_for_too_long(locks);
        co_await locks.async_shutdown();
    };
    asio::co_spawn(context, run, [](std::exception_ptr e) { e ? std::rethrow_exception(e) : void(); });
    context.run();
    return locks.stats().lost == 2 ? 0 : 1;
}
