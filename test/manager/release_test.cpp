#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(releases)

BOOST_FIXTURE_TEST_CASE(release_lets_the_next_acquire_succeed, manager_of<5>)
{
    auto won = w.acquire(*locks, "stock");

    BOOST_TEST(!w.release(won.held));
    BOOST_TEST(!won.held.held());
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

BOOST_FIXTURE_TEST_CASE(release_twice_returns_not_held, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");

    BOOST_TEST(!w.release(won.held));
    BOOST_TEST((w.release(won.held) == errc::not_held));
    lock empty;
    BOOST_TEST(!empty.held());
    BOOST_TEST(empty.resource() == "");
    BOOST_TEST(empty.token() == "");
    BOOST_TEST((empty.remaining() == 0ms));
}

BOOST_FIXTURE_TEST_CASE(release_makes_held_false_at_once, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");

    won.held.async_release([](error_code) {});

    BOOST_TEST(!won.held.held());
}

// Rule 7 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(release_does_not_delete_a_foreign_key, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");
    w.run_for(1ms);
    w.each([&](auto& s) { s.entries["lock:stock"] = {"foreign", w.now + 1h}; });

    BOOST_TEST((w.release(won.held) == errc::not_held));
    BOOST_TEST(w.keys_after(1ms) == 3u);
}

// The late extension arrives while the release waits for a connection. It prolongs the key by another ttl.
BOOST_FIXTURE_TEST_CASE(release_retries_for_as_long_as_a_late_extend_may_keep_the_key, connected_to<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 5s});
    w.run_for(1ms);
    w[0].request_delay = 3s;
    BOOST_TEST(!w.extend(won.held, 5s));
    w[0].break_connections();
    w[0].reachable = false;
    w[0].request_delay = 100us;
    w.release(won, 6s);
    BOOST_TEST(w.keys("lock:stock") == 1u);
    w[0].reachable = true;
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(lock_destructor_releases_the_lock, manager_of<3>)
{
    {
        auto won = w.acquire(*locks, "stock");
    }
    BOOST_TEST(w.keys_after(1ms) == 0u);
    BOOST_TEST(locks->stats().held == 0u);
}

BOOST_FIXTURE_TEST_CASE(lock_assignment_releases_the_lock_held_before, manager_of<3>)
{
    auto a = w.acquire(*locks, "a");
    auto b = w.acquire(*locks, "b");

    a.held = std::move(b.held);
    w.run_for(1ms);

    BOOST_TEST(w.keys("lock:a") == 0u);
    BOOST_TEST(w.keys("lock:b") == 3u);
    BOOST_TEST(a.held.resource() == "b");
    BOOST_TEST(a.held.held());
}

// Rule 6 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(release_retries_until_the_node_confirms, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    w.run_for(1ms);
    w[2].reachable = false;

    BOOST_TEST(!w.release(won.held));
    BOOST_TEST(w.keys_after(3s) == 1u);
    BOOST_TEST(locks->stats().cleaning == 1u);
    w[2].reachable = true;
    ++w[2].connection;
    w.run_for(1s);

    BOOST_TEST(w.keys("lock:stock") == 0u);
    BOOST_TEST(locks->stats().cleaning == 0u);
}

// Rule 6 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(release_stops_retrying_when_the_ttl_is_over, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 2s});
    w.run_for(1ms);
    w[2].reachable = false;

    w.release(won, 1900ms);
    BOOST_TEST(locks->stats().cleaning == 1u);
    w.run_for(1s);
    BOOST_TEST(locks->stats().cleaning == 0u);
}

// Rule 6 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(release_deletes_a_key_set_at_any_time_before_the_ttl_is_over)
{
    for (auto late = 1ms; late < 2s; late += 10ms) {
        lock_world w(3);
        auto locks = w.connected();
        auto const begun = w.now;
        w[2].request_delay = late;
        auto won = w.acquire(*locks, "stock", {.ttl = 2s});
        w[2].request_delay = 100us;
        ++w[2].connection;  // later requests overtake it; its answer is lost
        w.at(begun + late - 20us, [&] { w[2].reply_delay = 1h; });
        w.at(begun + late + 20us, [&] { w[2].reply_delay = 100us; });
        w.release(won.held);
        w.run_until(begun + 2100ms);
        BOOST_TEST(w[2].count(kind::acquire) == 2u);
        BOOST_TEST(w.keys("lock:stock") == 0u, "late by " << late.count() << " ms");
    }
}

// Acquires "stock" for 1 s. Server 2 sets the key only after 900 ms, and its answer is lost. Later requests use another
// connection and overtake that request.
lock_world::outcome win_with_a_late_request(lock_world& w, lock_manager& locks)
{
    auto const begun = w.now;
    w[2].request_delay = 900ms;
    auto won = w.acquire(locks, "stock", {.ttl = 1s});
    w[2].request_delay = 100us;
    ++w[2].connection;
    w.at(begun + 899ms, [&w] { w[2].reply_delay = 1h; });
    w.at(begun + 901ms, [&w] { w[2].reply_delay = 100us; });
    return won;
}

