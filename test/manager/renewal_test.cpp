#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(renewing_and_losing)

BOOST_FIXTURE_TEST_CASE(rule_9_renewal_keeps_a_lock_for_as_long_as_it_is_wanted, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});

    w.run_for(1h);

    BOOST_TEST(won.held.held());
    BOOST_TEST(w.keys("lock:stock") == 3u);
    auto const renewals = locks->stats().renewals;
    BOOST_TEST(renewals >= 3600u);  // about every second: a third of the ttl
    BOOST_TEST(renewals <= 4100u);
    w.release(won, 1h);
    BOOST_TEST(locks->stats().renewals == renewals);
}

BOOST_FIXTURE_TEST_CASE(without_renewal_a_lock_runs_out, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    BOOST_TEST(!w.held_after(2s, won));
    BOOST_TEST(w[0].count(kind::extend) == 0u);
    BOOST_TEST((w.release(won.held) == errc::not_held));
}

BOOST_FIXTURE_TEST_CASE(renewal_stops_at_max_hold, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s, .renew = renewal::automatic, .max_hold = 10s});
    auto l = w.start_wait_lost(won.held);
    BOOST_TEST(w.held_after(9500ms, won));
    BOOST_TEST((won.held.valid_until() <= w.now + 500ms));
    w.run_for(500ms);
    BOOST_TEST(l.calls == 1);
    BOOST_TEST(!won.held.held());
}

BOOST_FIXTURE_TEST_CASE(max_hold_bounds_what_is_extended_by_hand_too, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s, .max_hold = 2s});
    auto const begun = w.now;
    auto lost = w.start_wait_lost(won.held);
    BOOST_TEST(!w.extend(won.held, 30s));
    BOOST_TEST((won.held.valid_until() <= begun + 2s));
    w.run_for(1800ms);
    BOOST_TEST(!lost.ec.has_value());  // the margin is not that of thirty seconds
    BOOST_TEST(!w.held_after(2s, won));
}

BOOST_FIXTURE_TEST_CASE(a_max_hold_below_the_ttl_leaves_time_to_work, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 30s, .max_hold = 100ms});
    auto l = w.start_wait_lost(won.held);
    auto const begun = w.now;
    BOOST_TEST(won.held.held());
    w.run_for(1s);
    BOOST_TEST(l.calls == 1);
    BOOST_TEST((l.when >= begun + 70ms));
    BOOST_TEST((l.when < begun + 100ms));
}

BOOST_FIXTURE_TEST_CASE(a_renewal_that_max_hold_overtook_while_nobody_looked_is_dropped, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic, .max_hold = 1050ms});
    auto l = w.start_wait_lost(won.held);
    w.run_for(800ms);
    w.stall_for(300ms);  // the renewal was due, and then max_hold was over
    w.run_for(2s);
    BOOST_TEST(l.calls == 1);
    BOOST_TEST(locks->stats().renewals == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_with_the_longest_max_hold_is_renewed, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock",
                         {.ttl = 300ms, .renew = renewal::automatic, .max_hold = std::chrono::hours(24) * 36'525});
    BOOST_TEST(w.held_after(5s, won));
}

BOOST_FIXTURE_TEST_CASE(rule_9_failing_is_not_losing, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    auto l = w.start_wait_lost(won.held);
    w.run_for(900ms);

    w.each([](auto& s) { s.reachable = false; });
    w.run_for(1500ms);  // several renewals fail meanwhile
    BOOST_TEST(locks->stats().renewals_failed > 1u);
    BOOST_TEST(won.held.held());
    w.each([](auto& s) { s.reachable = true; });
    w.run_for(10s);

    BOOST_TEST(won.held.held());
    BOOST_TEST(l.calls == 0);
}

BOOST_FIXTURE_TEST_CASE(rule_9_the_loss_signal_comes_before_expiry_and_depends_on_no_reply, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    auto l = w.start_wait_lost(won.held);
    w.each([](auto& s) { s.hung = true; });
    auto const valid_until = won.held.valid_until();

    w.run_for(1min);

    BOOST_TEST(l.calls == 1);
    BOOST_TEST((l.ec == errc::lost));
    BOOST_TEST((l.when == valid_until - 150ms));
    BOOST_TEST(!won.held.held());
    BOOST_TEST(locks->stats().lost == 1u);
}

BOOST_FIXTURE_TEST_CASE(rule_9_refusals_of_a_majority_are_a_loss_at_once, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 30s, .renew = renewal::automatic});
    auto l = w.start_wait_lost(won.held);
    w.run_for(1s);
    w[0].entries.clear();
    w[1].entries.clear();

    w.run_for(10s);

    BOOST_TEST((l.ec == errc::lost));
    BOOST_TEST((l.when < won.held.valid_until() - 15s));
    BOOST_TEST(!won.held.held());
}

BOOST_AUTO_TEST_CASE(a_lost_lock_is_released_only_when_its_user_lets_go)
{
    lock_world w(3);
    auto locks = w.manager({.heal = false});
    auto won = w.acquire(*locks, "stock", {.ttl = 30s, .renew = renewal::automatic});
    w.run_for(1s);
    w[0].entries.clear();
    w[1].entries.clear();
    BOOST_TEST(!w.held_after(11s, won));
    BOOST_TEST(w.keys("lock:stock") == 1u);  // the user may still be at work

    w.drop(won, 1ms);

    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(waiting_for_a_loss_ends_with_the_release, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");
    auto a = w.start_wait_lost(won.held), b = w.start_wait_lost(won.held);

    w.release(won, 1ms);

    BOOST_TEST((a.ec == asio::error::operation_aborted));
    BOOST_TEST((b.ec == asio::error::operation_aborted));
    auto late = w.start_wait_lost(won.held);
    w.run_for(1ms);
    BOOST_TEST((late.ec == asio::error::operation_aborted));
}

BOOST_FIXTURE_TEST_CASE(waiting_for_a_loss_can_be_cancelled, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    asio::cancellation_signal cancel;
    auto cancelled = w.start_wait_lost(won.held, cancel.slot()), stays = w.start_wait_lost(won.held);
    w.run_for(10ms);

    cancel.emit(asio::cancellation_type::total);
    w.run_for(1ms);

    BOOST_TEST((cancelled.ec == asio::error::operation_aborted));
    BOOST_TEST(stays.calls == 0);
    w.run_for(1s);
    BOOST_TEST((stays.ec == errc::lost));
    BOOST_TEST(cancelled.calls == 1);
}

BOOST_FIXTURE_TEST_CASE(rule_2_a_lock_is_lost_by_the_clock_even_if_no_timer_rang, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s, .renew = renewal::automatic});

    w.now += 20s;  // the process was stopped, or the machine slept; nothing has run since

    BOOST_TEST(!won.held.held());
    BOOST_TEST((won.held.remaining() == 0ms));
}

BOOST_FIXTURE_TEST_CASE(a_renewal_in_flight_does_not_resurrect_a_released_lock, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 300ms, .renew = renewal::automatic});
    w.each([](auto& s) { s.request_delay = 30ms; });
    w.run_for(101ms);  // a renewal is on its way

    w.release(won, 1s);

    BOOST_TEST(w.keys("lock:stock") == 0u);
    BOOST_TEST(!won.held.held());
}

BOOST_AUTO_TEST_SUITE_END()
