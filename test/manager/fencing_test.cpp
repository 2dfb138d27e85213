#include "support/virtual_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;
using kind = node_operation::kind;

BOOST_AUTO_TEST_SUITE(fencing_tokens)

namespace {

config fenced(std::size_t quorum = 0)
{
    return {.fencing = true, .fence_quorum = quorum};
}

void set_counters(lock_world& w, std::vector<std::uint64_t> const& counters)
{
    for (std::size_t i = 0; i < counters.size(); ++i)
        w[i].counters["lock:stock"] = counters[i];
}

// Connected to all nodes, so that time counts from the question.
std::unique_ptr<lock_manager> connected(lock_world& w, config settings)
{
    auto locks = w.manager(std::move(settings));
    w.acquire(*locks, "warm-up");
    w.run_for(10ms);
    return locks;
}

std::uint64_t counter(lock_world& w, std::size_t i)
{
    return w[i].counters["lock:stock"];
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_fencing_there_is_none)
{
    lock_world w(3);
    auto locks = w.manager();
    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(won.held.fencing_token() == 0u);
    BOOST_TEST(w[0].counters.empty());
    BOOST_TEST(lock().fencing_token() == 0u);
}

BOOST_AUTO_TEST_CASE(tokens_grow_with_every_acquisition_of_a_resource_by_whomever)
{
    lock_world w(3);
    auto a = w.manager(fenced());
    auto b = w.manager(fenced());
    std::uint64_t last = 0;
    for (int i = 0; i < 20; ++i) {
        auto won = w.acquire(i % 3 == 0 ? *a : *b, "stock");
        BOOST_TEST(won.held.fencing_token() > last);
        last = won.held.fencing_token();
        w.release(won.held);
        w.run_for(1ms);
    }
    BOOST_TEST(a->stats().second_rounds + b->stats().second_rounds == 0u);
}

BOOST_AUTO_TEST_CASE(a_token_is_the_time_at_first_and_counts_on_from_there_when_the_clock_is_behind)
{
    lock_world w(3);
    w.wall_clock = 1'795'000'000'000'000;
    auto locks = w.manager(fenced());
    auto won = w.acquire(*locks, "stock");
    auto const first = won.held.fencing_token();
    BOOST_TEST(first / 256 == w.wall_clock / 256);
    w.release(won.held);
    w.run_for(1ms);
    w.wall_clock -= 3'600'000'000;
    BOOST_TEST(w.acquire(*locks, "stock").held.fencing_token() == first + 1);
}

BOOST_AUTO_TEST_CASE(counters_that_have_lost_their_latest_values_are_lifted_by_the_hint)
{
    lock_world w(3);
    w.wall_clock = 1'795'000'000'000'000;
    auto locks = w.manager(fenced());
    std::uint64_t last = 0;
    for (int i = 0; i < 10; ++i) {
        auto won = w.acquire(*locks, "stock");
        last = won.held.fencing_token();
        w.release(won.held);
        w.run_for(1ms);
        w.wall_clock += 2000;
    }
    for (auto& s : w.servers)  // a power cut: the log has everything but the last moments
        s->counters["lock:stock"] -= 5;
    BOOST_TEST(w.acquire(*locks, "stock").held.fencing_token() > last);
}

BOOST_AUTO_TEST_CASE(equal_counters_take_one_round_trip)
{
    lock_world w(5);
    set_counters(w, {6, 6, 6, 6, 6});
    w.wall_clock = 0;
    auto locks = w.manager(fenced());
    attempt_report report;
    auto won = w.acquire(*locks, "stock", {.report = &report});
    BOOST_TEST(won.held.fencing_token() >= 7u);
    BOOST_TEST(report.second_rounds == 0u);
    for (auto& s : w.servers)
        BOOST_TEST(s->count(kind::acquire) + s->count(kind::extend) == 1u);
}

BOOST_AUTO_TEST_CASE(different_counters_are_raised_to_the_highest_before_the_lock_is_handed_out)
{
    lock_world w(3);
    set_counters(w, {1000, 2000, 3000});
    w[2].request_delay = 1ms;  // its grant comes when two have decided
    auto locks = w.manager(fenced());
    attempt_report report;
    auto won = w.acquire(*locks, "stock", {.report = &report});
    BOOST_TEST(won.held.fencing_token() == 2001u);
    BOOST_TEST(report.second_rounds == 1u);
    BOOST_TEST(locks->stats().second_rounds == 1u);
    BOOST_TEST(counter(w, 0) == 2001u);
    BOOST_TEST(counter(w, 1) == 2001u);
    // So the next one, who meets one of the two, gets a higher one.
    w.run_for(5ms);
    w.release(won.held);
    w.run_for(5ms);
    BOOST_TEST(w.acquire(*locks, "stock").held.fencing_token() > 2001u);
}

BOOST_AUTO_TEST_CASE(only_a_node_whose_grant_entered_the_maximum_may_vouch_for_it)
{
    lock_world w(3);
    auto locks = connected(w, fenced());
    set_counters(w, {1000, 2000, 3000});
    w[1].request_delay = 200us;
    w[2].request_delay = 300us;  // its counter is not known, but it acknowledges in time
    lock_world::outcome won;
    w.start_acquire(won, *locks, "stock", {});
    w.run_for(350us);
    BOOST_TEST(!won.done);
    w[1].deaf = true;  // two nodes could vouch, and this one does not answer any more
    w.run_to([&] { return won.done; });
    BOOST_TEST((won.ec == errc::no_quorum));
    w[1].deaf = false;
    w.run_for(60s);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_CASE(raising_needs_the_key_to_be_still_ours)
{
    lock_world w(3);
    auto locks = connected(w, fenced());
    set_counters(w, {1000, 2000, 2000});
    w[2].reachable = false;
    lock_world::outcome won;
    w.start_acquire(won, *locks, "stock", {});
    w.run_for(150us);  // carried out, and not answered yet
    w[0].entries["lock:stock"] = {"somebody else", w.now + 1h};
    w.run_to([&] { return won.done; });
    BOOST_TEST(!won.held.held());
    BOOST_TEST(counter(w, 0) == 1001u);
    w.run_for(1s);
    BOOST_TEST(w[1].find("lock:stock") == nullptr);
}

BOOST_AUTO_TEST_CASE(validity_counts_from_before_the_first_round_and_ends_the_second)
{
    lock_world w(3);
    set_counters(w, {1000, 2000, 3000});
    auto locks = connected(w, {.node_timeout = 100ms, .fencing = true});
    for (auto& s : w.servers)
        s->reply_delay = 30ms;
    auto const begun = w.now;
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    BOOST_TEST(won.held.held());
    BOOST_TEST((won.held.valid_until() == begun + 1s - 12ms));

    w.release(won.held);
    w.run_for(1s);
    set_counters(w, {10'000, 20'000, 30'000});
    for (auto& s : w.servers)
        s->reply_delay = 60ms;
    BOOST_TEST((w.acquire(*locks, "stock", {.ttl = 110ms}).ec == errc::validity_exhausted));
    w.run_for(1s);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_CASE(cancelled_in_the_second_round_it_leaves_nothing)
{
    lock_world w(3);
    set_counters(w, {1000, 2000, 3000});
    auto locks = connected(w, fenced());
    asio::cancellation_signal cancel;
    error_code result;
    bool done = false;
    locks->async_acquire("stock", {}, asio::bind_cancellation_slot(cancel.slot(), [&](error_code ec, lock) {
                             done = true;
                             result = ec;
                         }));
    w.run_for(250us);
    BOOST_TEST(w[0].count(kind::extend) + w[1].count(kind::extend) + w[2].count(kind::extend) == 0u);
    BOOST_TEST(locks->stats().second_rounds == 1u);
    cancel.emit(asio::cancellation_type::terminal);
    w.run_to([&] { return done; });
    BOOST_TEST((result == asio::error::operation_aborted));
    w.run_for(1s);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_CASE(the_manager_may_go_in_the_second_round)
{
    lock_world w(3);
    set_counters(w, {1000, 2000, 3000});
    auto locks = connected(w, fenced());
    lock_world::outcome won;
    w.start_acquire(won, *locks, "stock", {});
    w.run_for(250us);
    BOOST_TEST(locks->stats().second_rounds == 1u);
    locks.reset();
    w.run_for(10s);
    BOOST_TEST(won.calls == 1);
    BOOST_TEST((won.ec == asio::error::operation_aborted));
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_CASE(renewal_keeps_the_token_and_raises_counters_that_lag_behind)
{
    lock_world w(3);
    auto locks = w.manager(fenced());
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    auto const token = won.held.fencing_token();
    w.run_for(1ms);
    set_counters(w, {0, token, token});
    w.run_for(10s);
    BOOST_TEST(won.held.held());
    BOOST_TEST(won.held.fencing_token() == token);
    BOOST_TEST(counter(w, 0) == token);
}

BOOST_AUTO_TEST_CASE(a_release_raises_counters_that_lag_behind_or_may_do_so)
{
    lock_world w(3);
    auto locks = connected(w, fenced());
    set_counters(w, {1000, 2000, 2000});
    w[0].deaf = true;
    auto won = w.acquire(*locks, "stock");
    auto const token = won.held.fencing_token();
    w.run_for(100ms);
    BOOST_TEST(counter(w, 0) < token);
    w[0].deaf = false;
    w.release(won.held);
    w.run_for(1ms);
    BOOST_TEST(counter(w, 0) == token);
    // Where the counter is known to be there, the release need not speak of it.
    BOOST_TEST(w[0].requests.back().fence == token);
    BOOST_TEST(w[1].requests.back().fence == 0u);
}

BOOST_AUTO_TEST_CASE(clients_with_and_without_fencing_exclude_each_other)
{
    lock_world w(3);
    auto with = w.manager(fenced());
    auto without = w.manager();
    auto a = w.acquire(*with, "stock");
    BOOST_TEST((w.acquire(*without, "stock").ec == errc::contended));
    w.release(a.held);
    w.run_for(1ms);
    auto b = w.acquire(*without, "stock");
    BOOST_TEST(b.held.held());
    BOOST_TEST((w.acquire(*with, "stock").ec == errc::contended));
}

BOOST_AUTO_TEST_CASE(a_larger_quorum_is_needed_to_acquire_but_not_to_keep)
{
    lock_world w(5);
    auto locks = w.manager(fenced(4));
    w[0].reachable = w[1].reachable = false;
    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::no_quorum));
    w.run_for(1s);
    w[1].reachable = true;
    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(won.held.held());
    w[1].reachable = false;
    BOOST_TEST(!w.extend(won.held, 20s));
    BOOST_TEST(!w.release(won.held));
}

BOOST_AUTO_TEST_CASE(a_larger_quorum_outlives_nodes_that_forget_without_a_clock)
{
    lock_world w(3);
    auto locks = w.manager({.fencing = true, .fence_quorum = 3, .restart_guard = restart_guard::off});
    w.wall_clock = 0;
    std::uint64_t last = 0;
    for (int i = 0; i < 12; ++i) {
        auto won = w.acquire(*locks, "stock");
        BOOST_TEST(won.held.fencing_token() > last);
        last = won.held.fencing_token();
        w.release(won.held);
        w.run_for(1ms);
        w[static_cast<std::size_t>(i) % 3].restart();
        w[static_cast<std::size_t>(i + 1) % 3].restart();
    }
}

BOOST_AUTO_TEST_CASE(the_quorum_must_be_a_majority_and_not_more_than_there_are)
{
    lock_world w(5);
    for (std::size_t const wrong : {1u, 2u, 6u}) {
        config c{.nodes = {"memory://a", "memory://b", "memory://c", "memory://d", "memory://e"}, .fencing = true};
        c.fence_quorum = wrong;
        BOOST_CHECK_EXCEPTION(lock_manager(w.context, c), std::invalid_argument, [&](auto& e) {
            return std::string(e.what()).find("fence_quorum is " + std::to_string(wrong) + ", but must be 0, or 3 to 5")
                != std::string::npos;
        });
    }
    config c{.nodes = {"memory://a"}};
    c.fence_quorum = 1;
    BOOST_CHECK_THROW(lock_manager(w.context, c), std::invalid_argument);
}

// A tombstone

BOOST_AUTO_TEST_CASE(a_grant_that_comes_after_the_release_is_refused_by_its_tombstone)
{
    lock_world w(3);
    auto locks = w.manager(fenced());
    auto first = w.acquire(*locks, "warm-up");
    w[0].request_delay = 5s;  // still under way when the release overtakes it, on a new connection
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    BOOST_TEST(won.held.held());
    w[0].request_delay = 100us;
    w[0].connection = 2;
    BOOST_TEST(!w.release(won.held));
    w.run_for(1s);
    BOOST_TEST(locks->stats().cleaning == 0u);
    w.run_for(6s);
    BOOST_TEST(w[0].count(kind::acquire) == 2u);
    BOOST_TEST(w[0].find("lock:stock") == nullptr);
}

BOOST_AUTO_TEST_CASE(on_the_same_connection_nothing_overtakes_and_no_tombstone_is_left)
{
    lock_world w(3);
    auto locks = w.manager(fenced());
    w[0].request_delay = 5ms;
    auto won = w.acquire(*locks, "stock");
    w.release(won.held);
    w.run_for(1s);
    for (auto& s : w.servers)
        BOOST_TEST(s->tombstones.empty());
}

// Healing

BOOST_AUTO_TEST_CASE(a_renewal_sets_the_key_again_where_it_was_forgotten)
{
    for (bool const with_fencing : {false, true}) {
        lock_world w(3);
        auto locks = w.manager({.fencing = with_fencing});
        auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
        auto const token = won.held.fencing_token();
        w.run_for(1ms);
        w[1].restart();
        w.run_for(2s);
        BOOST_TEST(won.held.held());
        BOOST_TEST(w.keys("lock:stock") == 3u);
        BOOST_TEST(counter(w, 1) == token);
        BOOST_TEST(locks->stats().healed == 1u);
        BOOST_TEST(!w.release(won.held));
        w.run_for(1ms);
        BOOST_TEST(w.keys("lock:stock") == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_long_hold_survives_a_rolling_restart)
{
    lock_world w(3);
    auto locks = w.manager({.max_ttl = 4s});
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    for (int i = 0; i < 9; ++i) {
        w.run_for(6s);  // healed, and out of quarantine
        w[static_cast<std::size_t>(i) % 3].restart();
    }
    w.run_for(5s);
    BOOST_TEST(won.held.held());
    BOOST_TEST(w.keys("lock:stock") == 3u);
}

BOOST_AUTO_TEST_CASE(a_healed_node_in_quarantine_does_not_count)
{
    lock_world w(3);
    auto locks = w.manager({.max_ttl = 10s});
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w.run_for(1ms);
    w[0].restart();
    w.run_for(2s);
    BOOST_TEST(w.keys("lock:stock") == 3u);
    w[1].restart();  // the first one has the key again, but may have granted it to somebody else before it forgot
    w.run_for(3s);
    BOOST_TEST(!won.held.held());
}

BOOST_AUTO_TEST_CASE(a_rolling_restart_ends_a_hold_that_is_not_healed)
{
    lock_world w(3);
    auto locks = w.manager({.heal = false});
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w.run_for(5s);
    w[0].restart();
    w.run_for(5s);
    BOOST_TEST(won.held.held());
    BOOST_TEST(w.keys("lock:stock") == 2u);
    w[1].restart();
    w.run_for(5s);
    BOOST_TEST(!won.held.held());
}

BOOST_AUTO_TEST_CASE(a_healed_node_counts_from_the_next_renewal_on)
{
    lock_world w(3);
    auto locks = w.manager();
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w.run_for(1ms);
    w[0].restart();
    w[1].restart();  // two of three: somebody else may have had it in between
    w.run_for(2s);
    BOOST_TEST(!won.held.held());
    BOOST_TEST((locks->stats().lost == 1u));
    BOOST_TEST((w.release(won.held) == errc::not_held));
    w.run_for(1s);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_CASE(a_renewal_does_not_take_what_belongs_to_somebody_else)
{
    lock_world w(3);
    auto locks = w.manager();
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w.run_for(1ms);
    w[1].entries["lock:stock"] = {"somebody else", w.now + 1h};
    w.run_for(5s);
    BOOST_TEST(won.held.held());
    BOOST_TEST(w[1].find("lock:stock")->value == "somebody else");
    BOOST_TEST(locks->stats().healed == 0u);
}

BOOST_AUTO_TEST_CASE(a_node_that_was_down_at_first_is_given_the_key_too_and_rid_of_it)
{
    lock_world w(3);
    auto locks = w.manager();
    w[2].reachable = false;
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w[2].reachable = true;
    w.run_for(2s);
    BOOST_TEST(w.keys("lock:stock") == 3u);
    w[0].restart();
    w.run_for(2s);
    BOOST_TEST(won.held.held());
    w.release(won.held);
    w.run_for(1s);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_CASE(a_node_that_could_not_be_healed_is_not_cleaned_up_for_long)
{
    lock_world w(3);
    auto locks = w.manager();
    w[2].reachable = false;
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w.run_for(2s);
    w[2].reachable = true;
    w.release(won.held);
    w.run_for(100ms);
    BOOST_TEST(locks->stats().cleaning == 0u);
    BOOST_TEST(!w.shutdown(*locks));
}

BOOST_AUTO_TEST_CASE(an_extension_by_hand_does_not_heal)
{
    lock_world w(3);
    auto locks = w.manager();
    auto won = w.acquire(*locks, "stock");
    w.run_for(1ms);
    w[1].restart();
    BOOST_TEST(!w.extend(won.held, 20s));
    BOOST_TEST(w.keys("lock:stock") == 2u);
}

BOOST_AUTO_TEST_CASE(a_renewal_that_comes_after_the_release_does_not_bring_the_key_back)
{
    lock_world w(3);
    auto locks = w.manager();
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w.run_for(1ms);
    w[0].restart();
    w[0].request_delay = 4s;  // the renewal that would heal is under way when the release overtakes it
    w.run_for(1500ms);
    BOOST_TEST(won.held.held());
    w[0].request_delay = 100us;
    w[0].connection = 9;
    // Its connection is known to be broken.
    BOOST_TEST(!w.release(won.held));
    w.run_for(20s);
    BOOST_TEST(w[0].count(kind::extend) >= 1u);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
