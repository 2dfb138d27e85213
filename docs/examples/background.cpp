// A queue in this process, for jobs that may be lost. Each job waits for its lock, and the number of jobs is limited.

#include <redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include <boost/asio.hpp>

#include <cstddef>
#include <functional>
#include <iostream>
#include <string>
#include <utility>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

//[background
// Use it on one thread or on a strand. It must live until all its jobs have ended.
class background {
public:
    using work = std::function<asio::awaitable<void>(redlock::lock&)>;

    background(redlock::lock_manager& locks, std::size_t at_most) : locks_(locks), at_most_(at_most) {}

    // @return false if there are too many jobs. Tell the client at once, for example with HTTP 503.
    bool start(std::string resource, work w)
    {
        if (under_way_ == at_most_)
            return false;
        ++under_way_;
        asio::co_spawn(locks_.get_executor(), run(std::move(resource), std::move(w)),
                       [this](std::exception_ptr) { --under_way_; });
        return true;
    }

private:
    asio::awaitable<void> run(std::string resource, work w)
    {
        try {
            co_await locks_.with_lock(resource, {.ttl = 5s, .wait = 10min}, w);
        } catch (std::exception const& e) {  // the wait is over, the process stops, or the work has failed
            std::cerr << "lost: " << e.what() << '\n';
        }
    }

    redlock::lock_manager& locks_;
    std::size_t const at_most_;
    std::size_t under_way_ = 0;
};
//]

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};

    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes});
    background later(locks, 3);
    std::vector<int> printed;
    int refused = 0, printing = 0;
    bool alone = true;
    for (int label = 1; label <= 5; ++label) {
        auto print = [&, label](redlock::lock&) -> asio::awaitable<void> {
            alone = ++printing == 1 && alone;
            asio::steady_timer printer(co_await asio::this_coro::executor, 5ms);
            co_await printer.async_wait(asio::deferred);
            --printing;
            printed.push_back(label);
            if (printed.size() == 3)
                locks.async_shutdown([](redlock::error_code) {});
        };
        refused += !later.start("printer:3", print);
    }
    context.run();

    std::cout << printed.size() << " labels printed, " << refused << " refused\n";
    return printed == std::vector{1, 2, 3} && refused == 2 && alone ? 0 : 1;
}
