#include "support/manager_test.hpp"

#include <redlock/elect.hpp>
#include <redlock/lock_scope.hpp>

#include <boost/asio/execution.hpp>

#include <malloc.h>
#include <type_traits>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(lifetimes)

// Rule 11 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(lock_manager_destroyed_aborts_acquire_and_wait_lost, and_another<manager_of<3>>)
{
    auto blocker = w.acquire(*other, "busy", {.ttl = 60s});
    auto won = w.acquire(*locks, "stock");
    auto waiting = w.start_many(3, *locks, "busy", {.wait = wait_forever});
    auto lost = w.start_wait_lost(won.held);
    w.run_for(100ms);

    locks.reset();
    w.run_for(100ms);

    for (auto& o : waiting) {
        BOOST_TEST(o.calls == 1);
        BOOST_TEST((o.ec == asio::error::operation_aborted));
    }
    BOOST_TEST(lost.calls == 1);
    BOOST_TEST((lost.ec == asio::error::operation_aborted));
    BOOST_TEST(won.held.held());  // the handle keeps its lock
    BOOST_TEST(w.keys("lock:stock") == 3u);
    BOOST_TEST(!w.held_after(10s, won));
    BOOST_TEST(won.held.resource() == "stock");
    BOOST_TEST(w.keys("lock:stock") == 0u);
    BOOST_TEST((w.release(won.held) == errc::not_held));
    BOOST_TEST(blocker.held.held());
}

BOOST_FIXTURE_TEST_CASE(shutdown_deletes_the_keys_of_a_lost_lock, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 60s});
    w.run_for(1ms);
    w[0].entries.clear();
    w[1].entries.clear();
    BOOST_TEST((w.extend(won.held, 60s) == errc::lost));
    BOOST_TEST(w.keys("lock:stock") == 1u);

    BOOST_TEST(!w.shutdown(*locks));
    BOOST_TEST(w.keys("lock:stock") == 0u);

    w.drop(won, 1ms);
    BOOST_TEST(locks->stats().cleaning == 0u);
    BOOST_TEST(locks->stats().held == 0u);
}

// Rule 11 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(lock_lost_before_its_context_ended_returns_not_held)
{
    asio::io_context elsewhere;
    lock survivor;
    error_code released, extended, waited;
    {
        lock_world w(3);
        auto locks = w.manager();
        survivor = std::move(w.acquire(*locks, "stock", {.ttl = 1s}).held);
        w.run_for(2s);
        BOOST_TEST(!survivor.held());
    }
    survivor.async_release(asio::bind_executor(elsewhere, [&](error_code ec) { released = ec; }));
    survivor.async_extend(1s, asio::bind_executor(elsewhere, [&](error_code ec) { extended = ec; }));
    survivor.async_wait_lost(asio::bind_executor(elsewhere, [&](error_code ec) { waited = ec; }));
    elsewhere.run();
    BOOST_TEST((released == errc::not_held));
    BOOST_TEST((extended == errc::not_held));
    BOOST_TEST((waited == errc::not_held));
}

// Rule 11 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(held_after_the_end_of_manager_and_context_is_false)
{
    lock survivor, sleeper;
    bool done = false;
    {
        lock_world w(3);
        auto locks = w.manager();
        survivor = std::move(w.acquire(*locks, "stock", {.renew = renewal::automatic}).held);
        sleeper = std::move(w.acquire(*locks, "other").held);
        sleeper.async_wait_lost([&](error_code) { done = true; });
        locks.reset();
        w.run_for(0ms);
    }
    BOOST_TEST(!survivor.held());
    survivor = {};
    BOOST_TEST(done);
}

BOOST_FIXTURE_TEST_CASE(shutdown_releases_and_aborts_later_acquisitions, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.renew = renewal::automatic});
    w.run_for(1ms);

    locks->async_shutdown([](error_code) {});
    won.held = {};
    BOOST_TEST(!w.shutdown(*locks));

    BOOST_TEST(w.keys("lock:stock") == 0u);
    auto late = w.acquire(*locks, "stock");
    BOOST_TEST((late.ec == asio::error::operation_aborted));
    BOOST_TEST(!w.shutdown(*locks));
    auto const s = locks->stats();
    BOOST_TEST(s.held == 0u);
    BOOST_TEST(s.running == 0u);
    BOOST_TEST(s.cleaning == 0u);
}

