#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(releasing)

BOOST_FIXTURE_TEST_CASE(a_released_lock_is_free_for_the_next, manager_of<5>)
{
    auto won = w.acquire(*locks, "stock");

    BOOST_TEST(!w.release(won.held));
    BOOST_TEST(!won.held.held());
    BOOST_TEST(w.acquire(*locks, "stock").held.held());
}

BOOST_FIXTURE_TEST_CASE(releasing_twice_is_told, manager_of<3>)
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

BOOST_FIXTURE_TEST_CASE(held_is_false_from_the_call_on, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");

    won.held.async_release([](error_code) {});

    BOOST_TEST(!won.held.held());
}

BOOST_FIXTURE_TEST_CASE(rule_7_a_foreign_key_is_not_deleted, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");
    w.run_for(1ms);
    w.each([&](auto& s) { s.entries["lock:stock"] = {"foreign", w.now + 1h}; });

    BOOST_TEST((w.release(won.held) == errc::not_held));
    BOOST_TEST(w.keys_after(1ms) == 3u);
}

// It arrives when the release has been waiting for a connection for long, and lets the key live for another ttl.
BOOST_FIXTURE_TEST_CASE(a_release_waits_for_as_long_as_an_extension_may_keep_the_key, connected_to<3>)
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

BOOST_FIXTURE_TEST_CASE(destroying_a_lock_gives_it_back, manager_of<3>)
{
    {
        auto won = w.acquire(*locks, "stock");
    }
    BOOST_TEST(w.keys_after(1ms) == 0u);
    BOOST_TEST(locks->stats().held == 0u);
}

BOOST_FIXTURE_TEST_CASE(assigning_to_a_lock_gives_back_what_it_held, manager_of<3>)
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

BOOST_FIXTURE_TEST_CASE(rule_6_a_release_goes_on_until_the_node_confirms, manager_of<3>)
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

BOOST_FIXTURE_TEST_CASE(rule_6_a_release_gives_up_when_the_ttl_is_over, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 2s});
    w.run_for(1ms);
    w[2].reachable = false;

    w.release(won, 1900ms);
    BOOST_TEST(locks->stats().cleaning == 1u);
    w.run_for(1s);
    BOOST_TEST(locks->stats().cleaning == 0u);
}

BOOST_AUTO_TEST_CASE(rule_6_what_is_carried_out_just_before_the_ttl_is_over_is_deleted_too)
{
    for (auto late = 1ms; late < 2s; late += 10ms) {
        lock_world w(3);
        auto locks = w.connected();
        auto const begun = w.now;
        w[2].request_delay = late;
        auto won = w.acquire(*locks, "stock", {.ttl = 2s});
        w[2].request_delay = 100us;
        ++w[2].connection;  // the request is overtaken, and its answer is lost
        w.at(begun + late - 20us, [&] { w[2].reply_delay = 1h; });
        w.at(begun + late + 20us, [&] { w[2].reply_delay = 100us; });
        w.release(won.held);
        w.run_until(begun + 2100ms);
        BOOST_TEST(w[2].count(kind::acquire) == 2u);
        BOOST_TEST(w.keys("lock:stock") == 0u, "late by " << late.count() << " ms");
    }
}

// A lock of one second, whose key is set on the last node after 900 ms only: the request is overtaken by what is sent
// over another connection, and its answer is lost.
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

BOOST_FIXTURE_TEST_CASE(rule_6_a_key_that_was_set_late_is_deleted_even_if_nobody_could_look_when_the_ttl_was_over,
                        connected_to<3>)
{
    auto const begun = w.now;
    auto won = win_with_a_late_request(w, *locks);
    w.release(won.held);
    w.run_until(begun + 500ms);
    w[2].reachable = false;
    w.run_until(begun + 1300ms);
    BOOST_TEST(w.keys("lock:stock") == 1u);  // it lives until 1.9 s
    w[2].reachable = true;
    w.run_until(begun + 1850ms);
    BOOST_TEST(w.keys("lock:stock") == 0u);
    BOOST_TEST(locks->stats().cleaning == 0u);
}

