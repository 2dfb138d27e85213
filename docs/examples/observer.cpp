// An observer prints which acquisitions waited too long and which locks were lost.

#include <redlock.hpp>

#include <boost/asio.hpp>

#include <iostream>
#include <memory>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

//[observer
struct watchman : redlock::observer {
    int complaints = 0;

    void acquired(redlock::events::acquired const& e) override
    {
        if (e.took > 100ms)
            complain("waited for", e.resources, e.took);
    }

    void released(redlock::events::released const& e) override
    {
        if (e.validity < 100ms)
            complain("hardly valid any more when released:", e.resources, e.held_for);
    }

    void lost(redlock::events::lost const& e) override { complain(e.why, e.resources, e.held_for); }

    void complain(std::string_view what, redlock::resource_set const& resources, std::chrono::nanoseconds d)
    {
        ++complaints;
        std::clog << what << ' ' << *resources.begin() << ", " << d / 1ms << " ms\n";
    }
};
//]

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};
    asio::io_context context;
    //[set
    auto const watching = std::make_shared<watchman>();
    redlock::lock_manager locks(context, {.nodes = nodes, .observer = watching});
    //]
    auto run = [&]() -> asio::awaitable<void> {
        redlock::lock runs_out = co_await locks.async_try_acquire("report", {.ttl = 300ms});
        redlock::lock waited = co_await locks.async_acquire("report", {.wait = 1min});
        co_await waited.async_release();
        runs_out = {};
        co_await locks.async_shutdown();
    };
    asio::co_spawn(context, run, [](std::exception_ptr e) { e ? std::rethrow_exception(e) : void(); });
    context.run();
    return watching->complaints == 2 ? 0 : 1;
}
