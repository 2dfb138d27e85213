// Prints how long clients wait for locks and hold them, and the round trips to the nodes, in the last minute.

#include <redlock.hpp>

#include <boost/asio.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

//[latencies
void print(redlock::stats const& now, redlock::stats const& a_minute_ago)
{
    auto const line = [](std::string const& what, redlock::histogram const& h) {
        std::cout << what << ": " << h.count() << ", half of them within " << h.quantile(0.5) / 1us
                  << " us, 99 % within " << h.quantile(0.99) / 1us << " us\n";
    };
    line("waited", now.time_waited - a_minute_ago.time_waited);
    line("acquired", now.time_to_acquire - a_minute_ago.time_to_acquire);
    line("held", now.time_held - a_minute_ago.time_held);
    line("validity left", now.validity_left - a_minute_ago.validity_left);
    for (std::size_t i = 0; i < now.nodes.size(); ++i)
        line(now.nodes[i].name, now.nodes[i].round_trip - a_minute_ago.nodes[i].round_trip);
}
//]

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};
    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes});
    auto const before = locks.stats();
    auto run = [&]() -> asio::awaitable<void> {
        for (int i = 0; i < 100; ++i) {
            redlock::lock held = co_await locks.async_try_acquire("report");
            co_await held.async_release();
        }
        co_await locks.async_shutdown();
    };
    asio::co_spawn(context, run, [](std::exception_ptr e) { e ? std::rethrow_exception(e) : void(); });
    context.run();

    auto const after = locks.stats();
    print(after, before);
    auto const held = after.time_held - before.time_held;
    return held.count() == 100 && after.validity_left.quantile(0) > 9s ? 0 : 1;
}