BOOST_FIXTURE_TEST_CASE(rule_6_who_stood_still_when_the_ttl_was_over_looks_when_it_goes_on, connected_to<3>)
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

BOOST_FIXTURE_TEST_CASE(rule_6_an_answer_tells_how_it_was_when_it_was_asked_for_not_when_it_comes, connected_to<3>)
{
    auto const begun = w.now;
    auto won = win_with_a_late_request(w, *locks);
    w[2].reply_delay = 1200ms;  // "not there", said at once, is heard when the ttl is over
    w.release(won.held);
    w.run_until(begun + 5ms);
    w[2].reply_delay = 100us;

    w.run_until(begun + 1100ms);
    BOOST_TEST(w.keys("lock:stock") == 1u);  // it lives until 1.9 s
    w.run_until(begun + 1850ms);
    BOOST_TEST(w.keys("lock:stock") == 0u);
    BOOST_TEST(locks->stats().cleaning == 0u);
}

BOOST_FIXTURE_TEST_CASE(rule_6_not_there_on_a_new_connection_proves_nothing_about_a_request_on_the_old_one,
                        connected_to<3>)
{
    w[2].request_delay = 300ms;  // still on its way when everything else is over …
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    w[2].request_delay = 100us;
    ++w[2].connection;  // … and what follows comes over another connection, and overtakes it

    BOOST_TEST(!w.release(won.held));
    BOOST_TEST(w.keys_after(100ms) == 0u);
    w.run_for(250ms);  // the old request has been carried out by now
    w.run_for(1s);

    BOOST_TEST(w.keys("lock:stock") == 0u);
    BOOST_TEST(w[2].count(kind::release) > 1u);
}

BOOST_AUTO_TEST_CASE(rule_6_not_there_is_believed_once_the_server_has_ended_the_connection_of_the_request)
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

        BOOST_TEST(w[2].count(kind::acquire) == (ended == of_the_request ? 1u : 2u));  // the warm-up, and what was late
        BOOST_TEST(w.keys("lock:stock") == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(a_release_without_a_majority_is_told_and_goes_on, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");
    w.run_for(1ms);
    w[1].hung = w[2].hung = true;

    BOOST_TEST((w.release(won.held) == errc::no_quorum));
    w[1].hung = w[2].hung = false;
    w.run_for(100ms);

    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(cancelling_a_release_does_not_stop_it, manager_of<3>)
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

BOOST_FIXTURE_TEST_CASE(a_node_that_turns_out_to_have_refused_needs_no_release, connected_to<3>)
{
    w[2].refusal = errc::wrong_cluster_node;
    w[2].reply_delay = 5ms;  // its refusal comes after the lock has been given back

    auto won = w.acquire(*locks, "stock", {.ttl = 60s});
    w.release(won, 1s);

    BOOST_TEST(locks->stats().cleaning == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_node_that_refused_is_not_asked_to_release, connected_to<3>)
{
    auto const before = w[0].count(kind::release);
    w[0].entries["lock:stock"] = {"foreign", w.now + 1h};

    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(!w.release(won.held));

    BOOST_TEST(w[0].count(kind::release) == before);
}

BOOST_FIXTURE_TEST_CASE(what_a_broken_connection_delivers_late_is_looked_for_even_when_the_ttl_is_over, connected_to<3>)
{
    w[0].request_delay = 2500ms;
    auto won = w.acquire(*locks, "stock", {.ttl = 3s});
    w[0].break_connections();
    w[0].request_delay = 100us;
    w.run_for(1ms);
    w.release(won, 10ms);
    w[0].reachable = false;  // nobody can look until the ttl is over; the request arrives meanwhile
    w.run_for(3300ms);
    BOOST_TEST(w[0].find("lock:stock") != nullptr);
    w[0].reachable = true;
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
