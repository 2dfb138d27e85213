#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(acquisitions)

BOOST_FIXTURE_TEST_CASE(acquire_of_a_free_resource_sets_the_key_on_all_nodes, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});

    BOOST_TEST(!won.ec);
    BOOST_TEST(won.held.held());
    BOOST_TEST(won.held.resource() == "stock");
    BOOST_TEST(won.held.fencing_token() == 0u);
    BOOST_TEST(w.keys("lock:stock") == 3u);
    BOOST_TEST(w[0].find("lock:stock")->value == won.held.token());
}

BOOST_FIXTURE_TEST_CASE(try_acquire_asks_once_and_returns_contended_at_once, and_another<connected_to<3>>)
{
    lock_scope const scope(*locks);
    auto const token = asio::as_tuple(asio::use_awaitable);
    auto const code_of_one = [&](auto awaitable) { return std::get<0>(run(w, std::move(awaitable)).value.value()); };
    auto blocker = w.acquire(*other, {"a", "b", "c"}, {.ttl = 60s});
    auto const before = w.now;
    auto const rounds = locks->stats().rounds;
    BOOST_TEST((code_of_one(locks->async_try_acquire("a", {.ttl = 5s}, token)) == errc::contended));
    BOOST_TEST((code_of_one(locks->async_try_acquire("a", token)) == errc::contended));
    BOOST_TEST((code_of_one(locks->async_try_acquire_any({"a", "b"}, {}, token)) == errc::contended));
    BOOST_TEST((code_of_one(scope.async_try_acquire({"b", "c"}, {}, token)) == errc::contended));
    BOOST_TEST(locks->stats().rounds == rounds + 4);
    BOOST_TEST((w.now - before < 1ms));
    w.drop(blocker, 1ms);
    BOOST_TEST((code_of_one(locks->async_try_acquire("a", {.ttl = 5s}, token)) == error_code()));
    BOOST_TEST((code_of_one(locks->async_try_acquire_any({"a", "b"}, token)) == error_code()));
    BOOST_TEST((code_of_one(scope.async_try_acquire("c", token)) == error_code()));
}

BOOST_FIXTURE_TEST_CASE(try_acquire_with_wait_is_refused_and_sends_nothing, connected_to<3>)
{
    lock_scope const scope(*locks);
    acquire_options const waits{.wait = 2s};
    auto const rounds = locks->stats().rounds;
    auto const refused = [&](auto awaitable, std::string const& about) {
        auto const failure = run(w, std::move(awaitable)).failure;
        BOOST_TEST((code_of(failure) == errc::invalid_argument));
        BOOST_TEST(message_of(failure)
                   == "redlock: cannot hold " + about
                          + ": wait is 2000 ms, but must be 0, because async_try_acquire "
                            "tries once; to wait, call async_acquire");
    };
    refused(locks->async_try_acquire("stock", waits, asio::use_awaitable), "\"stock\"");
    refused(locks->async_try_acquire_any({"a", "b"}, waits, asio::use_awaitable), "any of \"a\" and 1 more");
    refused(scope.async_try_acquire("stock", waits, asio::use_awaitable), "\"stock\"");
    BOOST_TEST(locks->stats().rounds == rounds);
}

// Rule 1 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(acquire_counts_validity_from_before_the_request)
{
    lock_world w(3);
    w.each([](auto& s) { s.request_delay = s.reply_delay = 20ms; });
    auto locks = w.connected();
    auto const before = w.now;

    auto won = w.acquire(*locks, "stock", {.ttl = 10s});

    BOOST_TEST((w.now >= before + 40ms));
    BOOST_TEST((won.held.valid_until() == before + 10s - 102ms));
    BOOST_TEST((won.held.remaining() == won.held.valid_until() - w.now));
}

// Rule 1 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(acquire_won_too_late_returns_validity_exhausted)
{
    lock_world w(3);
    auto locks = w.connected({.node_timeout = 90ms});
    w.each([](auto& s) { s.reply_delay = 85ms; });  // within node_timeout, but too late for this ttl

    auto lost = w.acquire(*locks, "stock", {.ttl = 100ms});

    BOOST_TEST((lost.ec == errc::validity_exhausted));
    BOOST_TEST(!lost.held.held());
    BOOST_TEST(w.keys_after(5ms) == 0u);
    BOOST_TEST(locks->stats().validity_exhausted == 1u);
}

