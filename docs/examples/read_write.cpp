// A read/write lock: any number of reports at a time, and no price changes while a report is read.

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

struct price_list {
    std::map<std::string, int> prices{{"tea", 100}, {"coffee", 100}, {"milk", 100}};
    int readers = 0, most_readers = 0;
};

asio::awaitable<void> work_for(std::chrono::milliseconds d)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, d);
    co_await timer.async_wait(asio::deferred);
}

//[read_write
asio::awaitable<int> report(redlock::lock_manager& locks, price_list& list)
{
    auto const read = [&](redlock::lock&) -> asio::awaitable<int> {
        list.most_readers = std::max(list.most_readers, ++list.readers);
        int sum = 0;
        for (auto const& [item, price] : list.prices) {
            sum += price;
            co_await work_for(1ms);
        }
        --list.readers;
        co_return sum;
    };
    // Other reports may run at the same time, in this process and in others.
    co_return co_await locks.with_lock("prices", {.ttl = 5s, .wait = 30s, .mode = redlock::mode::shared}, read);
}

asio::awaitable<int> raise_all(redlock::lock_manager& locks, price_list& list)
{
    auto const write = [&](redlock::lock&) -> asio::awaitable<int> {
        for (auto& [item, price] : list.prices) {
            price += 10;
            co_await work_for(1ms);
        }
        co_return 0;
    };
    // Waits for the reports that run now. Reports that begin later wait for this change.
    co_return co_await locks.with_lock("prices", {.ttl = 5s, .wait = 30s}, write);
}
//]

//[upgrade
asio::awaitable<bool> correct(redlock::lock_manager& locks, price_list& list)
{
    auto lock = co_await locks.async_acquire("prices", {.ttl = 5s, .wait = 30s, .mode = redlock::mode::shared});
    if (list.prices["tea"] > 0)
        co_return true;
    // If the upgrade succeeds, no writer has changed the price since it was read.
    auto const [ec] = co_await lock.async_upgrade(asio::as_tuple(asio::deferred));
    if (ec)
        co_return false;  // there are other readers: release the lock and start again
    list.prices["tea"] = 100;
    co_await lock.async_downgrade();  // other readers may read again
    co_return list.prices["tea"] > 0;
}
//]

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};

    asio::io_context context;
    redlock::lock_manager here(context, {.nodes = nodes}), elsewhere(context, {.nodes = nodes});
    price_list list;
    int served = 0, torn = 0;
    for (int i = 0; i < 40; ++i) {
        auto& locks = i % 2 == 0 ? here : elsewhere;
        auto work = i % 8 == 7 ? raise_all(locks, list) : report(locks, list);
        asio::co_spawn(context, std::move(work), [&](std::exception_ptr failure, int sum) {
            if (failure)
                std::rethrow_exception(failure);
            torn += sum % 30 != 0;  // a report must not mix prices before and after a change
            if (++served == 40) {
                here.async_shutdown([](redlock::error_code) {});
                elsewhere.async_shutdown([](redlock::error_code) {});
            }
        });
    }
    context.run();

    list.prices["tea"] = 0;
    bool corrected = false;
    redlock::lock_manager editor(context, {.nodes = nodes});
    asio::co_spawn(context, correct(editor, list), [&](std::exception_ptr failure, bool done) {
        if (failure)
            std::rethrow_exception(failure);
        corrected = done;
        editor.async_shutdown([](redlock::error_code) {});
    });
    context.restart();
    context.run();
    std::cout << served << " served, up to " << list.most_readers << " reading at once, " << torn << " torn reports, "
              << (corrected ? "" : "not ") << "corrected\n";
    return corrected && torn == 0 && served == 40 && list.most_readers > 1 ? 0 : 1;
}
