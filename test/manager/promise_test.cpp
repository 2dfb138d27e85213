// Nodes that keep a key for a session or a lease only, that are slow, or that cannot do everything.

#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(promises)

BOOST_FIXTURE_TEST_CASE(a_lock_is_valid_for_as_long_as_a_quorum_has_promised, manager_of<3>)
{
    w[0].session = 2s;
    w[1].session = 4s;
    auto const started = w.now;
    auto won = w.acquire(*locks, "stock", {.ttl = 20s});
    BOOST_TEST(!won.ec);

    // Decided with two of them, whichever these were: a quorum keeps it for 2 s if the first is one of them, for 4 s if
    // not.
    BOOST_TEST((won.held.valid_until() <= started + 4s));
    BOOST_TEST((won.held.valid_until() >= started + 1900ms));
    BOOST_TEST(!w.held_after(20s, won));
}

// The promise of the one that forgets first counts only if a quorum is not to be had without it.
BOOST_FIXTURE_TEST_CASE(who_keeps_it_longest_counts, manager_of<3>)
{
    w[0].session = 1s;
    w[0].reply_delay = 20ms;  // the others decide
    auto const started = w.now;
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    BOOST_TEST((won.held.valid_until() > started + 9s));
}

// On ZooKeeper and etcd two processes held one lock for seconds when the first was stopped for longer than its session.
BOOST_FIXTURE_TEST_CASE(two_do_not_hold_a_lock_whose_session_has_ended, and_another<manager_of<1>>)
{
    w[0].session = 3s;
    auto a = w.acquire(*locks, "stock", {.ttl = 20s});
    BOOST_TEST(a.held.held());

    w.run_for(3s);
    auto b = w.acquire(*other, "stock", {.ttl = 20s});

    BOOST_TEST(b.held.held());
    BOOST_TEST(!a.held.held());
}

BOOST_FIXTURE_TEST_CASE(renewal_is_due_after_a_third_of_the_promise, manager_of<3>)
{
    w.each([](auto& s) { s.session = 3s; });
    auto won = w.acquire(*locks, "stock", {.ttl = 30s, .renew = renewal::automatic});

    w.run_for(1h);

    BOOST_TEST(won.held.held());
    auto const renewals = locks->stats().renewals;
    BOOST_TEST(renewals >= 3600u);
    BOOST_TEST(renewals <= 4100u);
}

// The first answer that says so is enough: what was promised for longer before is over.
BOOST_FIXTURE_TEST_CASE(a_promise_that_becomes_shorter_is_followed, manager_of<1>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 9s, .renew = renewal::automatic});
    w[0].session = 900ms;
    BOOST_TEST(w.held_after(20s, won));
    auto const before = locks->stats().renewals;
    w.run_for(10s);
    BOOST_TEST(locks->stats().renewals - before >= 30u);
}

// A lease whose rest is told in whole seconds, rounded down.
BOOST_FIXTURE_TEST_CASE(an_extension_that_promises_nothing_is_a_renewal_that_failed, manager_of<1>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    for (auto const nothing : {0ms, -5ms}) {
        w[0].session = nothing;
        BOOST_TEST(w.held_after(1200ms, won));
        BOOST_TEST(locks->stats().renewals_failed > 0u);
        w[0].session = std::chrono::milliseconds::max();
        BOOST_TEST(w.held_after(1s, won));
    }
    auto const renewals = locks->stats().renewals + locks->stats().renewals_failed;
    BOOST_TEST(renewals < 60u);
}

BOOST_FIXTURE_TEST_CASE(a_short_extension_does_not_hurry_renewal, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 30s, .renew = renewal::automatic});
    BOOST_TEST(!w.extend(won.held, 60ms));
    w.each([](auto& s) { s.refusal = errc::node_busy; });
    BOOST_TEST(w.held_after(14s, won));
    BOOST_TEST(locks->stats().renewals_failed <= 5u);
}

// However often a node says so.
BOOST_FIXTURE_TEST_CASE(a_node_that_talks_does_not_have_a_lock_renewed_without_end, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 20s, .renew = renewal::automatic});
    for (int i = 0; i < 1000; ++i) {
        w[0].push("lock:stock");
        w.run_for(2ms);
    }
    BOOST_TEST(locks->stats().renewals <= 4u);
    BOOST_TEST(locks->stats().renewals >= 1u);
}