// Rule 3 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(acquire_denied_by_two_of_four_nodes_returns_contended_at_once, connected_to<4>)
{
    for (std::size_t i = 0; i < 2; ++i)
        w[i].entries["lock:stock"] = {"foreign", w.now + 1h};
    auto const before = w.now;

    auto lost = w.acquire(*locks, "stock");

    BOOST_TEST((lost.ec == errc::contended));
    BOOST_TEST((w.now - before < 1ms));
    BOOST_TEST(w.keys_after(1ms) == 2u);  // the foreign keys
}

// Rule 3 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(acquire_with_a_single_node_needs_only_its_vote, manager_of<1>)
{
    auto won = w.acquire(*locks, "stock");
    auto second = w.acquire(*locks, "stock");

    BOOST_TEST(won.held.held());
    BOOST_TEST((second.ec == errc::contended));
    BOOST_TEST(!w.release(won.held));
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_with_one_of_three_nodes_down_succeeds, manager_of<3>)
{
    w[1].reachable = false;

    auto won = w.acquire(*locks, "stock");

    BOOST_TEST(won.held.held());
    BOOST_TEST(w.keys("lock:stock") == 2u);
    BOOST_TEST((won.report.nodes[0].vote == vote::granted));
    BOOST_TEST((won.report.nodes[1].vote == vote::unknown));
    BOOST_TEST((won.report.nodes[1].error == errc::node_unreachable || !won.report.nodes[1].error));
    BOOST_TEST(!w.release(won.held));
    BOOST_TEST(w.keys("lock:stock") == 0u);
    BOOST_TEST(locks->stats().cleaning == 0u);
}

BOOST_AUTO_TEST_CASE(acquire_with_a_late_node_sets_its_key_unless_released)
{
    for (bool release_first : {false, true}) {
        lock_world w(3);
        auto locks = w.connected();
        w[2].connecting = true;  // requests wait for the connection

        auto won = w.acquire(*locks, "stock");
        BOOST_TEST(w.keys("lock:stock") == 2u);
        if (release_first)
            w.release(won.held);
        w.run_for(20ms);
        w[2].connecting = false;
        w.run_for(10ms);

        BOOST_TEST(w.keys("lock:stock") == (release_first ? 0u : 3u));
        won.held = {};
        BOOST_TEST(w.keys_after(10ms) == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_with_two_of_three_nodes_down_returns_no_quorum, manager_of<3>)
{
    w[1].reachable = w[2].reachable = false;

    auto lost = w.acquire(*locks, "stock");

    BOOST_TEST((lost.ec == errc::no_quorum));
    BOOST_TEST((lost.report.outcome == errc::no_quorum));
    BOOST_TEST(lost.report.message.find("stock") != std::string::npos);
    BOOST_TEST(lost.report.rounds == 1u);
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_of_a_held_resource_returns_contended_at_once, and_another<connected_to<3>>)
{
    auto won = w.acquire(*other, "stock");
    auto const before = w.now;

    auto lost = w.acquire(*locks, "stock");

    BOOST_TEST((lost.ec == errc::contended));
    BOOST_TEST((w.now - before < 1ms));
    BOOST_TEST(w.keys_after(1ms) == 3u);  // the keys of the holder
    BOOST_TEST(won.held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_of_a_held_resource_with_two_of_five_down_returns_contended,
                        and_another<connected_to<5>>)
{
    auto won = w.acquire(*other, "stock");
    w[0].reachable = w[1].reachable = false;
    w.each([](auto& s) { s.reply_delay = 1ms; });  // unknown votes arrive before denials

    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::contended));
    BOOST_TEST(won.held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_with_one_denial_and_two_hung_nodes_returns_no_quorum, connected_to<3>)
{
    w[0].entries["lock:stock"] = {"foreign", w.now + 1h};
    w[1].hung = w[2].hung = true;

    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::no_quorum));
}

BOOST_FIXTURE_TEST_CASE(acquire_and_release_with_one_hung_node_are_not_delayed, connected_to<3>)
{
    w[2].hung = true;
    auto const before = w.now;

    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(!w.release(won.held));

    BOOST_TEST(!won.ec);
    BOOST_TEST((w.now - before < 1ms));
    w[2].hung = false;
    BOOST_TEST(w.keys_after(10ms) == 0u);  // the node carried out the release after its late grant
}

