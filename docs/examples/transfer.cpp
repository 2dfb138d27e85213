// One lock on several resources: forty transfers between accounts, in all directions, without a deadlock.

#include <redlock.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>

#include <boost/asio.hpp>

#include <iostream>
#include <map>
#include <string>
#include <vector>

namespace asio = boost::asio;
using namespace std::chrono_literals;

// Stands for a database: reading and writing take time, and other transfers may run in between.
struct bank {
    std::map<std::string, int> balance{{"alice", 100}, {"bob", 100}, {"carol", 100}};

    asio::awaitable<int> read(std::string const& account)
    {
        asio::steady_timer network(co_await asio::this_coro::executor, 1ms);
        co_await network.async_wait(asio::deferred);
        co_return balance[account];
    }

    asio::awaitable<void> write(std::string const& account, int amount)
    {
        asio::steady_timer network(co_await asio::this_coro::executor, 1ms);
        co_await network.async_wait(asio::deferred);
        balance[account] = amount;
    }
};

//[transfer
asio::awaitable<bool> transfer(redlock::lock_manager& locks, bank& db, std::string from, std::string to, int amount)
{
    auto move = [&](redlock::lock&) -> asio::awaitable<bool> {
        int const source = co_await db.read(from);
        int const target = co_await db.read(to);
        if (source < amount)
            co_return false;
        co_await db.write(from, source - amount);
        co_await db.write(to, target + amount);
        co_return true;
    };
    // Locks both accounts or none, usually in one round trip. The order of the names does not matter.
    co_return co_await locks.with_lock({"account:" + from, "account:" + to}, {.ttl = 5s, .wait = 30s}, move);
}
//]

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};

    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes});
    bank db;
    std::string const names[] = {"alice", "bob", "carol"};
    int done = 0, served = 0;
    for (int i = 0; i < 40; ++i)
        asio::co_spawn(context, transfer(locks, db, names[i % 3], names[(i + 1 + i % 2) % 3], 7 + i),
                       [&](std::exception_ptr failure, bool moved) {
                           if (failure)
                               std::rethrow_exception(failure);
                           done += moved;
                           if (++served == 40)
                               locks.async_shutdown([](redlock::error_code) {});
                       });
    context.run();

    int sum = 0;
    for (auto const& [account, amount] : db.balance)
        sum += amount;
    std::cout << done << " transfers, " << sum << " in all accounts\n";
    return done > 0 && sum == 300 ? 0 : 1;
}