BOOST_AUTO_TEST_CASE(a_ttl_that_is_over_before_a_slow_node_answers_is_refused)
{
    lock_world w(1);
    w[0].limits.timeout = 2s;
    auto locks = w.manager();
    auto const refused = w.acquire(*locks, "stock", {.ttl = 2s});
    BOOST_TEST((refused.ec == errc::invalid_argument));
    BOOST_TEST(refused.report.message.find("longer than 2000 ms, for which server-0 may need to answer")
               != std::string::npos);
    BOOST_TEST(!w.acquire(*locks, "stock", {.ttl = 5s}).ec);
}

BOOST_FIXTURE_TEST_CASE(an_extension_moves_the_validity_by_what_is_promised, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 2s});
    w.each([](auto& s) { s.session = 5s; });
    auto const now = w.now;
    BOOST_TEST(!w.extend(won.held, 20s));
    BOOST_TEST((won.held.valid_until() > now + 4s));
    BOOST_TEST((won.held.valid_until() < now + 5s));
}

BOOST_FIXTURE_TEST_CASE(a_promise_that_is_over_when_the_round_is_won_hands_nothing_out, manager_of<3>)
{
    w.each([](auto& s) { s.session = 10ms; });
    w.each([](auto& s) { s.reply_delay = 15ms; });
    auto const lost = w.acquire(*locks, "stock", {.ttl = 10s});
    BOOST_TEST((lost.ec == errc::validity_exhausted));
}

// A server that knows more than the key's ttl: the session is over, somebody has deleted it.
BOOST_FIXTURE_TEST_CASE(a_node_that_says_that_our_key_is_gone_is_asked_at_once, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 30s, .renew = renewal::automatic});
    w.run_for(100ms);
    for (auto i : {0u, 1u}) {
        w[i].entries.clear();
        w[i].push("lock:stock");
    }
    w.run_for(100ms);

    BOOST_TEST(!won.held.held());  // a majority does not have it any more
    BOOST_TEST(locks->stats().lost == 1u);
}

BOOST_FIXTURE_TEST_CASE(what_a_node_said_before_it_granted_is_not_about_our_key, manager_of<3>)
{
    w[2].reply_delay = 20ms;
    auto won = w.acquire(*locks, "stock", {.ttl = 30s, .renew = renewal::automatic});
    w[2].push("lock:stock");
    w[1].push("lock:other");
    w.run_for(100ms);
    BOOST_TEST(w[0].count(kind::extend) == 0u);
}

BOOST_AUTO_TEST_CASE(a_ttl_below_what_a_node_keeps_is_refused_by_its_name)
{
    lock_world w(3);
    w[1].limits.ttl_min = 2s;
    auto locks = w.manager();
    auto const refused = w.acquire(*locks, "stock", {.ttl = 1s});
    BOOST_TEST((refused.ec == errc::invalid_argument));
    BOOST_TEST(refused.report.message
               == "redlock: cannot hold \"stock\": ttl is 1000 ms, but must be 2000 ms at least for server-1");
    BOOST_TEST(w[0].requests.empty());

    auto won = w.acquire(*locks, "stock", {.ttl = 2s});
    BOOST_TEST(!won.ec);
    BOOST_TEST((w.extend(won.held, 1s) == errc::invalid_argument));
}

BOOST_AUTO_TEST_CASE(a_round_waits_for_the_slowest_kind_of_node)
{
    lock_world w(2);
    w.each([](auto& s) { s.request_delay = 150ms; });
    auto impatient = w.manager();
    BOOST_TEST((w.acquire(*impatient, "stock").ec == errc::no_quorum));

    w[1].limits.timeout = 500ms;
    auto patient = w.manager();
    w.run_for(1s);
    BOOST_TEST(!w.acquire(*patient, "stock").ec);
}

BOOST_AUTO_TEST_CASE(what_a_node_cannot_do_is_refused_by_its_name_before_anything_is_sent)
{
    lock_world w(3);
    w[2].fences = false;
    auto locks = w.manager({.fencing = true});
    auto const refused = w.acquire(*locks, "stock");
    BOOST_TEST((refused.ec == errc::unsupported));
    BOOST_TEST(refused.report.message
               == "redlock: cannot hold \"stock\": server-2 cannot draw fencing tokens (config::fencing)");
    w.each([](auto& s) { BOOST_TEST(s.requests.empty()); });
    BOOST_TEST(!w.acquire(*w.manager(), "stock").ec);
}

BOOST_AUTO_TEST_SUITE_END()
