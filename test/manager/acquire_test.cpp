#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(acquiring)

BOOST_FIXTURE_TEST_CASE(a_free_resource_is_locked_on_all_nodes, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});

    BOOST_TEST(!won.ec);
    BOOST_TEST(won.held.held());
    BOOST_TEST(won.held.resource() == "stock");
    BOOST_TEST(won.held.fencing_token() == 0u);
    BOOST_TEST(w.keys("lock:stock") == 3u);
    BOOST_TEST(w[0].find("lock:stock")->value == won.held.token());
}

BOOST_AUTO_TEST_CASE(rule_1_validity_counts_from_before_the_first_byte)
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

BOOST_AUTO_TEST_CASE(rule_1_an_expired_win_is_not_handed_out)
{
    lock_world w(3);
    auto locks = w.connected({.node_timeout = 90ms});
    w.each([](auto& s) { s.reply_delay = 85ms; });  // in time as a vote, too late for a lock of 100 ms

    auto lost = w.acquire(*locks, "stock", {.ttl = 100ms});

    BOOST_TEST((lost.ec == errc::validity_exhausted));
    BOOST_TEST(!lost.held.held());
    BOOST_TEST(w.keys_after(5ms) == 0u);
    BOOST_TEST(locks->stats().validity_exhausted == 1u);
}

BOOST_FIXTURE_TEST_CASE(rule_3_an_even_split_ends_at_once, connected_to<4>)
{
    for (std::size_t i = 0; i < 2; ++i)
        w[i].entries["lock:stock"] = {"foreign", w.now + 1h};
    auto const before = w.now;

    auto lost = w.acquire(*locks, "stock");

    BOOST_TEST((lost.ec == errc::contended));
    BOOST_TEST((w.now - before < 1ms));
    BOOST_TEST(w.keys_after(1ms) == 2u);  // only the foreign ones
}

BOOST_FIXTURE_TEST_CASE(rule_3_one_node_is_a_majority_of_itself, manager_of<1>)
{
    auto won = w.acquire(*locks, "stock");
    auto second = w.acquire(*locks, "stock");

    BOOST_TEST(won.held.held());
    BOOST_TEST((second.ec == errc::contended));
    BOOST_TEST(!w.release(won.held));
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(one_of_three_dead_works_and_leaves_nothing, manager_of<3>)
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

BOOST_AUTO_TEST_CASE(a_node_that_is_late_still_gets_the_key_of_a_won_lock_but_not_after_its_release)
{
    for (bool release_first : {false, true}) {
        lock_world w(3);
        auto locks = w.connected();
        w[2].connecting = true;  // what is sent waits for the connection

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

BOOST_FIXTURE_TEST_CASE(a_dead_majority_is_no_quorum_and_leaves_nothing, manager_of<3>)
{
    w[1].reachable = w[2].reachable = false;

    auto lost = w.acquire(*locks, "stock");

    BOOST_TEST((lost.ec == errc::no_quorum));
    BOOST_TEST((lost.report.outcome == errc::no_quorum));
    BOOST_TEST(lost.report.message.find("stock") != std::string::npos);
    BOOST_TEST(lost.report.rounds == 1u);
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_held_resource_is_contended_at_once, and_another<connected_to<3>>)
{
    auto won = w.acquire(*other, "stock");
    auto const before = w.now;

    auto lost = w.acquire(*locks, "stock");

    BOOST_TEST((lost.ec == errc::contended));
    BOOST_TEST((w.now - before < 1ms));
    BOOST_TEST(w.keys_after(1ms) == 3u);  // what the loser left behind would be in their way, and is not
    BOOST_TEST(won.held.held());
}

BOOST_FIXTURE_TEST_CASE(a_held_resource_is_contended_even_while_a_minority_is_down, and_another<connected_to<5>>)
{
    auto won = w.acquire(*other, "stock");
    w[0].reachable = w[1].reachable = false;
    w.each([](auto& s) { s.reply_delay = 1ms; });  // so that the missing votes come first

    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::contended));
    BOOST_TEST(won.held.held());
}

BOOST_FIXTURE_TEST_CASE(one_denial_is_no_contention_when_the_silent_nodes_are_a_majority, connected_to<3>)
{
    w[0].entries["lock:stock"] = {"foreign", w.now + 1h};
    w[1].hung = w[2].hung = true;

    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::no_quorum));
}

BOOST_FIXTURE_TEST_CASE(one_hung_node_delays_nobody, connected_to<3>)
{
    w[2].hung = true;
    auto const before = w.now;

    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(!w.release(won.held));

    BOOST_TEST(!won.ec);
    BOOST_TEST((w.now - before < 1ms));
    w[2].hung = false;
    BOOST_TEST(w.keys_after(10ms) == 0u);  // the late grant was followed by its release
}

