#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(extensions)

BOOST_FIXTURE_TEST_CASE(extend_moves_the_validity, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 2s});
    w.run_for(1s);
    auto const before = w.now;

    BOOST_TEST(!w.extend(won.held, 5s));

    BOOST_TEST((won.held.valid_until() == before + 5s - 52ms));
    BOOST_TEST(w.held_after(3s, won));
    BOOST_TEST(w.keys("lock:stock") == 3u);
}

BOOST_FIXTURE_TEST_CASE(extend_by_a_shorter_ttl_keeps_the_validity, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    auto const valid_until = won.held.valid_until();

    BOOST_TEST(!w.extend(won.held, 1s));

    BOOST_TEST((won.held.valid_until() == valid_until));
    BOOST_TEST(w.keys_after(5s) == 3u);
}

// Rule 7 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(extend_of_a_foreign_or_missing_key_returns_lost)
{
    for (bool foreign : {true, false}) {
        lock_world w(3);
        auto locks = w.manager();
        auto won = w.acquire(*locks, "stock");
        w.run_for(1ms);
        for (std::size_t i = 0; i < 2; ++i) {
            w[i].entries.clear();
            if (foreign)
                w[i].entries["lock:stock"] = {"foreign", w.now + 1s};
        }

        BOOST_TEST((w.extend(won.held, 10s) == errc::lost));

        BOOST_TEST(!won.held.held());
        w.run_for(2s);
        BOOST_TEST(w[0].find("lock:stock") == nullptr);  // neither set again nor prolonged
    }
}

// Rule 7 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(extend_without_a_majority_returns_no_quorum, manager_of<5>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 2s});
    w.run_for(1ms);
    auto const valid_until = won.held.valid_until();
    w[0].hung = w[1].hung = w[2].hung = true;

    BOOST_TEST((w.extend(won.held, 10s) == errc::no_quorum));

    BOOST_TEST(won.held.held());  // a failed extension is not a loss
    BOOST_TEST((won.held.valid_until() == valid_until));
}

// Rule 7 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(extend_with_votes_after_the_old_validity_returns_lost)
{
    lock_world w(3);
    auto locks = w.manager({.node_timeout = 300ms});
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    w.run_for(800ms);
    w.each([](auto& s) { s.reply_delay = 250ms; });

    auto const ec = w.extend(won.held, 10s);

    BOOST_TEST((ec == errc::lost));
    BOOST_TEST(!won.held.held());
}

// Rule 7 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(extend_after_expiry_or_release_does_not_revive_the_lock, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    w.run_for(2s);

    BOOST_TEST((w.extend(won.held, 10s) == errc::lost));
    BOOST_TEST(!won.held.held());
    BOOST_TEST(w.keys("lock:stock") == 0u);

    auto released = w.acquire(*locks, "stock");
    w.release(released.held);
    BOOST_TEST((w.extend(released.held, 10s) == errc::not_held));
}

// Rule 7 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(extend_of_a_lost_lock_sends_nothing, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    w.run_for(960ms);  // lost, but the keys have not expired
    BOOST_TEST(w.keys("lock:stock") == 3u);

    BOOST_TEST((w.extend(won.held, 30s) == errc::lost));
    w.run_for(100ms);

    BOOST_TEST(w[0].count(kind::extend) == 0u);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(release_after_an_unanswered_extend_retries_for_the_longer_ttl, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    w.each([](auto& s) { s.mute = true; });
    BOOST_TEST((w.extend(won.held, 20s) == errc::no_quorum));  // the servers have carried it out
    w.each([](auto& s) { s.mute = s.reachable = false; });

    won.held = {};
    BOOST_TEST(w.keys_after(10s) == 3u);
    w.each([](auto& s) { s.reachable = true; });
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(release_after_a_longer_extend_retries_for_the_longer_ttl, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    BOOST_TEST(!w.extend(won.held, 20s));
    w.run_for(1ms);
    w[2].reachable = false;

    w.release(won, 10s);
    BOOST_TEST(locks->stats().cleaning == 1u);
    w[2].reachable = true;
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(extend_with_an_invalid_ttl_returns_invalid_argument, manager_of<1>)
{
    auto won = w.acquire(*locks, "stock");
    for (auto ttl : {0ms, 19ms, 50ms, 60'001ms})
        BOOST_TEST((w.extend(won.held, ttl) == errc::invalid_argument));
    BOOST_TEST(w[0].count(kind::extend) == 0u);
    BOOST_TEST(won.held.held());
}

BOOST_AUTO_TEST_SUITE_END()
