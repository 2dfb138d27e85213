// Lists all locks, and shows each change of the holder of one lock.

#include <redlock.hpp>

#include <boost/asio.hpp>

#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

int locks_shown = 0, changes_shown = 0;

//[list
asio::awaitable<void> list_all(redlock::lock_manager& locks, std::string pattern)
{
    std::string next;
    do {
        redlock::lock_page page = co_await locks.async_list(pattern, {.from = next});
        for (redlock::lock_info const& l : page.locks) {
            std::cout << l.resource << ": " << (l.locked ? l.owner : "nobody") << ' ' << l.note << ", "
                      << l.waiters.size() << " wait\n";
            ++locks_shown;
        }
        next = std::move(page.next);
    } while (!next.empty());
}
//]

//[watch
asio::awaitable<void> show_holders(redlock::lock_manager& locks, std::string name)
{
    redlock::lock_info seen = co_await locks.async_inspect(name);
    for (;;) {
        std::cout << name << (seen.locked ? ": held by " + seen.owner : ": free") << std::endl;
        seen = co_await locks.async_watch(seen);  // until somebody else holds it, or nobody
        ++changes_shown;
    }
}
//]

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};
    asio::io_context context;
    redlock::lock_manager workers(context, {.nodes = nodes, .owner = "worker-1"});
    //[viewer
    redlock::lock_manager viewer(context, {.nodes = nodes, .read_only = true});
    //]
    auto run = [&]() -> asio::awaitable<void> {
        redlock::lock held = co_await workers.async_try_acquire("job-1", {.note = "nightly report"});
        co_await list_all(viewer, "job-*");
        asio::co_spawn(context, show_holders(viewer, "job-1"), asio::detached);
        asio::steady_timer pause(context, 200ms);
        co_await pause.async_wait(asio::deferred);
        co_await held.async_release();
        while (changes_shown == 0) {
            pause.expires_after(10ms);
            co_await pause.async_wait(asio::deferred);
        }
        co_await viewer.async_shutdown();
        co_await workers.async_shutdown();
    };
    asio::co_spawn(context, run, [](std::exception_ptr e) { e ? std::rethrow_exception(e) : void(); });
    context.run();
    return locks_shown == 1 ? 0 : 1;
}