BOOST_FIXTURE_TEST_CASE(a_hung_majority_is_waited_for_node_timeout_and_no_longer, connected_to<3>)
{
    w[1].hung = w[2].hung = true;
    auto const before = w.now;

    auto lost = w.acquire(*locks, "stock");

    BOOST_TEST((lost.ec == errc::no_quorum));
    BOOST_TEST((w.now - before == 50ms));
    BOOST_TEST((lost.report.nodes[1].error == errc::node_timeout));
}

BOOST_FIXTURE_TEST_CASE(who_overslept_the_deadline_reads_what_has_arrived_before_missing_a_vote, connected_to<3>)
{
    w.each([](auto& s) { s.reading_time = 1ms; });
    auto won = w.start(*locks, "stock", {});
    w.run_for(0ms);  // the requests leave

    w.stall_for(2s);  // the answers arrive, and nobody is there to read them
    w.end_of(won);

    BOOST_TEST(!won.ec);
    BOOST_TEST(won.held.held());
}

BOOST_FIXTURE_TEST_CASE(who_overslept_the_deadline_waits_no_second_time, connected_to<3>)
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

// More nodes than the round has fixed-size groups for are included.
BOOST_AUTO_TEST_CASE(any_number_of_nodes_needs_its_majority_and_no_more)
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

            w[0].hung = true;  // one more is missing
            auto lost = w.acquire(*locks, "other");
            BOOST_TEST((lost.ec == errc::no_quorum));
        }
    }
}

BOOST_FIXTURE_TEST_CASE(a_win_that_cannot_be_handed_out_leaves_no_key, connected_to<3>)
{
    w.random_until = 1;  // enough for the token, not for the time of the renewal

    auto failed = w.acquire(*locks, "stock", {.renew = renewal::automatic});

    BOOST_TEST((failed.ec == boost::system::errc::io_error));
    BOOST_TEST(!failed.held.held());
    BOOST_TEST(w.keys_after(1ms) == 0u);
    BOOST_TEST(locks->stats().held == 0u);
}

BOOST_FIXTURE_TEST_CASE(rule_4_late_grant_of_a_lost_round_is_released, connected_to<3>)
{
    w[1].reply_delay = w[2].reply_delay = 200ms;  // granted, but the answer comes after the round

    auto lost = w.acquire(*locks, "stock");
    BOOST_TEST((lost.ec == errc::no_quorum));

    BOOST_TEST(w.keys_after(1ms) == 0u);
    BOOST_TEST(w.keys_after(1s) == 0u);
    BOOST_TEST(locks->stats().cleaning == 0u);
}

BOOST_FIXTURE_TEST_CASE(rule_5_each_round_has_a_token_of_its_own, manager_of<3>)
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

BOOST_FIXTURE_TEST_CASE(own_leftovers_do_not_block_a_retry, connected_to<3>)
{
    w[0].entries["lock:stock"] = w[1].entries["lock:stock"] = {"foreign", w.now + 20ms};

    auto won = w.acquire(*locks, "stock", {.wait = 1s});

    BOOST_TEST(won.held.held());
    BOOST_TEST(won.report.rounds > 1u);
    BOOST_TEST((won.report.nodes[2].vote == vote::granted || !won.report.nodes[2].error));
    BOOST_TEST(w.keys_after(1ms) == 3u);
}

BOOST_FIXTURE_TEST_CASE(wait_ends_with_a_last_round_at_its_end, and_another<connected_to<3>>)
{
    auto won = w.acquire(*other, "stock", {.ttl = 60s});
    auto const before = w.now;

    auto lost = w.acquire(*locks, "stock", {.wait = 700ms});

    BOOST_TEST((lost.ec == errc::contended));
    BOOST_TEST((w.now - before >= 700ms));
    BOOST_TEST((w.now - before < 750ms));
    BOOST_TEST(won.held.held());
}

BOOST_FIXTURE_TEST_CASE(no_deadlock_when_a_holder_dies, and_another<connected_to<3>>)
{
    auto won = w.acquire(*other, "stock", {.ttl = 1s});

    // The holder says nothing any more; its keys expire.
    auto next = w.acquire(*locks, "stock", {.wait = wait_forever});

    BOOST_TEST(next.held.held());
    BOOST_TEST(!won.held.held());
}

