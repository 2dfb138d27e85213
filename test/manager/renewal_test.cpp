#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(renewals)

// Rule 9 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(renewal_keeps_a_lock_until_its_release, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});

    w.run_for(1h);

    BOOST_TEST(won.held.held());
    BOOST_TEST(w.keys("lock:stock") == 3u);
    auto const renewals = locks->stats().renewals;
    BOOST_TEST(renewals >= 3600u);  // about one a second: a third of the ttl
    BOOST_TEST(renewals <= 4100u);
    w.release(won, 1h);
    BOOST_TEST(locks->stats().renewals == renewals);
}

BOOST_FIXTURE_TEST_CASE(renewal_none_lets_the_lock_expire, manager_of<3>)
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

BOOST_FIXTURE_TEST_CASE(max_hold_also_limits_extend, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s, .max_hold = 2s});
    auto const begun = w.now;
    auto lost = w.start_wait_lost(won.held);
    BOOST_TEST(!w.extend(won.held, 30s));
    BOOST_TEST((won.held.valid_until() <= begun + 2s));
    w.run_for(1800ms);
    BOOST_TEST(!lost.ec.has_value());  // the margin is that of 2 s, not of 30 s
    BOOST_TEST(!w.held_after(2s, won));
}

BOOST_FIXTURE_TEST_CASE(max_hold_below_the_ttl_is_held_almost_to_its_end, manager_of<3>)
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

BOOST_FIXTURE_TEST_CASE(renewal_due_in_a_pause_past_max_hold_is_dropped, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic, .max_hold = 1050ms});
    auto l = w.start_wait_lost(won.held);
    w.run_for(800ms);
    w.stall_for(300ms);  // the renewal becomes due, then max_hold ends
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

// Rule 9 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(renewal_that_fails_does_not_lose_the_lock, manager_of<3>)
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

// Rule 9 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(wait_lost_completes_before_expiry_without_any_reply, manager_of<3>)
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

// Rule 9 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(wait_lost_completes_at_once_when_a_majority_denies_a_renewal, manager_of<3>)
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

BOOST_AUTO_TEST_CASE(lock_destructor_releases_the_keys_of_a_lost_lock)
{
    lock_world w(3);
    auto locks = w.manager({.heal = false});
    auto won = w.acquire(*locks, "stock", {.ttl = 30s, .renew = renewal::automatic});
    w.run_for(1s);
    w[0].entries.clear();
    w[1].entries.clear();
    BOOST_TEST(!w.held_after(11s, won));
    BOOST_TEST(w.keys("lock:stock") == 1u);  // the holder may still be working

    w.drop(won, 1ms);

    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(wait_lost_is_aborted_by_release, manager_of<3>)
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

BOOST_FIXTURE_TEST_CASE(wait_lost_cancelled_completes_with_operation_aborted, manager_of<3>)
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

// Rule 2 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(held_after_expiry_is_false_even_if_no_timer_fired, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s, .renew = renewal::automatic});

    w.now += 20s;  // the process was paused or the machine slept

    BOOST_TEST(!won.held.held());
    BOOST_TEST((won.held.remaining() == 0ms));
}

BOOST_FIXTURE_TEST_CASE(renewal_in_flight_does_not_revive_a_released_lock, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 300ms, .renew = renewal::automatic});
    w.each([](auto& s) { s.request_delay = 30ms; });
    w.run_for(101ms);  // a renewal is on its way

    w.release(won, 1s);

    BOOST_TEST(w.keys("lock:stock") == 0u);
    BOOST_TEST(!won.held.held());
}

BOOST_AUTO_TEST_SUITE_END()
