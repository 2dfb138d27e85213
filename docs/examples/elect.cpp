// Leader election: several processes run the same program. At most one of them is the scheduler at a time.

#include <redlock.hpp>

#include <boost/asio.hpp>

#include <csignal>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

void show(std::string const& process, redlock::election_event const& e)
{
    std::cout << process << ": " << to_string(e.what);
    if (e.fencing_token != 0)
        std::cout << ", token " << e.fencing_token;
    if (e.pause.count() != 0)
        std::cout << ", stands again in " << e.pause.count() << " ms";
    std::cout << (e.message.empty() ? "" : ": ") << e.message << '\n';
}

int jobs_done = 0;  // of all processes

bool has_disk(std::string const& process) { return process != "a"; }

//[schedule
asio::awaitable<void> schedule(redlock::lock_manager& locks, std::string process)
{
    auto lead = [&](redlock::lock& leadership) -> asio::awaitable<redlock::elected> {
        asio::steady_timer next(co_await asio::this_coro::executor);
        for (int turns = 0; jobs_done < 10; ++turns) {
            if (!has_disk(process))
                throw std::runtime_error("no disk");  // another process takes over
            if (turns == 3)
                co_return redlock::elected::step_down;  // lets another process lead
            std::cout << process << " does job " << ++jobs_done << " as " << leadership.fencing_token() << '\n';
            next.expires_after(10ms);
            co_await next.async_wait(asio::deferred);  // throws operation_aborted when the lock is lost
        }
        co_return redlock::elected::done;
    };
    auto const tell = [process](redlock::election_event e) { show(process, e); };
    co_await redlock::elect(locks, "scheduler", {.pause_min = 50ms, .observe = tell}, lead);
}
//]

//[nightly
// Every process calls this at two o'clock, by its own clock. @return whether this process did the work.
asio::awaitable<bool> nightly(redlock::lock_manager& locks)
{
    bool mine = false;
    auto report = [&](redlock::lock&) -> asio::awaitable<redlock::elected> {
        mine = true;  // ... the work itself
        co_return redlock::elected::done;
    };
    // No process waits. The lock is kept for a minute, so a process whose clock is behind does not repeat the work.
    redlock::elect_options const once{.ttl = 1min, .wait = 0s, .at_least = 1min};
    try {
        co_await redlock::elect(locks, "nightly-report", once, report);
    } catch (redlock::lock_error const& e) {
        if (e.code() != redlock::errc::contended)
            throw;  // contended: another process does the work, or has done it
    }
    co_return mine;
}
//]

//[stop
asio::awaitable<void> stop_at_signal(redlock::lock_manager& locks, asio::signal_set& signals)
{
    co_await signals.async_wait(asio::deferred);  // SIGTERM
    co_await locks.async_shutdown();              // cancels the leader's body, and releases the lock when it has ended
}
//]

// The first leader starts its follower and gets SIGTERM. The second one ends the election.
asio::awaitable<void> lead(redlock::lock_manager& locks, redlock::lock_manager* follower, int& leaders)
{
    auto body = [&](redlock::lock&) -> asio::awaitable<redlock::elected> {
        ++leaders;
        if (!follower)
            co_return redlock::elected::done;
        auto const context = co_await asio::this_coro::executor;
        asio::co_spawn(context, lead(*follower, nullptr, leaders), asio::detached);
        std::raise(SIGTERM);
        asio::steady_timer work(context, 1h);
        co_await work.async_wait(asio::deferred);
        co_return redlock::elected::done;
    };
    co_await redlock::elect(locks, "leader", {}, body);
    co_await locks.async_shutdown();
}

bool a_clean_stop_hands_over(std::vector<std::string> const& nodes)
{
    asio::io_context context;
    redlock::lock_manager first(context, {.nodes = nodes}), second(context, {.nodes = nodes});
    asio::signal_set signals(context, SIGTERM);
    int leaders = 0;
    bool stopped = false;
    asio::co_spawn(context, stop_at_signal(first, signals), asio::detached);
    asio::co_spawn(context, lead(first, &second, leaders), [&](std::exception_ptr e) { stopped = e != nullptr; });
    context.run();
    return stopped && leaders == 2;
}

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};

    asio::io_context context;
    redlock::lock_manager a(context, {.nodes = nodes, .fencing = true}), b(context, {.nodes = nodes, .fencing = true});
    int ended = 0, reports = 0;
    auto const run = [&](redlock::lock_manager& locks, std::string process) -> asio::awaitable<void> {
        co_await schedule(locks, process);
        reports += co_await nightly(locks);
        co_await locks.async_shutdown();
        ++ended;
    };
    for (auto const& [locks, process] : {std::pair(&a, "a"), std::pair(&b, "b")})
        asio::co_spawn(context, run(*locks, process),
                       [](std::exception_ptr e) { e ? std::rethrow_exception(e) : void(); });
    context.run();
    // A real server may still have the lock of the report from an earlier run. Then no process writes the report.
    bool const well = ended == 2 && jobs_done == 10 && (reports == 1 || argc > 1);
    return well && a_clean_stop_hands_over(nodes) ? 0 : 1;
}