BOOST_FIXTURE_TEST_CASE(cancelling_returns_at_once_and_leaves_no_key, connected_to<3>)
{
    w.each([](auto& s) { s.request_delay = s.reply_delay = 10ms; });
    auto const before = w.now;
    asio::cancellation_signal cancel;
    auto o = w.start(*locks, "stock", {.ttl = 10s, .wait = 5s}, cancel.slot());
    w.run_for(5ms);  // on its way to the servers
    cancel.emit(asio::cancellation_type::total);
    BOOST_TEST(!w.done_after(1ms, o));  // total cancellation would have to leave no trace, so it is ignored now
    cancel.emit(asio::cancellation_type::terminal);
    w.run_for(0ms);

    BOOST_TEST(o.done);
    BOOST_TEST((o.ec == asio::error::operation_aborted));
    BOOST_TEST((o.when - before == 6ms));
    BOOST_TEST(w.keys_after(1s) == 0u);
    BOOST_TEST(w[0].count(kind::acquire) == 2u);  // it did arrive
    BOOST_TEST(o.calls == 1);
    BOOST_TEST(locks->stats().cancelled == 1u);
}

BOOST_AUTO_TEST_CASE(every_moment_of_cancellation_is_clean)
{
    // The same acquisition, cancelled after each of many moments: one completion, and either a lock or nothing.
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

BOOST_FIXTURE_TEST_CASE(nothing_was_sent_while_connecting_so_any_cancellation_ends_it, manager_of<3>)
{
    w.each([](auto& s) { s.connecting = true; });
    asio::cancellation_signal cancel;
    auto o = w.start(*locks, "stock", {}, cancel.slot());
    BOOST_TEST(!w.done_after(20ms, o));
    cancel.emit(asio::cancellation_type::total);
    w.run_for(0ms);
    BOOST_TEST((o.ec == asio::error::operation_aborted));
}

// What it is about, a reference into the first lock, is seen under the address sanitizer only.
BOOST_FIXTURE_TEST_CASE(a_resource_that_the_servers_forgot_may_be_won_again, manager_of<3>)
{
    auto forgotten = w.acquire(*locks, "stock");
    w.each([](auto& s) { s.entries.clear(); });
    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(won.held.held());

    w.drop(forgotten, 10ms);

    BOOST_TEST(w.keys("lock:stock") == 3u);
    auto const asked = w[0].count(kind::acquire);
    auto waiting = w.acquire(*locks, "stock", {.wait = 1s});  // the manager knows the new holder
    BOOST_TEST((waiting.ec == errc::contended));
    BOOST_TEST(w[0].count(kind::acquire) == asked + 1);  // the last round, at the end of the wait
}

BOOST_FIXTURE_TEST_CASE(broken_arguments_are_refused_before_anything_is_sent, manager_of<1>)
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

BOOST_FIXTURE_TEST_CASE(the_report_tells_each_nodes_vote_error_and_time, manager_of<3>)
{
    w[0].reply_delay = 3ms;
    w[1].refusal = errc::node_loading;
    w[2].entries["lock:stock"] = {"foreign", w.now + 1h};

    auto lost = w.acquire(*locks, "stock");

    BOOST_TEST((lost.ec == errc::contended));  // with the foreign key gone it would have won
    BOOST_TEST(lost.report.nodes.size() == 3u);
    BOOST_TEST(lost.report.nodes[0].name == "server-0");
    BOOST_TEST((lost.report.nodes[1].vote == vote::unknown));
    BOOST_TEST((lost.report.nodes[1].error == errc::node_loading));
    BOOST_TEST((lost.report.nodes[2].vote == vote::denied));
    BOOST_TEST((lost.report.nodes[2].round_trip == 200us));
    BOOST_TEST((lost.report.elapsed > 0us));
}

BOOST_AUTO_TEST_CASE(the_first_connection_may_take_longer_than_a_vote)
{
    lock_world w(3);
    w.each([](auto& s) { s.request_delay = 80ms; });  // a vote may take 50 ms, but this is the time to connect
    auto locks = w.manager({.node_timeout = 90ms});

    auto won = w.acquire(*locks, "stock");

    BOOST_TEST(won.held.held());
    BOOST_TEST((won.held.valid_until() > w.now + 9s));
}

BOOST_AUTO_TEST_CASE(a_total_cancellation_while_votes_are_in_flight_ends_it_after_the_round)
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
        BOOST_TEST(w[0].count(kind::acquire) == (taken ? 2u : 1u));  // it is under way
        cancel.emit(asio::cancellation_type::total);
        w.run_for(1s);
        BOOST_TEST(o.calls == 1);
        BOOST_TEST((o.ec == (taken ? make_error_code(asio::error::operation_aborted) : error_code())));
        BOOST_TEST(o.held.held() == !taken);
    }
}

BOOST_FIXTURE_TEST_CASE(a_wait_out_of_range_is_told_before_it_is_used, manager_of<3>)
{
    auto o = w.acquire(*locks, "stock", {.wait = std::chrono::milliseconds::min()});
    BOOST_TEST((o.ec == errc::invalid_argument));
    BOOST_TEST(o.report.message.find("wait is -9223372036854775808 ms") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
