// Nodes that keep a key only for a session or a lease, that are slow, or that lack a feature.

#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(node_promises)

BOOST_FIXTURE_TEST_CASE(acquire_is_valid_for_the_session_that_a_quorum_promised, manager_of<3>)
{
    w[0].session = 2s;
    w[1].session = 4s;
    auto const started = w.now;
    auto won = w.acquire(*locks, "stock", {.ttl = 20s});
    BOOST_TEST(!won.ec);

    // Two replies decide the round. With a reply from server 0, a quorum keeps the key for 2 s, without it for 4 s.
    BOOST_TEST((won.held.valid_until() <= started + 4s));
    BOOST_TEST((won.held.valid_until() >= started + 1900ms));
    BOOST_TEST(!w.held_after(20s, won));
}

// A short promise counts only if the quorum needs the vote of its node.
BOOST_FIXTURE_TEST_CASE(acquire_ignores_a_short_session_that_the_quorum_does_not_need, manager_of<3>)
{
    w[0].session = 1s;
    w[0].reply_delay = 20ms;  // the others decide
    auto const started = w.now;
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    BOOST_TEST((won.held.valid_until() > started + 9s));
}

// This was found on ZooKeeper and etcd. A process was stopped for longer than its session. Then two processes held the
// lock for seconds.
BOOST_FIXTURE_TEST_CASE(acquire_after_the_end_of_a_session_never_has_two_holders, and_another<manager_of<1>>)
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

// The first reply with a shorter promise replaces the longer promises of earlier replies.
BOOST_FIXTURE_TEST_CASE(renewal_adapts_when_the_session_becomes_shorter, manager_of<1>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 9s, .renew = renewal::automatic});
    w[0].session = 900ms;
    BOOST_TEST(w.held_after(20s, won));
    auto const before = locks->stats().renewals;
    w.run_for(10s);
    BOOST_TEST(locks->stats().renewals - before >= 30u);
}

// A lease may report its remaining time in whole seconds, rounded down to zero.
BOOST_FIXTURE_TEST_CASE(renewal_with_a_promise_of_zero_counts_as_failed, manager_of<1>)
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

BOOST_FIXTURE_TEST_CASE(extend_by_a_short_ttl_does_not_speed_up_renewal, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 30s, .renew = renewal::automatic});
    BOOST_TEST(!w.extend(won.held, 60ms));
    w.each([](auto& s) { s.refusal = errc::node_busy; });
    BOOST_TEST(w.held_after(14s, won));
    BOOST_TEST(locks->stats().renewals_failed <= 5u);
}

// A node may send pushes at any rate.
BOOST_FIXTURE_TEST_CASE(renewal_is_not_repeated_for_each_push_of_a_node, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 20s, .renew = renewal::automatic});
    for (int i = 0; i < 1000; ++i) {
        w[0].push("lock:stock");
        w.run_for(2ms);
    }
    BOOST_TEST(locks->stats().renewals <= 4u);
    BOOST_TEST(locks->stats().renewals >= 1u);
}

BOOST_AUTO_TEST_CASE(acquire_with_a_ttl_not_above_the_timeout_of_a_node_is_refused)
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

BOOST_FIXTURE_TEST_CASE(extend_moves_the_validity_by_the_promised_session, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 2s});
    w.each([](auto& s) { s.session = 5s; });
    auto const now = w.now;
    BOOST_TEST(!w.extend(won.held, 20s));
    BOOST_TEST((won.held.valid_until() > now + 4s));
    BOOST_TEST((won.held.valid_until() < now + 5s));
}

BOOST_FIXTURE_TEST_CASE(acquire_won_after_the_session_returns_validity_exhausted, manager_of<3>)
{
    w.each([](auto& s) { s.session = 10ms; });
    w.each([](auto& s) { s.reply_delay = 15ms; });
    auto const lost = w.acquire(*locks, "stock", {.ttl = 10s});
    BOOST_TEST((lost.ec == errc::validity_exhausted));
}

// A server may report a changed key before the ttl is over: a session has ended, or a client has deleted the key.
BOOST_FIXTURE_TEST_CASE(renewal_follows_at_once_when_a_node_reports_a_changed_key, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 30s, .renew = renewal::automatic});
    w.run_for(100ms);
    for (auto i : {0u, 1u}) {
        w[i].entries.clear();
        w[i].push("lock:stock");
    }
    w.run_for(100ms);

    BOOST_TEST(!won.held.held());  // a majority no longer has it
    BOOST_TEST(locks->stats().lost == 1u);
}

BOOST_FIXTURE_TEST_CASE(renewal_ignores_a_push_from_before_the_grant, manager_of<3>)
{
    w[2].reply_delay = 20ms;
    auto won = w.acquire(*locks, "stock", {.ttl = 30s, .renew = renewal::automatic});
    w[2].push("lock:stock");
    w[1].push("lock:other");
    w.run_for(100ms);
    BOOST_TEST(w[0].count(kind::extend) == 0u);
}

BOOST_AUTO_TEST_CASE(acquire_with_a_ttl_below_ttl_min_names_the_node)
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

