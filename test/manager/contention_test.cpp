#include "support/long_proof.hpp"
#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(contention)

// Rule 10 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(acquire_by_a_hundred_waiters_sends_about_as_many_requests_as_one, and_another<connected_to<3>>)
{
    auto won = w.acquire(*other, "stock", {.ttl = 60s});
    auto const before = w[0].count(kind::acquire);

    auto outcomes = w.start_many(100, *locks, "stock", {.wait = 1s});
    w.run_for(2s);

    for (auto& o : outcomes) {
        BOOST_TEST(o.calls == 1);
        BOOST_TEST((o.ec == errc::contended));
    }
    // A hundred waiters cause about as many requests as one.
    BOOST_TEST(w[0].count(kind::acquire) - before < 130u);
}

BOOST_FIXTURE_TEST_CASE(acquire_with_wait_is_served_in_the_order_of_the_calls, manager_of<3>)
{
    std::vector<int> order;
    for (int i = 0; i < 20; ++i) {
        locks->async_acquire("stock", {.wait = 1min}, [&, i](error_code ec, lock l) {
            BOOST_TEST_REQUIRE((!ec));
            order.push_back(i);
            l.async_release([](error_code) {});
        });
    }

    w.run_for(1min);

    BOOST_TEST_REQUIRE(order.size() == 20u);
    BOOST_TEST(std::is_sorted(order.begin(), order.end()));
}

BOOST_FIXTURE_TEST_CASE(release_lets_a_waiter_of_the_same_manager_acquire_at_once, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 60s});
    auto next = w.start(*locks, "stock", {.wait = 30s});
    BOOST_TEST(!w.done_after(10s, next));
    auto const asked = w[0].count(kind::acquire);
    auto const before = w.now;

    won.held.async_release([](error_code) {});
    w.run_for(1ms);

    BOOST_TEST(next.held.held());
    BOOST_TEST((next.when - before < 1ms));
    BOOST_TEST(w[0].count(kind::acquire) == asked + 1);  // the waiter sent no request before
}

BOOST_FIXTURE_TEST_CASE(acquire_cancelled_or_timed_out_leaves_the_queue_at_once, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 60s});
    asio::cancellation_signal cancel;
    auto first = w.start(*locks, "stock", {.wait = 100ms});
    auto second = w.start(*locks, "stock", {.wait = 10s}, cancel.slot());
    auto third = w.start(*locks, "stock", {.wait = 20s});
    w.run_for(1s);
    BOOST_TEST((first.ec == errc::contended));

    auto const before = w.now;
    cancel.emit(asio::cancellation_type::total);  // suffices: no request is in flight
    w.run_for(1ms);
    BOOST_TEST((second.ec == asio::error::operation_aborted));
    BOOST_TEST((second.when == before));

    w.release(won, 1ms);
    BOOST_TEST(third.held.held());
}

BOOST_AUTO_TEST_CASE(acquire_by_three_contending_managers_starves_none)
{
    lock_world w(5);
    std::unique_ptr<lock_manager> managers[] = {w.manager(), w.manager(), w.manager()};
    int inside = 0, acquired[] = {0, 0, 0};
    std::function<void(int)> work = [&](int i) {
        managers[i]->async_acquire("stock", {.ttl = 5s, .wait = 1min}, [&, i](error_code ec, lock l) {
            if (ec == asio::error::operation_aborted)
                return;
            BOOST_TEST_REQUIRE((!ec));
            BOOST_TEST_REQUIRE((++inside == 1));
            ++acquired[i];
            auto held = std::make_shared<lock>(std::move(l));
            w.at(w.now + 5ms, [&, i, held] {
                --inside;
                held->async_release([&, i](error_code) { work(i); });
            });
        });
    };
    for (int i = 0; i < 3; ++i)
        work(i);

    w.run_for(pick(40s, 120s));

    for (int n : acquired)
        BOOST_TEST(n > pick(67, 200));
    for (auto& m : managers)
        w.shutdown(*m);
}

BOOST_AUTO_TEST_SUITE_END()
