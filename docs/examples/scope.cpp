// Re-entrant locks: each layer acquires the locks that it needs, and a request never waits for its own locks.

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

// Stands for a database: reading takes time, and other orders may run in between.
struct shop {
    std::map<std::string, int> stock{{"lamp", 3}, {"table", 2}};
    int sold = 0;

    asio::awaitable<int> read(std::string const& item)
    {
        asio::steady_timer network(co_await asio::this_coro::executor, 1ms);
        co_await network.async_wait(asio::deferred);
        co_return stock[item];
    }
};

//[scope
// This function does not know orders. The caller may already hold the lock of the item.
asio::awaitable<bool> take_one(redlock::lock_scope owner, shop& db, std::string item)
{
    auto const take = [&](redlock::lock&) -> asio::awaitable<bool> {
        int const left = co_await db.read(item);
        if (left > 0)
            db.stock[item] = left - 1;
        co_return left > 0;
    };
    co_return co_await owner.with_lock("stock:" + item, {.ttl = 5s, .wait = 10s}, take);
}

asio::awaitable<bool> order_both(redlock::lock_manager& locks, shop& db)
{
    redlock::lock_scope const owner(locks);  // for one request; pass the scope down the call stack
    auto const order = [&](redlock::lock&) -> asio::awaitable<bool> {
        if (co_await db.read("lamp") == 0 || co_await db.read("table") == 0)
            co_return false;
        bool const lamp = co_await take_one(owner, db, "lamp");  // no wait: the scope holds the lock already
        bool const table = co_await take_one(owner, db, "table");
        db.sold += lamp && table;
        co_return (lamp && table);
    };
    co_return co_await owner.with_lock({"stock:lamp", "stock:table"}, {.ttl = 10s, .wait = 30s}, order);
}
//]

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};

    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes});
    shop db;
    int served = 0;
    for (int i = 0; i < 4; ++i)
        asio::co_spawn(context, order_both(locks, db), [&](std::exception_ptr failure, bool) {
            if (failure)
                std::rethrow_exception(failure);
            if (++served == 4)
                locks.async_shutdown([](redlock::error_code) {});
        });
    context.run();

    std::cout << db.sold << " orders of both, " << db.stock["lamp"] << " lamp is left\n";
    return db.sold == 2 && db.stock["lamp"] == 1 && locks.stats().acquired == 4 ? 0 : 1;
}
