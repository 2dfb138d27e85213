#include "tools/demo/reports.hpp"

#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <chrono>
#include <cstddef>

namespace redlock::demo {

namespace {

using namespace std::chrono_literals;
using asio::awaitable;

// Stands for two queries to a database. Without a lock, a sale between them makes the sum wrong.
awaitable<bool> adds_up(shop::item const& i)
{
    auto const left = i.stock.load();
    asio::steady_timer database(co_await asio::this_coro::executor, 2ms);
    co_await database.async_wait(asio::use_awaitable);
    co_return i.sold + left == i.delivered;
}

void note(shop::lines& l, bool right) { ++(right ? l.right : l.wrong); }

}  // namespace

awaitable<void> report(shop& s, lock_manager& locks, acquire_options how)
{
    how.mode = mode::shared;
    for (std::size_t i = 0; i < s.kinds; ++i) {
        auto& item = s.items[i];
        auto const read = [&](lock&) { return adds_up(item); };
        note(s.lines_under_lock, co_await locks.with_lock(lock_name(item), how, read));
    }
    for (std::size_t i = 0; i < s.kinds; ++i)
        note(s.lines_without, co_await adds_up(s.items[i]));
}

}  // namespace redlock::demo