// Rule 6 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(release_deletes_a_late_key_of_a_node_that_was_down_at_the_ttl, connected_to<3>)
{
    auto const begun = w.now;
    auto won = win_with_a_late_request(w, *locks);
    w.release(won.held);
    w.run_until(begun + 500ms);
    w[2].reachable = false;
    w.run_until(begun + 1300ms);
    BOOST_TEST(w.keys("lock:stock") == 1u);  // the key expires at 1.9 s
    w[2].reachable = true;
    w.run_until(begun + 1850ms);
    BOOST_TEST(w.keys("lock:stock") == 0u);
    BOOST_TEST(locks->stats().cleaning == 0u);
}

// Rule 6 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(release_after_a_pause_past_the_ttl_still_deletes_the_key, connected_to<3>)
{
    auto const begun = w.now;
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    w.run_for(1ms);
    w[2].connecting = true;
    w.release(won.held);
    w[2].entries.at("lock:stock").expires = begun + 1900ms;  // as if it had been set late
    w.stall_for(1200ms);
    w[2].connecting = false;
    w.run_until(begun + 1800ms);
    BOOST_TEST(w.keys("lock:stock") == 0u);
    BOOST_TEST(locks->stats().cleaning == 0u);
}

// Rule 6 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(release_does_not_trust_not_there_that_arrives_late, connected_to<3>)
{
    auto const begun = w.now;
    auto won = win_with_a_late_request(w, *locks);
    w[2].reply_delay = 1200ms;  // the answer "not there" arrives after the ttl
    w.release(won.held);
    w.run_until(begun + 5ms);
    w[2].reply_delay = 100us;

    w.run_until(begun + 1100ms);
    BOOST_TEST(w.keys("lock:stock") == 1u);  // the key expires at 1.9 s
    w.run_until(begun + 1850ms);
    BOOST_TEST(w.keys("lock:stock") == 0u);
    BOOST_TEST(locks->stats().cleaning == 0u);
}

// Rule 6 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(release_does_not_trust_not_there_on_a_new_connection, connected_to<3>)
{
    w[2].request_delay = 300ms;  // the request is under way during the release
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    w[2].request_delay = 100us;
    ++w[2].connection;  // later requests use another connection and overtake it

    BOOST_TEST(!w.release(won.held));
    BOOST_TEST(w.keys_after(100ms) == 0u);
    w.run_for(250ms);  // the server has carried out the old request
    w.run_for(1s);

    BOOST_TEST(w.keys("lock:stock") == 0u);
    BOOST_TEST(w[2].count(kind::release) > 1u);
}

// Rule 6 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(release_trusts_not_there_after_the_server_ended_the_connection)
{
    constexpr std::uint32_t earlier = 1, of_the_request = 2, of_the_release = 3;
    for (auto const ended : {earlier, of_the_request}) {
        lock_world w(3);
        auto locks = w.connected();
        w[2].connection = of_the_request;
        w[2].request_delay = 300ms;
        auto won = w.acquire(*locks, "stock", {.ttl = 10s});
        w[2].request_delay = 100us;
        w[2].connection = of_the_release;
        w[2].ended = ended;

        w.release(won, 10ms);
        BOOST_TEST(locks->stats().cleaning == (ended == of_the_request ? 0u : 1u));
        w.run_for(1s);

        // The warm-up is the first one, the late request the second one.
        BOOST_TEST(w[2].count(kind::acquire) == (ended == of_the_request ? 1u : 2u));
        BOOST_TEST(w.keys("lock:stock") == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(release_without_a_majority_returns_no_quorum_and_retries, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");
    w.run_for(1ms);
    w[1].hung = w[2].hung = true;

    BOOST_TEST((w.release(won.held) == errc::no_quorum));
    w[1].hung = w[2].hung = false;
    w.run_for(100ms);

    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(release_cancelled_still_deletes_the_keys, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");
    asio::cancellation_signal cancel;
    error_code result;

    won.held.async_release(asio::bind_cancellation_slot(cancel.slot(), [&](error_code ec) { result = ec; }));
    w.context.poll();
    cancel.emit(asio::cancellation_type::terminal);
    w.run_for(10ms);

    BOOST_TEST((result == asio::error::operation_aborted));
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(release_stops_for_a_node_whose_refusal_arrives_late, connected_to<3>)
{
    w[2].refusal = errc::wrong_cluster_node;
    w[2].reply_delay = 5ms;  // the refusal arrives after the release

    auto won = w.acquire(*locks, "stock", {.ttl = 60s});
    w.release(won, 1s);

    BOOST_TEST(locks->stats().cleaning == 0u);
}

BOOST_FIXTURE_TEST_CASE(release_is_not_sent_to_a_node_that_denied, connected_to<3>)
{
    auto const before = w[0].count(kind::release);
    w[0].entries["lock:stock"] = {"foreign", w.now + 1h};

    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(!w.release(won.held));

    BOOST_TEST(w[0].count(kind::release) == before);
}

BOOST_FIXTURE_TEST_CASE(release_deletes_a_key_set_late_by_a_broken_connection, connected_to<3>)
{
    w[0].request_delay = 2500ms;
    auto won = w.acquire(*locks, "stock", {.ttl = 3s});
    w[0].break_connections();
    w[0].request_delay = 100us;
    w.run_for(1ms);
    w.release(won, 10ms);
    w[0].reachable = false;  // the late request arrives while the manager cannot reach the server
    w.run_for(3300ms);
    BOOST_TEST(w[0].find("lock:stock") != nullptr);
    w[0].reachable = true;
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