BOOST_FIXTURE_TEST_CASE(acquire_with_a_hung_majority_ends_at_node_timeout, connected_to<3>)
{
    w[1].hung = w[2].hung = true;
    auto const before = w.now;

    auto lost = w.acquire(*locks, "stock");

    BOOST_TEST((lost.ec == errc::no_quorum));
    BOOST_TEST((w.now - before == 50ms));
    BOOST_TEST((lost.report.nodes[1].error == errc::node_timeout));
}

BOOST_FIXTURE_TEST_CASE(acquire_after_a_pause_past_node_timeout_reads_arrived_votes, connected_to<3>)
{
    w.each([](auto& s) { s.reading_time = 1ms; });
    auto won = w.start(*locks, "stock", {});
    w.run_for(0ms);  // sends the requests

    w.stall_for(2s);  // the answers arrive during the pause
    w.end_of(won);

    BOOST_TEST(!won.ec);
    BOOST_TEST(won.held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_after_a_pause_past_node_timeout_does_not_wait_again, connected_to<3>)
{
    w[1].hung = w[2].hung = true;
    auto lost = w.start(*locks, "stock", {});
    w.run_for(0ms);

    w.stall_for(2s);
    auto const before = w.now;
    w.end_of(lost);

    BOOST_TEST((lost.ec == errc::no_quorum));
    BOOST_TEST((w.now - before <= 5ms));
}

// `round::start_group` has one template instance for each number of nodes up to nine.
BOOST_AUTO_TEST_CASE(acquire_with_one_to_nine_nodes_needs_exactly_a_majority)
{
    for (std::size_t count = 1; count <= 9; ++count) {
        BOOST_TEST_CONTEXT(count << " nodes") {
            auto const majority = count / 2 + 1;
            lock_world w(count);
            auto locks = w.connected();

            for (std::size_t i = majority; i < count; ++i)
                w[i].mute = true;
            auto won = w.acquire(*locks, "stock");
            BOOST_TEST(!won.ec);
            BOOST_TEST(won.held.held());

            w[0].hung = true;  // the answering nodes are no majority now
            auto lost = w.acquire(*locks, "other");
            BOOST_TEST((lost.ec == errc::no_quorum));
        }
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_without_random_bits_returns_io_error_and_leaves_no_key, connected_to<3>)
{
    w.random_until = 1;  // enough for the token; drawing the renewal time throws

    auto failed = w.acquire(*locks, "stock", {.renew = renewal::automatic});

    BOOST_TEST((failed.ec == boost::system::errc::io_error));
    BOOST_TEST(!failed.held.held());
    BOOST_TEST(w.keys_after(1ms) == 0u);
    BOOST_TEST(locks->stats().held == 0u);
}

// Rule 4 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(acquire_releases_late_grants_of_a_lost_round, connected_to<3>)
{
    w[1].reply_delay = w[2].reply_delay = 200ms;  // the grants arrive after the round has ended

    auto lost = w.acquire(*locks, "stock");
    BOOST_TEST((lost.ec == errc::no_quorum));

    BOOST_TEST(w.keys_after(1ms) == 0u);
    BOOST_TEST(w.keys_after(1s) == 0u);
    BOOST_TEST(locks->stats().cleaning == 0u);
}

// Rule 5 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(acquire_uses_a_new_token_in_each_round, manager_of<3>)
{
    w[0].entries["lock:stock"] = w[1].entries["lock:stock"] = {"foreign", w.now + 300ms};

    auto won = w.acquire(*locks, "stock", {.wait = 2s});

    BOOST_TEST(won.held.held());
    std::set<std::string> tokens;
    for (auto& r : w[2].requests) {
        if (r.what == kind::acquire)
            tokens.insert(r.value);
    }
    BOOST_TEST(tokens.size() == w[2].count(kind::acquire));
    BOOST_TEST(tokens.size() > 2u);
}

BOOST_FIXTURE_TEST_CASE(acquire_that_retries_is_not_blocked_by_its_own_keys, connected_to<3>)
{
    w[0].entries["lock:stock"] = w[1].entries["lock:stock"] = {"foreign", w.now + 20ms};

    auto won = w.acquire(*locks, "stock", {.wait = 1s});

    BOOST_TEST(won.held.held());
    BOOST_TEST(won.report.rounds > 1u);
    BOOST_TEST((won.report.nodes[2].vote == vote::granted || !won.report.nodes[2].error));
    BOOST_TEST(w.keys_after(1ms) == 3u);
}

BOOST_FIXTURE_TEST_CASE(acquire_with_wait_for_a_held_lock_ends_right_after_the_wait, and_another<connected_to<3>>)
{
    auto won = w.acquire(*other, "stock", {.ttl = 60s});
    auto const before = w.now;

    auto lost = w.acquire(*locks, "stock", {.wait = 700ms});

    BOOST_TEST((lost.ec == errc::contended));
    BOOST_TEST((w.now - before >= 700ms));
    BOOST_TEST((w.now - before < 750ms));
    BOOST_TEST(won.held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_waiting_for_a_crashed_holder_wins_after_its_ttl, and_another<connected_to<3>>)
{
    auto won = w.acquire(*other, "stock", {.ttl = 1s});

    // The holder never renews or releases, so its keys expire.
    auto next = w.acquire(*locks, "stock", {.wait = wait_forever});

    BOOST_TEST(next.held.held());
    BOOST_TEST(!won.held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_cancelled_in_flight_returns_at_once_and_leaves_no_key, connected_to<3>)
{
    w.each([](auto& s) { s.request_delay = s.reply_delay = 10ms; });
    auto const before = w.now;
    asio::cancellation_signal cancel;
    auto o = w.start(*locks, "stock", {.ttl = 10s, .wait = 5s}, cancel.slot());
    w.run_for(5ms);  // the requests have not arrived yet
    // Total cancellation promises that the operation had no effect. The manager cannot promise that now.
    cancel.emit(asio::cancellation_type::total);
    BOOST_TEST(!w.done_after(1ms, o));
    cancel.emit(asio::cancellation_type::terminal);
    w.run_for(0ms);

    BOOST_TEST(o.done);
    BOOST_TEST((o.ec == asio::error::operation_aborted));
    BOOST_TEST((o.when - before == 6ms));
    BOOST_TEST(w.keys_after(1s) == 0u);
    BOOST_TEST(w[0].count(kind::acquire) == 2u);  // the warm-up, and the cancelled one
    BOOST_TEST(o.calls == 1);
    BOOST_TEST(locks->stats().cancelled == 1u);
}

BOOST_AUTO_TEST_CASE(acquire_cancelled_at_any_moment_completes_once)
{
    // The handler gets either a lock or an error.
    for (auto delay = 0us; delay < 2500us; delay += 50us) {
        lock_world w(3);
        auto locks = w.manager();
        w[0].reply_delay = 700us;
        w[1].request_delay = 900us;
        w[2].hung = true;
        asio::cancellation_signal cancel;
        auto o = w.start(*locks, "stock", {.ttl = 1s, .wait = 1s}, cancel.slot());
        w.run_for(delay);
        cancel.emit(asio::cancellation_type::terminal);
        w.run_for(0ms);

        BOOST_TEST_REQUIRE((o.calls == 1));
        BOOST_TEST_REQUIRE((o.held.held() == !o.ec));
        o.held = {};
        w[2].hung = false;
        w.run_for(100ms);
        BOOST_TEST_REQUIRE((w.keys("lock:stock") == 0u));
        BOOST_TEST_REQUIRE((locks->stats().running == 0u));
        BOOST_TEST_REQUIRE((locks->stats().cleaning == 0u));
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_while_connecting_is_ended_by_total_cancellation, manager_of<3>)
{
    w.each([](auto& s) { s.connecting = true; });
    asio::cancellation_signal cancel;
    auto o = w.start(*locks, "stock", {}, cancel.slot());
    BOOST_TEST(!w.done_after(20ms, o));
    cancel.emit(asio::cancellation_type::total);
    w.run_for(0ms);
    BOOST_TEST((o.ec == asio::error::operation_aborted));
}

// Only the address sanitizer would find a dangling reference into the first lock.
BOOST_FIXTURE_TEST_CASE(acquire_of_a_resource_that_the_servers_forgot_succeeds_again, manager_of<3>)
{
    auto forgotten = w.acquire(*locks, "stock");
    w.each([](auto& s) { s.entries.clear(); });
    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(won.held.held());

    w.drop(forgotten, 10ms);

    BOOST_TEST(w.keys("lock:stock") == 3u);
    auto const asked = w[0].count(kind::acquire);
    auto waiting = w.acquire(*locks, "stock", {.wait = 1s});  // waits for the lock that this manager holds
    BOOST_TEST((waiting.ec == errc::contended));
    BOOST_TEST(w[0].count(kind::acquire) == asked + 1);  // the last round when the wait ends
}

BOOST_FIXTURE_TEST_CASE(acquire_with_invalid_arguments_sends_nothing, manager_of<1>)
{
    std::pair<std::string, acquire_options> const broken[] = {
        {"", {}},
        {std::string(513, 'x'), {}},
        {"stock", {.ttl = 19ms}},
        {"stock", {.ttl = 61s}},
        {"stock", {.ttl = 50ms}},
        {"stock", {.wait = -1ms}},
    };
    for (auto const& [resource, options] : broken) {
        auto refused = w.acquire(*locks, resource, options);
        BOOST_TEST((refused.ec == errc::invalid_argument));
        BOOST_TEST(refused.report.message.find("must") != std::string::npos);
        BOOST_TEST(refused.report.nodes.empty());
    }
    BOOST_TEST(w[0].requests.empty());
}

BOOST_FIXTURE_TEST_CASE(attempt_report_lists_vote_error_and_time_of_each_node, manager_of<3>)
{
    w[0].reply_delay = 3ms;
    w[1].refusal = errc::node_loading;
    w[2].entries["lock:stock"] = {"foreign", w.now + 1h};

    auto lost = w.acquire(*locks, "stock");

    BOOST_TEST((lost.ec == errc::contended));  // without the foreign key, it would have won
    BOOST_TEST(lost.report.nodes.size() == 3u);
    BOOST_TEST(lost.report.nodes[0].name == "server-0");
    BOOST_TEST((lost.report.nodes[1].vote == vote::unknown));
    BOOST_TEST((lost.report.nodes[1].error == errc::node_loading));
    BOOST_TEST((lost.report.nodes[2].vote == vote::denied));
    BOOST_TEST((lost.report.nodes[2].round_trip == 200us));
    BOOST_TEST((lost.report.elapsed > 0us));
}

BOOST_AUTO_TEST_CASE(acquire_that_connects_first_may_take_longer_than_node_timeout)
{
    lock_world w(3);
    w.each([](auto& s) { s.request_delay = 80ms; });  // connecting takes one round trip, the vote another one
    auto locks = w.manager({.node_timeout = 90ms});

    auto won = w.acquire(*locks, "stock");

    BOOST_TEST(won.held.held());
    BOOST_TEST((won.held.valid_until() > w.now + 9s));
}

BOOST_AUTO_TEST_CASE(acquire_with_total_cancellation_in_flight_ends_after_the_round)
{
    for (bool const taken : {true, false}) {
        and_another<connected_to<3>> f;
        auto& w = f.w;
        auto blocker = taken ? w.acquire(*f.other, "stock", {.ttl = 60s, .renew = renewal::automatic})
                             : lock_world::outcome();
        w.each([](auto& s) { s.request_delay = 5ms; });
        asio::cancellation_signal cancel;
        auto o = w.start(*f.locks, "stock", {.wait = wait_forever}, cancel.slot());
        w.run_for(1ms);
        BOOST_TEST(w[0].count(kind::acquire) == (taken ? 2u : 1u));  // the requests have not arrived yet
        cancel.emit(asio::cancellation_type::total);
        w.run_for(1s);
        BOOST_TEST(o.calls == 1);
        BOOST_TEST((o.ec == (taken ? make_error_code(asio::error::operation_aborted) : error_code())));
        BOOST_TEST(o.held.held() == !taken);
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_with_wait_out_of_range_returns_invalid_argument, manager_of<3>)
{
    auto o = w.acquire(*locks, "stock", {.wait = std::chrono::milliseconds::min()});
    BOOST_TEST((o.ec == errc::invalid_argument));
    BOOST_TEST(o.report.message.find("wait is -9223372036854775808 ms") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
