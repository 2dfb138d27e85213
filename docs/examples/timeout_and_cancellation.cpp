// Acquisitions that fail: the wait is over, the caller cancels it, or too few nodes answer.

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <boost/asio.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/version.hpp>

#include <iostream>

namespace asio = boost::asio;
using namespace std::chrono_literals;
int surprises = 0;

//[wait
asio::awaitable<void> wait_a_little(redlock::lock_manager& locks)
{
    auto [ec, held] =
        co_await locks.async_acquire("stock", {.wait = 100ms, .explain = true}, asio::as_tuple(asio::deferred));
    auto const report = held.report();
    std::cout << report->message << '\n';
    for (redlock::node_report const& node : report->nodes)
        std::cout << node.name << ' ' << to_string(node.vote) << ' ' << node.error.message() << '\n';
    surprises += ec != redlock::errc::contended;
}
//]

//[cancel
asio::awaitable<void> wait_until_cancelled(redlock::lock_manager& locks)
{
    redlock::acquire_options const patient{.wait = redlock::wait_forever};
    using namespace asio::experimental::awaitable_operators;
    asio::steady_timer closing_time(co_await asio::this_coro::executor, 100ms);
    auto first = co_await (locks.async_acquire("stock", patient, asio::use_awaitable)
                           || closing_time.async_wait(asio::use_awaitable));
    surprises += first.index() != 1;  // the timer was first, so the acquisition was cancelled
}
//]

#if BOOST_VERSION >= 108600
//[cancel_after
asio::awaitable<void> wait_at_most(redlock::lock_manager& locks)
{
    redlock::acquire_options const patient{.wait = redlock::wait_forever};
    auto [ec, held] = co_await locks.async_acquire("stock", patient, asio::cancel_after(100ms, asio::as_tuple));
    surprises += ec != asio::error::operation_aborted;
}
//]
#endif

//[no_quorum
asio::awaitable<void> nobody_there()
{
    auto const executor = co_await asio::this_coro::executor;
    redlock::lock_manager locks(executor, {.nodes = {"localhost:1", "localhost:2", "localhost:3"}});
    auto [ec, held] = co_await locks.async_acquire("stock", {.wait = 100ms}, asio::as_tuple(asio::deferred));
    surprises += ec != redlock::errc::no_quorum;
}
//]

asio::awaitable<void> run(redlock::lock_manager& locks)
{
    auto somebody_else = co_await locks.async_try_acquire("stock", {.ttl = 10s});
    co_await wait_a_little(locks);
    co_await wait_until_cancelled(locks);
#if BOOST_VERSION >= 108600
    co_await wait_at_most(locks);
#endif
    co_await nobody_there();
    co_await somebody_else.async_release();
    co_await locks.async_shutdown();
}

int main(int argc, char** argv)
{
    std::vector<std::string> nodes(argv + 1, argv + argc);
    if (nodes.empty())
        nodes = {"memory://a", "memory://b", "memory://c"};
    asio::io_context context;
    redlock::lock_manager locks(context, {.nodes = nodes});
    asio::co_spawn(context, run(locks), [](std::exception_ptr e) { e ? std::rethrow_exception(e) : void(); });
    context.run();
    return surprises;
}