BOOST_AUTO_TEST_CASE(shutdown_with_hung_nodes_ends_in_bounded_time)
{
    lock_world w(3);
    auto locks = w.manager({.node_timeout = 50ms, .connect_timeout = 200ms});
    auto won = w.acquire(*locks, "stock");
    w.run_for(1ms);
    w.each([](auto& s) { s.hung = true; });
    auto const before = w.now;
    won.held = {};

    BOOST_TEST((w.shutdown(*locks) == errc::keys_left));

    BOOST_TEST((w.now - before == 250ms));
    BOOST_TEST(!won.held.held());
}

BOOST_FIXTURE_TEST_CASE(async_shutdown_cancelled_completes_while_the_shutdown_goes_on, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");
    w.each([](auto& s) { s.hung = true; });
    won.held = {};
    asio::cancellation_signal cancel;
    auto cancelled = w.start_shutdown(*locks, cancel.slot()), stopped = w.start_shutdown(*locks);
    w.run_for(1ms);
    cancel.emit(asio::cancellation_type::terminal);
    w.run_for(10s);

    BOOST_TEST((cancelled.ec == asio::error::operation_aborted));
    BOOST_TEST((stopped.ec == errc::keys_left));
    BOOST_TEST((cancelled.when < stopped.when));
}

// Rule 11 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(lock_manager_destroyed_at_any_moment_leaves_no_key)
{
    for (auto moment = 0us; moment < 3000us; moment += 40us) {
        lock_world w(3);
        w[0].reply_delay = 700us;
        w[1].request_delay = 900us;
        auto locks = w.manager();
        auto outcomes = w.start_many(4, *locks, "stock", {.ttl = 1s, .wait = 1s, .renew = renewal::automatic});

        w.run_for(moment);
        locks.reset();
        w.run_for(3s);

        for (auto& o : outcomes) {
            BOOST_TEST_REQUIRE((o.calls == 1));
            BOOST_TEST_REQUIRE((!o.held.held()));
        }
        BOOST_TEST_REQUIRE((w.keys("lock:stock") == 0u));
    }
}

// Rule 11 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(io_context_destroyed_at_any_moment_leaves_no_held_lock)
{
    // Operations are in flight when the context is destroyed. The sanitizers report leaks.
    for (auto moment = 0us; moment < 3000us; moment += 40us) {
        auto calls = 0;
        std::unique_ptr<lock_manager> locks;
        std::deque<lock> handles(3);
        {
            lock_world w(3);
            w[0].reply_delay = 700us;
            w[1].request_delay = 900us;
            w[2].hung = true;
            locks = w.manager();
            for (int i = 0; i < 3; ++i) {
                locks->async_acquire("stock" + std::to_string(i % 2),
                                     {.ttl = 1s, .wait = 1s, .renew = renewal::automatic}, [&, i](error_code, lock l) {
                                         ++calls;
                                         handles[static_cast<std::size_t>(i)] = std::move(l);
                                         handles[static_cast<std::size_t>(i)].async_wait_lost([&](error_code) {});
                                         handles[static_cast<std::size_t>(i)].async_extend(1s, [&](error_code) {});
                                     });
            }
            locks->async_inspect("stock0", [&](error_code, lock_info) {});
            w.run_for(moment);
            if (moment > 1500us)
                locks->async_shutdown([](error_code) {});
        }
        for (auto& h : handles)
            BOOST_TEST_REQUIRE((!h.held()));
    }
}