BOOST_AUTO_TEST_CASE(acquire_waits_for_a_node_for_its_own_timeout)
{
    lock_world w(2);
    w[1].request_delay = 150ms;
    auto with_short_timeout = w.manager();
    BOOST_TEST((w.acquire(*with_short_timeout, "stock").ec == errc::no_quorum));

    w[1].limits.timeout = 500ms;
    auto with_long_timeout = w.manager();
    w.run_for(1s);
    BOOST_TEST(!w.acquire(*with_long_timeout, "stock").ec);
}

namespace {

/// The last two of five nodes may need a second to answer, and need 300 ms. The others have the usual 50 ms.
struct mixed_quorum {
    explicit mixed_quorum(manager_options const& settings = {})
    {
        for (auto const i : {3u, 4u})
            w[i].limits.timeout = 1s;
        locks = w.connected(settings);
        for (auto const i : {3u, 4u})
            w[i].reply_delay = 300ms;
    }

    /// Acquires "stock", and returns how long the call took.
    clock::duration acquire(acquire_options const& options = {})
    {
        auto const begun = w.now;
        result = w.acquire(*locks, "stock", options);
        return result.when - begun;
    }

    lock_world w{5};
    std::unique_ptr<lock_manager> locks;
    lock_world::outcome result;
};

bool is_about(clock::duration d, clock::duration expected) { return d >= expected && d < expected + 5ms; }

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_with_a_mute_majority_ends_at_its_own_timeout, mixed_quorum)
{
    for (auto const i : {0u, 1u, 2u})
        w[i].mute = true;
    BOOST_TEST(is_about(acquire(), 50ms));
    BOOST_TEST((result.ec == errc::no_quorum));
    BOOST_TEST((result.report.nodes[2].error == errc::node_timeout));
    BOOST_TEST(!result.report.nodes[3].error);  // the round did not wait for it
}

BOOST_FIXTURE_TEST_CASE(acquire_with_a_mute_node_waits_for_a_slow_one, mixed_quorum)
{
    w[0].mute = true;
    BOOST_TEST(is_about(acquire(), 300ms));
    BOOST_TEST(!result.ec);
    w[1].mute = true;
    BOOST_TEST(!w.release(result.held));
    BOOST_TEST(is_about(acquire(), 300ms));
    BOOST_TEST(!result.ec);
}

BOOST_FIXTURE_TEST_CASE(acquire_with_mute_slow_nodes_ends_at_their_timeout, mixed_quorum)
{
    for (auto const i : {0u, 3u, 4u})
        w[i].mute = true;
    BOOST_TEST(is_about(acquire(), 1s));
    BOOST_TEST((result.ec == errc::no_quorum));
    w.each([](auto& s) { s.mute = false; });
    w.run_for(2s);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

// Two denials and one missing vote: the slow nodes could not have made a majority.
BOOST_FIXTURE_TEST_CASE(acquire_with_two_denials_and_a_mute_node_is_contended, mixed_quorum)
{
    for (auto const i : {0u, 1u})
        w[i].entries["lock:stock"] = {"foreign", w.now + 1h};
    w[2].mute = true;
    BOOST_TEST(is_about(acquire(), 50ms));
    BOOST_TEST((result.ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(acquire_does_not_count_a_vote_after_its_timeout, mixed_quorum)
{
    w[0].reply_delay = 100ms;
    for (auto const i : {3u, 4u})
        w[i].mute = true;
    BOOST_TEST(is_about(acquire(), 1s));
    BOOST_TEST((result.ec == errc::no_quorum));
    BOOST_TEST((result.report.nodes[0].vote == vote::unknown));
    BOOST_TEST((result.report.nodes[0].error == errc::node_timeout));
}

// After each of two pauses, the process reads what has arrived before it counts a vote as missing.
BOOST_FIXTURE_TEST_CASE(acquire_after_pauses_past_both_timeouts_reads_arrived_votes, mixed_quorum)
{
    w.each([](auto& s) { s.reading_time = 1ms; });
    w[0].mute = true;
    auto won = w.start(*locks, "stock", {});
    w.run_for(0ms);
    w.stall_for(100ms);
    w.run_for(10ms);
    BOOST_TEST(!won.done);
    w.stall_for(2s);
    BOOST_TEST(w.wins(won));
}

BOOST_FIXTURE_TEST_CASE(extend_with_a_mute_majority_ends_at_its_own_timeout, mixed_quorum)
{
    acquire();
    w.run_for(1s);
    for (auto const i : {0u, 1u, 2u})
        w[i].mute = true;
    auto const begun = w.now;
    BOOST_TEST((w.extend(result.held, 20s) == errc::no_quorum));
    BOOST_TEST(is_about(w.now - begun, 50ms));
    BOOST_TEST(result.held.held());
}

BOOST_AUTO_TEST_CASE(acquire_with_a_node_without_fencing_returns_unsupported)
{
    lock_world w(3);
    w[2].fences = false;
    auto locks = w.manager({.fencing = true});
    auto const refused = w.acquire(*locks, "stock");
    BOOST_TEST((refused.ec == errc::unsupported));
    BOOST_TEST(refused.report.message
               == "redlock: cannot hold \"stock\": server-2 cannot draw fencing tokens (manager_options::fencing)");
    w.each([](auto& s) { BOOST_TEST(s.requests.empty()); });
    BOOST_TEST(!w.acquire(*w.manager(), "stock").ec);
}

BOOST_AUTO_TEST_SUITE_END()
