// Fencing tokens, and a gate at the resource: the gate refuses a holder that was paused for too long.

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <redlock/fence_gate.hpp>

#include <boost/asio.hpp>

#include <cstdint>
#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

//[shelf
struct shelf {
    redlock::fence_gate gate;  // stored beside the data that it protects
    int pieces = 5;
};
//]

//[sell_one
// Returns false if a later holder has superseded this one. Then nothing was sold.
asio::awaitable<bool> sell_one(redlock::lock_manager& locks, shelf& goods, asio::awaitable<void> wrap_it_up)
{
    redlock::lock held = co_await locks.async_acquire("stock:hair-dryer", {.ttl = 200ms, .wait = 10s});
    std::uint64_t const token = held.fencing_token();

    if (!goods.gate.enter(token))  // enter the gate before reading
        co_return false;
    int left = 0;
    if (!goods.gate.run(token, [&] { left = goods.pieces; }))
        co_return false;

    co_await std::move(wrap_it_up);  // may take longer than the lock lasts

    co_return goods.gate.run(token, [&] { goods.pieces = left - 1; });
}
//]

asio::awaitable<void> at_once() { co_return; }

// Stands for a process that is paused, swapped out, or in a debugger.
asio::awaitable<void> stand_still(asio::steady_timer& until)
{
    co_await until.async_wait(asio::as_tuple(asio::deferred));
}

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};

    asio::io_context context;
    //[config
    redlock::lock_manager locks(context, {.nodes = nodes, .fencing = true});
    //]
    shelf goods;
    asio::steady_timer the_other_has_sold(context, asio::steady_timer::time_point::max());
    bool slow = true, quick = false;
    auto slow_one = sell_one(locks, goods, stand_still(the_other_has_sold));
    asio::co_spawn(context, std::move(slow_one), [&](std::exception_ptr e, bool sold) {
        if (e)
            std::rethrow_exception(e);
        slow = sold;
        locks.async_shutdown([](redlock::error_code) {});
    });
    asio::co_spawn(context, sell_one(locks, goods, at_once()), [&](std::exception_ptr e, bool sold) {
        if (e)
            std::rethrow_exception(e);
        quick = sold;
        the_other_has_sold.cancel();
    });
    context.run();

    std::cout << "the quick one sold: " << quick << ", the slow one sold: " << slow << ", left: " << goods.pieces
              << '\n';
    return quick && !slow && goods.pieces == 4 ? 0 : 1;
}
