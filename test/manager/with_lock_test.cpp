#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(with_lock_bodies)

BOOST_FIXTURE_TEST_CASE(with_lock_runs_the_body_under_the_lock_and_returns_its_value, manager_of<3>)
{
    std::size_t keys_inside = 0;

    auto const r = run(w, locks->with_lock("stock", {}, [&](lock& held) -> asio::awaitable<std::string> {
        BOOST_TEST(held.held());
        keys_inside = w.keys("lock:stock");
        co_await work_for(w, 1s);
        co_return "sold";
    }));

    BOOST_TEST(r.value.value() == "sold");
    BOOST_TEST(keys_inside == 3u);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_CASE(with_lock_result_may_be_void_or_not_default_constructible)
{
    struct no_default {
        explicit no_default(int n) : value(n) {}
        int value;
    };
    lock_world w(3);
    auto locks = w.manager();
    int seen = 0;
    auto both = [&]() -> asio::awaitable<void> {
        co_await locks->with_lock("stock", {}, [&](lock&) -> asio::awaitable<void> {
            seen = 1;
            co_return;
        });
        auto const r = co_await locks->with_lock(
            "stock", {.wait = 1s}, [](lock&) -> asio::awaitable<no_default> { co_return no_default(41); });
        seen += r.value;
    };
    BOOST_TEST(run(w, both()).succeeded());
    BOOST_TEST(seen == 42);
}

BOOST_FIXTURE_TEST_CASE(with_lock_body_that_throws_releases_and_rethrows, manager_of<3>)
{
    auto const r = run(w, locks->with_lock("stock", {}, [&](lock&) -> asio::awaitable<int> {
        co_await work_for(w, 1s);
        throw std::runtime_error("the body has failed");
    }));

    BOOST_CHECK_THROW(std::rethrow_exception(r.failure), std::runtime_error);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(with_lock_of_a_held_lock_throws_with_the_resource, manager_of<3>)
{
    auto blocker = w.acquire(*locks, "stock");
    bool called = false;
    auto const r = run(w, locks->with_lock("stock", {}, [&](lock&) -> asio::awaitable<int> {
        called = true;
        co_return 1;
    }));

    BOOST_TEST((r.code() == errc::contended));
    BOOST_TEST(!called);
    BOOST_CHECK_EXCEPTION(std::rethrow_exception(r.failure), system_error,
                          [](auto& e) { return std::string(e.what()).find("\"stock\"") != std::string::npos; });

    auto const broken =
        run(w, locks->with_lock("stock", {.ttl = 1ms}, [](lock&) -> asio::awaitable<int> { co_return 1; }));
    BOOST_CHECK_EXCEPTION(std::rethrow_exception(broken.failure), system_error,
                          [](auto& e) { return std::string(e.what()).find("ttl is 1 ms") != std::string::npos; });
}

BOOST_FIXTURE_TEST_CASE(with_lock_cancels_the_body_before_the_validity_ends, manager_of<3>)
{
    clock::time_point valid_until, stopped;
    auto const r = run(
        w, locks->with_lock("stock", {.ttl = 3s, .renew = renewal::automatic}, [&](lock& held) -> asio::awaitable<int> {
            w.each([](auto& s) { s.hung = true; });
            valid_until = held.valid_until();
            try {
                co_await work_for(w, 1h);
            } catch (system_error const&) {
                stopped = w.now;
                throw;
            }
            co_return 1;
        }));

    BOOST_TEST((r.code() == errc::lost));
    BOOST_TEST((stopped < valid_until));
    BOOST_TEST((stopped >= valid_until - 150ms));
}

BOOST_FIXTURE_TEST_CASE(with_lock_body_that_ends_after_the_loss_throws_lost, manager_of<3>)
{
    auto const r =
        run(w, locks->with_lock("stock", {.ttl = 1s, .renew = renewal::none}, [&](lock&) -> asio::awaitable<int> {
            co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
            co_await work_for(w, 5s);
            co_return 1;
        }));
    BOOST_TEST((r.code() == errc::lost));
}

BOOST_FIXTURE_TEST_CASE(with_lock_renews_until_the_body_has_ended, and_another<manager_of<3>>)
{
    lock_scope const scope(*locks);
    bool others_got_it = false;
    auto const body = [&](lock& held) -> asio::awaitable<bool> {
        co_await work_for(w, 10s);
        auto const [ec, taken] =
            co_await other->async_acquire(held.resource(), {}, asio::as_tuple(asio::use_awaitable));
        others_got_it = others_got_it || ec != errc::contended;
        co_return held.held();
    };
    acquire_options const brief{.ttl = 1s};
    BOOST_TEST(run(w, locks->with_lock("stock", brief, body)).value.value());
    BOOST_TEST(run(w, locks->with_any_lock(slots("mailer", 1), brief, body)).value.value());
    BOOST_TEST(run(w, scope.with_lock("stock", brief, body)).value.value());
    BOOST_TEST(!others_got_it);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(with_lock_without_renewal_cancels_the_body_after_the_ttl, manager_of<3>)
{
    auto const body = [&](lock&) { return work_for(w, 10s); };
    auto const began = w.now;
    BOOST_TEST((run(w, locks->with_lock("stock", {.ttl = 1s, .renew = renewal::none}, body)).code() == errc::lost));
    BOOST_TEST((w.now - began <= 1s));
    BOOST_TEST(locks->stats().renewals == 0u);
}

BOOST_FIXTURE_TEST_CASE(with_lock_with_max_hold_cancels_a_body_that_hangs, manager_of<3>)
{
    auto const body = [&](lock&) { return work_for(w, 1h); };
    auto const began = w.now;
    BOOST_TEST((run(w, locks->with_lock("stock", {.ttl = 1s, .max_hold = 5s}, body)).code() == errc::lost));
    BOOST_TEST((w.now - began > 4s));
    BOOST_TEST((w.now - began <= 5s));
}

BOOST_FIXTURE_TEST_CASE(with_lock_throws_lost_if_the_release_finds_no_keys, manager_of<3>)
{
    auto const r = run(w, locks->with_lock("stock", {}, [&](lock&) -> asio::awaitable<int> {
        co_await work_for(w, 10ms);
        w.each([](auto& s) { s.entries.clear(); });
        co_return 1;
    }));
    BOOST_TEST((r.code() == errc::lost));
}

BOOST_FIXTURE_TEST_CASE(with_lock_cancelled_cancels_the_body_and_releases, manager_of<3>)
{
    asio::cancellation_signal cancel;
    spawned r(w, locks->with_lock("stock", {}, [&](lock&) { return work_for(w, 1h); }), cancel.slot());
    BOOST_TEST(w.keys_after(100ms) == 3u);

    cancel.emit(asio::cancellation_type::terminal);
    w.run_for(1ms);

    BOOST_TEST(r.done);
    BOOST_TEST((r.code() == asio::error::operation_aborted));
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(with_lock_started_after_the_end_of_the_manager_is_aborted, manager_of<3>)
{
    auto operation = locks->with_lock("stock", {}, [](lock&) -> asio::awaitable<int> { co_return 1; });
    locks.reset();
    w.run_for(1s);
    auto const r = run(w, std::move(operation));
    BOOST_TEST((r.code() == asio::error::operation_aborted));
}

// The thread sanitizer checks that a loss cancels a body that runs on another thread.
BOOST_AUTO_TEST_CASE(with_lock_on_many_threads_cancels_bodies_on_loss, *boost::unit_test::label("threads"))
{
    auto const nodes = {memory_server::at("pool1"), memory_server::at("pool2"), memory_server::at("pool3")};
    asio::thread_pool pool(4);
    lock_manager locks(pool, {.nodes = {"memory://pool1", "memory://pool2", "memory://pool3"}});
    auto const client = [&](int number) -> asio::awaitable<bool> {
        auto const body = [](lock&) -> asio::awaitable<void> {
            asio::steady_timer timer(co_await asio::this_coro::executor);
            for (;;) {
                timer.expires_after(50us);
                co_await timer.async_wait(asio::use_awaitable);
            }
        };
        try {
            co_await locks.with_lock("stock:" + std::to_string(number), {.ttl = 60ms, .renew = renewal::none}, body);
        } catch (system_error const& e) {
            co_return e.code() != asio::error::operation_aborted;  // on a busy machine the acquisition may fail, too
        }
        co_return false;
    };
    std::vector<std::future<bool>> lost;
    for (int i = 0; i < 40; ++i)
        lost.push_back(asio::co_spawn(pool, client(i), asio::use_future));
    for (auto& l : lost)
        BOOST_TEST(l.get());
    locks.async_shutdown(asio::use_future).get();
    pool.join();
}

BOOST_FIXTURE_TEST_CASE(with_lock_cancels_the_body_when_the_manager_is_destroyed, manager_of<3>)
{
    auto const r = run(w, locks->with_lock("stock", {}, [&](lock& held) -> asio::awaitable<int> {
        locks.reset();
        bool cancelled = false;
        try {
            co_await work_for(w, 1s);
        } catch (system_error const&) {
            cancelled = true;
        }
        BOOST_TEST(cancelled);
        BOOST_TEST(held.held());  // the manager keeps the lock until the body has ended
        co_return 1;
    }));
    BOOST_TEST(w.done_after(1ms, r));
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
