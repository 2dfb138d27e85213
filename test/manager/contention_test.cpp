#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(contending)

BOOST_FIXTURE_TEST_CASE(rule_10_one_contender_per_process_and_resource, and_another<connected_to<3>>)
{
    auto won = w.acquire(*other, "stock", {.ttl = 60s});
    auto const before = w[0].count(kind::acquire);

    auto outcomes = w.start_many(100, *locks, "stock", {.wait = 1s});
    w.run_for(2s);

    for (auto& o : outcomes) {
        BOOST_TEST(o.calls == 1);
        BOOST_TEST((o.ec == errc::contended));
    }
    // A hundred waiters cost the nodes about as much as one.
    BOOST_TEST(w[0].count(kind::acquire) - before < 130u);
}

BOOST_FIXTURE_TEST_CASE(waiters_of_a_process_are_served_in_the_order_of_their_calls, manager_of<3>)
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

BOOST_FIXTURE_TEST_CASE(a_waiter_of_the_same_process_gets_in_at_once_after_a_release, manager_of<3>)
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
    BOOST_TEST(w[0].count(kind::acquire) == asked + 1);  // and it did not bother the nodes before
}

BOOST_FIXTURE_TEST_CASE(a_cancelled_or_expired_waiter_leaves_the_queue_at_once, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 60s});
    asio::cancellation_signal cancel;
    auto first = w.start(*locks, "stock", {.wait = 100ms});
    auto second = w.start(*locks, "stock", {.wait = 10s}, cancel.slot());
    auto third = w.start(*locks, "stock", {.wait = 20s});
    w.run_for(1s);
    BOOST_TEST((first.ec == errc::contended));

    auto const before = w.now;
    cancel.emit(asio::cancellation_type::total);  // nothing is in flight, so even this works
    w.run_for(1ms);
    BOOST_TEST((second.ec == asio::error::operation_aborted));
    BOOST_TEST((second.when == before));

    w.release(won, 1ms);
    BOOST_TEST(third.held.held());
}

BOOST_AUTO_TEST_CASE(two_processes_that_contend_both_get_their_turns)
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

    w.run_for(2min);

    for (int n : acquired)
        BOOST_TEST(n > 200);
    for (auto& m : managers)
        w.shutdown(*m);
}

BOOST_AUTO_TEST_SUITE_END()