// Rule 11 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(io_context_destroyed_in_the_second_round_leaves_no_held_lock)
{
    for (auto moment = 0us; moment < 1000us; moment += 20us) {
        std::unique_ptr<lock_manager> locks;
        lock held;
        {
            lock_world w(3);
            for (std::size_t i = 0; i < 3; ++i)
                w[i].counters["lock:stock"] = 1000 * i;
            locks = w.manager({.fencing = true});
            locks->async_acquire("stock", {}, [&](error_code, lock l) { held = std::move(l); });
            w.run_for(moment);
        }
        BOOST_TEST_REQUIRE(!held.held());
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_ten_thousand_times_leaks_no_memory, manager_of<3>)
{
    auto const round = [&](int i) {
        asio::cancellation_signal cancel;
        lock held;
        int calls = 0;
        auto const name = "stock" + std::to_string(i % 3);
        locks->async_acquire(
            name,
            {.ttl = 1s,
             .wait = std::chrono::milliseconds(i % 2 * 50),
             .renew = i % 5 ? renewal::none : renewal::automatic},
            asio::bind_cancellation_slot(cancel.slot(), [&](error_code, lock l) { ++calls, held = std::move(l); }));
        w.run_for(std::chrono::microseconds(i % 7 * 50));
        if (i % 4 == 0)
            cancel.emit(asio::cancellation_type::terminal);
        w.run_for(10ms);
        if (i % 3 == 0)
            held.async_release([](error_code) {});
        if (i % 11 == 0)
            held.async_wait_lost([](error_code) {});
        held = {};
        w.run_for(60ms);
        w.each([](auto& s) { s.requests.clear(); });
        return calls;
    };
    [[maybe_unused]] std::size_t in_use = 0;
    int calls = 0;
    for (int i = 0; i < 10'000; ++i) {
        calls += round(i);
        if (i == 1'000)
            in_use = ::mallinfo2().uordblks;
    }
    BOOST_TEST(calls == 10'000);
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)  // the sanitizers look for leaks
    BOOST_TEST(::mallinfo2().uordblks < in_use + 16 * 1024);
#endif
    BOOST_TEST(!w.shutdown(*locks));
    auto const s = locks->stats();
    BOOST_TEST(s.held + s.running + s.cleaning == 0u);
}

// Rule 11 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(async_functions_called_after_the_context_is_gone_complete)
{
    std::unique_ptr<lock_manager> locks;
    lock held;
    {
        lock_world w(3);
        locks = w.manager();
        held = std::move(w.acquire(*locks, "stock").held);
    }
    std::vector<std::future<void>> results;
    results.push_back(held.async_extend(10s, asio::use_future));
    results.push_back(held.async_wait_lost(asio::use_future));
    results.push_back(held.async_release(asio::use_future));
    for (auto& r : results)
        BOOST_CHECK_EXCEPTION(r.get(), system_error, [](auto& e) { return e.code() == errc::not_held; });
    BOOST_CHECK_EXCEPTION(static_cast<void>(locks->async_acquire("stock", {}, asio::use_future).get()), system_error,
                          [](auto& e) { return e.code() == asio::error::operation_aborted; });
    BOOST_CHECK_NO_THROW(locks->async_shutdown(asio::use_future).get());
}

BOOST_AUTO_TEST_CASE(release_before_or_during_shutdown_completes)
{
    for (int order = 0; order < 2; ++order) {
        lock_world w(3);
        auto locks = w.manager();
        auto won = w.acquire(*locks, "stock");
        int ended = 0;
        auto const release = [&] { won.held.async_release([&](error_code) { ++ended; }); };
        if (order == 0)
            release();
        locks->async_shutdown([&](error_code) { ++ended; });
        if (order == 1)
            release();
        w.run_for(2s);
        BOOST_TEST(ended == 2);
        BOOST_TEST(w.keys("lock:stock") == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(wait_lost_in_a_cancelled_coroutine_releases_the_lock, manager_of<3>)
{
    {
        auto body = [&]() -> asio::awaitable<void> {
            auto held = co_await locks->async_acquire("stock", {.ttl = 30s}, asio::use_awaitable);
            co_await held.async_wait_lost(asio::use_awaitable);
        };
        asio::cancellation_signal cancel;
        asio::co_spawn(w.context, body(), asio::bind_cancellation_slot(cancel.slot(), asio::detached));
        BOOST_TEST(w.keys_after(10ms) == 3u);
        cancel.emit(asio::cancellation_type::terminal);
        w.run_for(10ms);
    }
    BOOST_TEST(w.keys("lock:stock") == 0u);
    BOOST_TEST(locks->stats().held == 0u);
}

BOOST_AUTO_TEST_CASE(log_function_that_throws_does_not_stop_wait_lost)
{
    lock_world w(3);
    int lines = 0;
    auto locks = w.manager({.log = [&](log_level, std::string_view) {
        ++lines;
        throw std::runtime_error("the disk is full");
    }});
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    auto told = w.start_wait_lost(won.held);
    w.run_for(2s);
    BOOST_TEST(lines == 1);
    BOOST_TEST((told.calls == 1 && told.ec == errc::lost));
    BOOST_TEST(!w.acquire(*locks, "other").ec);
}

BOOST_AUTO_TEST_CASE(log_function_may_destroy_the_manager)
{
    lock_world w(3);
    std::unique_ptr<lock_manager> locks;
    locks = w.manager({.log = [&](log_level, std::string_view) { locks.reset(); }});
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    auto other = w.acquire(*locks, "other", {.ttl = 30s});
    auto told = w.start_wait_lost(won.held);
    w.run_for(2s);
    BOOST_TEST((told.calls == 1 && told.ec == errc::lost));
    BOOST_TEST(!locks);
    w.drop(other, 1s);
    BOOST_TEST(w.keys("lock:other") == 0u);
}

BOOST_AUTO_TEST_CASE(log_function_is_never_called_inside_a_call)
{
    lock_world w(3);
    bool inside = false;
    int lines = 0;
    auto locks = w.manager({.log = [&](log_level, std::string_view) {
        BOOST_TEST(!inside);
        ++lines;
    }});
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    w.stall_for(2s);  // the call below is the first to notice the loss
    asio::post(w.context, [&] {
        inside = true;
        won.held.async_extend(1s, [](error_code) {});
        inside = false;
    });
    w.run_for(1s);
    BOOST_TEST(lines == 2);  // the stall, and the loss
}

BOOST_FIXTURE_TEST_CASE(wait_lost_cancelled_fifty_thousand_times_completes_each_once, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 30s});
    std::deque<asio::cancellation_signal> cancel(50'000);
    std::size_t told = 0;
    for (auto& c : cancel)
        won.held.async_wait_lost(asio::bind_cancellation_slot(
            c.slot(), [&](error_code ec) { told += ec == asio::error::operation_aborted; }));
    w.run_for(1ms);
    for (auto c = cancel.rbegin(); c != cancel.rend(); ++c)
        c->emit(asio::cancellation_type::terminal);
    w.run_for(1ms);
    BOOST_TEST(told == cancel.size());
    w.drop(won, 1ms);
    BOOST_TEST(told == cancel.size());
}

namespace {

/// An executor of an event loop that counts its copies.
struct counted_executor {
    asio::io_context::executor_type inner;
    std::shared_ptr<void> copies = std::make_shared<int>();

    asio::execution_context& query(asio::execution::context_t) const noexcept { return inner.context(); }
    static constexpr asio::execution::blocking_t query(asio::execution::blocking_t) noexcept
    {
        return asio::execution::blocking.never;
    }
    template <class F>
    void execute(F f) const
    {
        asio::post(inner, std::move(f));
    }
    friend bool operator==(counted_executor const& a, counted_executor const& b) noexcept
    {
        return a.copies == b.copies;
    }
    friend bool operator!=(counted_executor const& a, counted_executor const& b) noexcept { return !(a == b); }
};

// Returns how many copies of the executor the cancellation slot keeps after the execution context is destroyed.
template <class Start>
long copies_left(Start start)
{
    asio::cancellation_signal signal;
    std::shared_ptr<void> copies;
    {
        and_another<connected_to<3>> world;
        auto const blocker = world.w.acquire(*world.other, "busy", {.ttl = 60s});
        auto won = world.w.acquire(*world.locks, "stock", {.ttl = 60s, .mode = mode::upgradeable});
        counted_executor const executor{world.w.context.get_executor()};
        copies = executor.copies;
        start(world, won.held, asio::any_io_executor(executor), signal.slot());
        world.w.run_for(10ms);
        BOOST_TEST(copies.use_count() > 2);  // the operation is under way
    }
    return copies.use_count() - 1;
}

template <class Make>
auto spawned(Make make)
{
    return [make](auto& world, lock&, asio::any_io_executor const& executor, asio::cancellation_slot slot) {
        asio::co_spawn(executor, make(world, *world.locks), asio::bind_cancellation_slot(slot, asio::detached));
    };
}

template <class Begin>
auto called(Begin begin)
{
    return [begin](auto& world, lock& held, asio::any_io_executor const& executor, asio::cancellation_slot slot) {
        begin(world, held, asio::bind_cancellation_slot(slot, asio::bind_executor(executor, [](auto&&...) {})));
    };
}

// The servers carry out requests but do not reply.
template <class Begin>
auto called_without_reply(Begin begin)
{
    return called([begin](auto& world, lock& held, auto handler) {
        world.w.each([](auto& s) { s.mute = true; });
        begin(world, held, std::move(handler));
    });
}

template <class Result>
asio::awaitable<Result> never_ends()
{
    asio::steady_timer never(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
    co_await never.async_wait(asio::use_awaitable);
    if constexpr (!std::is_void_v<Result>)
        co_return Result();
}

}  // namespace

// `asio::co_spawn` itself keeps copies of the user's executor in the slot (`own`). The library must add none, because
// its strand is destroyed with the context.
BOOST_AUTO_TEST_CASE(cancellation_slot_keeps_no_executor_after_the_context_is_gone)
{
    auto const own = copies_left(spawned([](auto&, auto&) { return never_ends<void>(); }));

    auto const leads = [](lock&) { return never_ends<elected>(); };
    auto const body = [](auto&) { return never_ends<void>(); };
    acquire_options const waits{.ttl = 60s, .wait = 1h};
    BOOST_TEST(copies_left(spawned([&](auto&, auto& locks) { return elect(locks, "free", {}, leads); })) == own);
    BOOST_TEST(copies_left(spawned([&](auto&, auto& locks) { return elect(locks, "busy", {}, leads); })) == own);
    BOOST_TEST(copies_left(spawned([&](auto&, auto& locks) { return locks.with_lock("free", {.ttl = 60s}, body); }))
               == own);
    BOOST_TEST(copies_left(spawned([&](auto&, auto& locks) { return locks.with_lock("busy", waits, body); })) == own);
    BOOST_TEST(copies_left(spawned(
                   [&](auto&, auto& locks) { return locks.with_any_lock(slots("free", 3), {.ttl = 60s}, body); }))
               == own);
    BOOST_TEST(
        copies_left(spawned([&](auto&, auto& locks) { return lock_scope(locks).with_lock("busy", waits, body); }))
        == own);

    BOOST_TEST(copies_left(called([&](auto& w, lock&, auto h) { w.locks->async_acquire("busy", waits, std::move(h)); }))
               == 0);
    BOOST_TEST(copies_left(called([&](auto& w, lock&, auto h) {
                   w.locks->async_acquire({"busy", "free"}, waits, std::move(h));
               }))
               == 0);
    BOOST_TEST(
        copies_left(called([&](auto& w, lock&, auto h) { w.locks->async_acquire_any("busy", waits, std::move(h)); }))
        == 0);
    BOOST_TEST(copies_left(called(
                   [&](auto& w, lock&, auto h) { lock_scope(*w.locks).async_acquire("busy", waits, std::move(h)); }))
               == 0);
    acquire_options const waits_for_right{.ttl = 60s, .wait = 1h, .mode = mode::upgradeable};
    BOOST_TEST(copies_left(called(
                   [&](auto& w, lock&, auto h) { w.locks->async_acquire("busy", waits_for_right, std::move(h)); }))
               == 0);
    BOOST_TEST(copies_left(called([](auto&, lock& l, auto h) { l.async_wait_lost(std::move(h)); })) == 0);
    BOOST_TEST(copies_left(called_without_reply([](auto&, lock& l, auto h) { l.async_release(std::move(h)); })) == 0);
    BOOST_TEST(copies_left(called_without_reply([](auto&, lock& l, auto h) { l.async_extend(60s, std::move(h)); }))
               == 0);
    BOOST_TEST(copies_left(called_without_reply([](auto&, lock& l, auto h) { l.async_upgrade(1h, std::move(h)); }))
               == 0);
    BOOST_TEST(copies_left(called_without_reply([](auto& w, lock&, auto h) { w.locks->async_shutdown(std::move(h)); }))
               == 0);
}

BOOST_AUTO_TEST_SUITE_END()
