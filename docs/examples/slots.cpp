// A semaphore with three permits: at most three mails at a time use a relay.

#include <redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include <boost/asio.hpp>

#include <algorithm>
#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

struct relay {
    std::map<std::string, int> connections;  // by name: the number of mails that use it now
    int in_use = 0, most_in_use = 0, sent = 0, refused = 0;

    asio::awaitable<void> send_over(std::string connection)
    {
        refused += ++connections[connection] > 1 || ++in_use > 3;
        most_in_use = std::max(most_in_use, in_use);
        asio::steady_timer transfer(co_await asio::this_coro::executor, 3ms);
        co_await transfer.async_wait(asio::deferred);
        --connections[connection];
        --in_use;
        ++sent;
    }
};

//[slots
asio::awaitable<void> send_mail(redlock::lock_manager& locks, relay& r)
{
    auto send = [&](redlock::lock& permit) -> asio::awaitable<void> {
        co_await r.send_over(permit.resource());  // the name of the permit, such as "relay:3"
    };
    // At most three mails at a time, over all processes. The others wait until a permit is released.
    co_await locks.with_any_lock(redlock::slots("relay", 3), {.ttl = 5s, .wait = 30s}, send);
}
//]

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};

    asio::io_context context;
    redlock::lock_manager here(context, {.nodes = nodes}), elsewhere(context, {.nodes = nodes});
    relay r;
    int left = 30;
    for (int i = 0; i < 30; ++i) {
        asio::co_spawn(context, send_mail(i % 2 == 0 ? here : elsewhere, r), [&](std::exception_ptr failure) {
            if (failure)
                std::rethrow_exception(failure);
            if (--left == 0) {
                here.async_shutdown([](redlock::error_code) {});
                elsewhere.async_shutdown([](redlock::error_code) {});
            }
        });
    }
    context.run();
    std::cout << r.sent << " mails sent, over up to " << r.most_in_use << " connections at once, " << r.refused
              << " refused\n";
    return r.sent == 30 && r.refused == 0 && r.most_in_use == 3 ? 0 : 1;
}
