#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(with_a_lock)

BOOST_FIXTURE_TEST_CASE(the_body_runs_under_the_lock_and_its_value_is_returned, manager_of<3>)
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

BOOST_AUTO_TEST_CASE(a_result_needs_no_default_constructor_and_may_be_void)
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

BOOST_FIXTURE_TEST_CASE(an_exception_releases_and_passes_through, manager_of<3>)
{
    auto const r = run(w, locks->with_lock("stock", {}, [&](lock&) -> asio::awaitable<int> {
        co_await work_for(w, 1s);
        throw std::runtime_error("out of hair dryers");
    }));

    BOOST_CHECK_THROW(std::rethrow_exception(r.failure), std::runtime_error);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_busy_resource_is_an_exception_that_names_it, manager_of<3>)
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

BOOST_FIXTURE_TEST_CASE(a_loss_cancels_the_body_before_the_validity_ends, manager_of<3>)
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

BOOST_FIXTURE_TEST_CASE(a_body_that_finishes_after_the_loss_has_not_succeeded, manager_of<3>)
{
    auto const r = run(w, locks->with_lock("stock", {.ttl = 1s}, [&](lock&) -> asio::awaitable<int> {
        co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
        co_await work_for(w, 5s);
        co_return 1;
    }));
    BOOST_TEST((r.code() == errc::lost));
}

BOOST_FIXTURE_TEST_CASE(a_lock_that_was_deleted_meanwhile_protected_nothing, manager_of<3>)
{
    auto const r = run(w, locks->with_lock("stock", {}, [&](lock&) -> asio::awaitable<int> {
        co_await work_for(w, 10ms);
        w.each([](auto& s) { s.entries.clear(); });
        co_return 1;
    }));
    BOOST_TEST((r.code() == errc::lost));
}

BOOST_FIXTURE_TEST_CASE(cancelling_from_outside_cancels_the_body_and_releases, manager_of<3>)
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

BOOST_FIXTURE_TEST_CASE(the_manager_may_go_before_the_operation_begins, manager_of<3>)
{
    auto operation = locks->with_lock("stock", {}, [](lock&) -> asio::awaitable<int> { co_return 1; });
    locks.reset();
    w.run_for(1s);
    auto const r = run(w, std::move(operation));
    BOOST_TEST((r.code() == asio::error::operation_aborted));
}

// Under the thread sanitizer this shows that a loss reaches a body that is running on another thread.
BOOST_AUTO_TEST_CASE(the_callers_executor_may_have_many_threads, *boost::unit_test::label("threads"))
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
            co_await locks.with_lock("stock:" + std::to_string(number), {.ttl = 60ms}, body);
        } catch (system_error const& e) {
            co_return e.code() != asio::error::operation_aborted;  // on a busy machine not even acquired
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

BOOST_FIXTURE_TEST_CASE(the_manager_may_go_while_the_body_runs, manager_of<3>)
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
        BOOST_TEST(held.held());  // it is kept until the body has ended
        co_return 1;
    }));
    BOOST_TEST(w.done_after(1ms, r));
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
