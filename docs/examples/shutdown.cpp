// A service that stops at SIGTERM or SIGINT: it accepts no more jobs, finishes the running ones, and releases all
// locks. With addresses as arguments, it runs until it gets a signal. Without arguments, it sends the signal to itself.

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>

#include <boost/asio.hpp>

#include <csignal>
#include <iostream>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

int accepted = 0, finished = 0, cancelled = 0;
bool is_test = false;

class service {
public:
    // One thread runs the io_context, so the members need no strand.
    service(asio::io_context& context, redlock::lock_manager& locks)
        : locks_(locks), signals_(context, SIGINT, SIGTERM), next_job_(context), grace_(context)
    {
    }

    //[accept
    asio::awaitable<void> accept_jobs()
    {
        while (!stopping_) {
            next_job_.expires_after(10ms);  // stands for an acceptor or a message queue
            auto const [stopped] = co_await next_job_.async_wait(asio::as_tuple(asio::deferred));
            if (stopped)
                co_return;
            ++running_;
            asio::co_spawn(co_await asio::this_coro::executor, run_job(), [this](std::exception_ptr) {
                if (--running_ == 0)
                    grace_.cancel();
            });
        }
    }
    //]

    //[stop
    asio::awaitable<void> stop_at_signal()
    {
        co_await signals_.async_wait(asio::deferred);  // signals_ is asio::signal_set(context, SIGINT, SIGTERM)
        signals_.clear();                              // from here on, a second signal kills the process at once

        stopping_ = true;  // 1. accept no more jobs
        next_job_.cancel();

        grace_.expires_after(500ms);  // 2. let the running jobs finish, within a time limit
        if (running_ > 0)
            co_await grace_.async_wait(asio::as_tuple(asio::deferred));

        // 3. cancel the jobs that are left, wait until they have ended, release all locks, close the connections
        auto [ec] = co_await locks_.async_shutdown({.keys_left_is_error = true}, asio::as_tuple(asio::deferred));
        if (ec)
            std::cerr << ec.message() << '\n';
    }  // 4. no work is left, so io_context::run returns
    //]

private:
    asio::awaitable<void> run_job();  // calls locks_.with_lock

    redlock::lock_manager& locks_;
    asio::signal_set signals_;
    asio::steady_timer next_job_, grace_;
    int running_ = 0;
    bool stopping_ = false;
};

// The first job ends before the signal, the second one in the grace period. The third one works for too long, and the
// fourth one waits for the lock of the third one.
asio::awaitable<void> service::run_job()
{
    struct job {
        std::string lock;
        std::chrono::milliseconds duration;
    };
    static std::vector<job> const jobs{{"label", 5ms}, {"invoice", 300ms}, {"report", 1h}, {"report", 1h}};
    job const mine = jobs[static_cast<std::size_t>(accepted++) % jobs.size()];
    auto const work = [&](redlock::lock&) -> asio::awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor, mine.duration);
        co_await timer.async_wait(asio::deferred);
    };
    if (is_test && accepted == 4)
        std::raise(SIGTERM);
    //[options
    redlock::acquire_options options;
    options.ttl = 2s;                      // others wait so long if this process dies
    options.wait = redlock::wait_forever;  // until the lock is free, or the call is cancelled
    options.max_hold = 2h;                 // with_lock renews while the work goes on, but not for longer than this
    //]
    try {
        co_await locks_.with_lock(mine.lock, options, work);
        ++finished;
    } catch (redlock::system_error const& e) {
        cancelled += e.code() == asio::error::operation_aborted;
    }
}

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    is_test = nodes.empty();
    if (is_test)
        nodes = {"memory://a", "memory://b", "memory://c"};

    //[main
    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes});
    service jobs(context, locks);
    auto const rethrow = [](std::exception_ptr failure) {
        if (failure)
            std::rethrow_exception(failure);
    };
    asio::co_spawn(context, jobs.accept_jobs(), rethrow);
    asio::co_spawn(context, jobs.stop_at_signal(), rethrow);
    context.run();
    //]

    redlock::stats const s = locks.stats();
    std::cout << accepted << " jobs accepted, " << finished << " finished, " << cancelled << " cancelled, "
              << s.acquired << " locks acquired, " << s.released << " released\n";
    return finished + cancelled == accepted && cancelled >= 2 && s.acquired == s.released && s.held == 0 ? 0 : 1;
}
