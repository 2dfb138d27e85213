// A lock can be lost. The holder is told before its validity is over.

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <exception>
#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;
using mood = redlock::memory_node::mood;

// With memory nodes: cuts off two of three. With real servers the lock is lost because of max_hold.
void set_majority(mood m)
{
    for (auto const* name : {"a", "b"})
        redlock::memory_node::at(name)->set_mood(m);
}

//[lost
asio::awaitable<void> lead(redlock::lock_manager& locks)
{
    auto held = co_await locks.async_acquire(
        "leader", {.ttl = 600ms, .renew = redlock::renewal::automatic, .max_hold = 900ms});
    set_majority(mood::unreachable);

    auto [why] = co_await held.async_wait_lost(asio::as_tuple);

    if (why != redlock::errc::lost || held.held() || redlock::clock::now() >= held.valid_until())
        throw std::logic_error("told too late");
    std::cout << "lost, and told in time\n";
    set_majority(mood::well);
}
//]

//[body
asio::awaitable<void> work_for_too_long(redlock::lock_manager& locks)
{
    auto work = [](redlock::lock&) -> asio::awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor, 1h);
        co_await timer.async_wait();  // throws operation_aborted when the lock is lost
    };
    try {
        co_await locks.with_lock("job", {.ttl = 500ms}, work);  // no renewal: it runs out
    } catch (redlock::system_error const& e) {
        if (e.code() != redlock::errc::lost)
            throw;
        std::cout << e.what() << '\n';
    }
}
//]

asio::awaitable<void> run(redlock::lock_manager& locks)
{
    co_await lead(locks);
    co_await work_for_too_long(locks);
    co_await locks.async_shutdown();
}

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};
    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes});
    asio::co_spawn(context, run(locks), [](std::exception_ptr e) { e ? std::rethrow_exception(e) : void(); });
    context.run();
    return locks.stats().lost == 2 ? 0 : 1;
}
