#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(fencing_tokens)

namespace {

manager_options fenced() { return {.fencing = true}; }

void set_counters(lock_world& w, std::vector<std::uint64_t> const& counters)
{
    for (std::size_t i = 0; i < counters.size(); ++i)
        w[i].counters["lock:stock"] = counters[i];
}

template <std::size_t Servers>
struct fenced_manager_of : manager_of<Servers> {
    fenced_manager_of() : manager_of<Servers>(fenced()) {}
};

// The manager is connected, so its requests leave at once.
template <std::size_t Servers>
struct fenced_on : connected_to<Servers> {
    fenced_on() : connected_to<Servers>(fenced()) {}
};

// Acquires and releases "stock". Returns the fencing token.
std::uint64_t take(lock_world& w, lock_manager& locks, acquire_options options = {})
{
    auto won = w.acquire(locks, "stock", options);
    w.release(won, 1ms);
    return won.held.fencing_token();
}

// Replaces @p last by @p token. Returns whether @p token is higher.
bool rises(std::uint64_t& last, std::uint64_t token) { return token > std::exchange(last, token); }

// A renewed lock with a ttl of 3 s. All three nodes have its key.
struct renewed_lock : manager_of<3> {
    explicit renewed_lock(manager_options const& settings = {}) : manager_of(settings) { w.run_for(1ms); }

    lock_world::outcome won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
};

std::uint64_t counter(lock_world& w, std::size_t i) { return w[i].counters["lock:stock"]; }

}  // namespace

BOOST_FIXTURE_TEST_CASE(fencing_token_without_fencing_is_zero, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(won.held.fencing_token() == 0u);
    BOOST_TEST(w[0].counters.empty());
    BOOST_TEST(lock().fencing_token() == 0u);
}

BOOST_AUTO_TEST_CASE(fencing_token_grows_with_each_acquisition_by_any_manager)
{
    lock_world w(3);
    auto a = w.manager(fenced()), b = w.manager(fenced());
    std::uint64_t last = 0;
    for (int i = 0; i < 20; ++i) {
        w.wall_clock = 1'795'000'000'000'000 + 1000 * static_cast<unsigned>(i);
        BOOST_TEST(rises(last, take(w, i % 3 == 0 ? *a : *b)));
    }
    BOOST_TEST(a->stats().second_rounds + b->stats().second_rounds == 0u);
}

BOOST_FIXTURE_TEST_CASE(fencing_token_is_the_time_or_counts_on_if_the_clock_is_behind, fenced_manager_of<3>)
{
    w.wall_clock = 1'795'000'000'000'000;
    auto const first = take(w, *locks);
    BOOST_TEST(first / 16 == w.wall_clock / 16);
    auto slow = w.manager(fenced());
    w.wall_clock -= 7'200'000'000;
    auto won = w.acquire(*slow, "stock");
    BOOST_TEST(won.held.fencing_token() == first + 1);
    BOOST_TEST(won.report.rounds == 1u);
    BOOST_TEST(won.report.second_rounds == 1u);
}

BOOST_AUTO_TEST_CASE(fencing_with_a_slow_clock_needs_only_one_second_round)
{
    lock_world w(3);
    auto ahead = w.manager(fenced()), behind = w.manager(fenced());
    std::uint64_t last = 0;
    for (int i = 0; i < 20; ++i) {
        // `behind` learns how far `ahead` leads, minus the time since the last proposal of `ahead`. That time is longer
        // in each pass, so `behind` has learned enough for the next one.
        w.wall_clock = 1'795'000'000'000'000 + 1000 * static_cast<unsigned>(i * i) + (i % 2 == 0 ? 5'000'000 : 0);
        BOOST_TEST(rises(last, take(w, i % 2 == 0 ? *ahead : *behind)));
    }
    BOOST_TEST(ahead->stats().second_rounds == 0u);
    BOOST_TEST(behind->stats().second_rounds == 1u);
}

BOOST_FIXTURE_TEST_CASE(fencing_token_rises_after_counters_lost_their_latest_values, fenced_manager_of<3>)
{
    w.wall_clock = 1'795'000'000'000'000;
    std::uint64_t last = 0;
    for (int i = 0; i < 10; ++i) {
        last = take(w, *locks);
        w.wall_clock += 2000;
    }
    for (auto& s : w.servers)  // a power failure: the log lacks the last writes
        s->counters["lock:stock"] -= 5;
    BOOST_TEST(w.acquire(*locks, "stock").held.fencing_token() > last);
}

BOOST_FIXTURE_TEST_CASE(fencing_with_a_proposal_above_all_counters_takes_one_round, fenced_manager_of<5>)
{
    set_counters(w, {1, 3, 7, 5, 0});
    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(won.held.fencing_token() > 7u);
    BOOST_TEST(won.report.second_rounds == 0u);
    for (auto& s : w.servers) {
        BOOST_TEST(s->count(kind::acquire) == 1u);
        BOOST_TEST(s->count(kind::raise) == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(fencing_with_a_proposal_above_a_quorum_takes_one_round, fenced_on<5>)
{
    set_counters(w, {0, 0, 0, 9000, 9000});
    w[3].request_delay = w[4].request_delay = 1ms;
    auto const won = w.acquire(*locks, "stock");
    BOOST_TEST(won.held.fencing_token() < 9000u);
    BOOST_TEST(won.report.second_rounds == 0u);
}

BOOST_AUTO_TEST_CASE(fencing_by_one_client_with_failing_nodes_needs_no_second_round)
{
    lock_world w(5);
    auto locks = w.connected({.fencing = true, .restart_guard = restart_guard::off});
    std::uint64_t last = 0;
    for (int i = 0; i < 50; ++i) {
        auto& s = w[static_cast<std::size_t>(i) % 5];
        w.wall_clock += 16;
        s.mute = i % 4 == 0;
        s.hung = i % 4 == 1;
        s.reachable = i % 4 != 2;
        if (i % 4 == 3)
            s.restart();
        BOOST_TEST(rises(last, take(w, *locks, {.wait = 1s})));
        s.mute = s.hung = false;
        s.reachable = true;
        w.run_for(1s);
    }
    BOOST_TEST(locks->stats().second_rounds == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_with_a_clock_that_stands_draws_higher_tokens, fenced_manager_of<3>)
{
    w.wall_clock = 1'795'000'000'000'000;
    auto last = take(w, *locks);
    BOOST_TEST(last / 16 == w.wall_clock / 16);
    BOOST_TEST(rises(last, take(w, *locks)));
    BOOST_TEST(rises(last, take(w, *locks)));
}

BOOST_FIXTURE_TEST_CASE(fencing_with_equal_higher_counters_takes_a_second_round, fenced_on<3>)
{
    set_counters(w, {9000, 9000, 9000});
    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(won.held.fencing_token() == 9001u);
    BOOST_TEST(won.report.rounds == 1u);
    BOOST_TEST(won.report.second_rounds == 1u);
    BOOST_TEST(locks->stats().second_rounds == 1u);
}

BOOST_FIXTURE_TEST_CASE(fencing_with_unequal_counters_asks_again_with_a_higher_proposal, fenced_on<3>)
{
    set_counters(w, {1000, 2000, 3000});
    w[2].request_delay = 1ms;
    auto won = w.acquire(*locks, "stock");  // without `wait`, because no client holds it
    auto const token = won.held.fencing_token();
    BOOST_TEST(token > 2001u);
    BOOST_TEST(token < 3000u);
    BOOST_TEST(won.report.rounds == 2u);
    BOOST_TEST(won.report.second_rounds == 1u);
    BOOST_TEST(counter(w, 0) == token);
    BOOST_TEST(counter(w, 1) == token);
    // The next majority includes one of these two nodes, so its token is higher.
    w.run_for(5ms);
    w.release(won, 5ms);
    BOOST_TEST(w.acquire(*locks, "stock").held.fencing_token() > token);
}

BOOST_FIXTURE_TEST_CASE(fencing_learns_one_more_counter_in_each_repetition, fenced_on<3>)
{
    // This was found on real servers, where any two of three nodes answer first.
    set_counters(w, {1000, 2000, 3000});
    w[2].request_delay = 1ms;
    lock_world::outcome won;
    w.start_acquire(won, *locks, "stock", {.explain = true});
    w.run_to([&] { return locks->stats().second_rounds == 1; });
    std::swap(w[0].request_delay, w[2].request_delay);
    w.end_of(won);
    BOOST_TEST(won.held.fencing_token() > 3000u);
    BOOST_TEST(won.report.rounds == 3u);
    BOOST_TEST(won.report.second_rounds == 2u);
}

BOOST_FIXTURE_TEST_CASE(fencing_outbid_three_times_returns_contended_and_leaves_no_key, fenced_on<3>)
{
    std::uint64_t others = 1'000'000;
    auto won = w.start(*locks, "stock", {});
    while (!won.done) {
        w.each([&](auto& s) { s.counters["lock:stock"] = ++others * 1000; });
        w.run_for(20us);
    }
    BOOST_TEST((won.ec == errc::contended));
    BOOST_TEST(locks->stats().second_rounds == 3u);
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(fencing_token_needs_a_quorum_of_all_nodes, fenced_on<5>)
{
    set_counters(w, {1000, 1000, 2000, 0, 0});
    w[3].reachable = w[4].reachable = false;
    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(won.held.fencing_token() > 2000u);
    for (std::size_t i = 0; i < 3; ++i)
        BOOST_TEST(counter(w, i) == won.held.fencing_token());
}

BOOST_FIXTURE_TEST_CASE(fencing_second_round_asks_only_nodes_that_granted, fenced_on<5>)
{
    // A node that has not granted may already have the token of a later holder. If it raised that number for us, our
    // token would be higher than that of the later holder.
    set_counters(w, {9000, 9000, 9000, 9000, 9000});
    w[3].entries["lock:stock"] = {"somebody else", w.now + 1h};
    w[4].request_delay = 5ms;
    auto won = w.acquire(*locks, "stock");
    BOOST_TEST(won.held.fencing_token() == 9001u);
    w.run_for(10ms);
    for (std::size_t i = 0; i < 5; ++i)
        BOOST_TEST(w[i].count(kind::raise) == (i < 3 ? 1u : 0u));
}

BOOST_AUTO_TEST_CASE(fencing_with_a_clock_far_behind_logs_one_warning)
{
    std::vector<std::string> lines;
    lock_world w(3);
    auto settings = fenced();
    settings.log = [&](log_level level, std::string_view line) {
        if (level == log_level::warning)
            lines.emplace_back(line);
    };
    auto locks = w.connected(settings);
    set_counters(w, {90'000'000, 90'000'000, 90'000'000});
    for (int i = 0; i < 3; ++i)
        BOOST_TEST(take(w, *locks) > 90'000'000u);
    BOOST_TEST(locks->stats().second_rounds == 3u);
    BOOST_REQUIRE(lines.size() == 1u);
    BOOST_TEST(lines[0].find("the tokens of \"stock\" are 90 s ahead of this machine's clock") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(fencing_after_the_last_token_fails, fenced_on<3>)
{
    auto const end = std::uint64_t(1) << 53;
    set_counters(w, {end - 3, end - 3, end - 3});
    BOOST_TEST(take(w, *locks) == end - 2);
    set_counters(w, {end - 1, end - 1, end - 1});
    BOOST_TEST(!w.acquire(*locks, "stock").held.held());
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(fencing_with_nodes_that_return_no_token_returns_no_quorum, fenced_manager_of<3>)
{
    w.each([](auto& s) { s.draws_tokens = false; });
    BOOST_TEST((w.acquire(*locks, "stock").ec == errc::no_quorum));
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(fencing_ignores_the_counter_of_a_node_in_quarantine, fenced_on<3>)
{
    w[0].restart();
    w.acquire(*locks, "other");
    w.run_for(10ms);
    set_counters(w, {0, 9000, 0});
    w[2].request_delay = 200us;
    auto won = w.start(*locks, "stock", {});
    w.run_for(450us);  // both grants have arrived; the counters of the trusted nodes differ
    BOOST_TEST(!won.done);
    w.end_of(won);
    BOOST_TEST(won.held.fencing_token() > 9000u);
    BOOST_TEST(counter(w, 2) == won.held.fencing_token());
}

BOOST_AUTO_TEST_CASE(fencing_second_round_does_not_extend_the_validity)
{
    lock_world w(3);
    set_counters(w, {9000, 9000, 9000});
    auto locks = w.connected({.node_timeout = 100ms, .fencing = true});
    w.each([](auto& s) { s.reply_delay = 30ms; });
    auto const begun = w.now;
    auto won = w.acquire(*locks, "stock", {.ttl = 1s});
    BOOST_TEST(won.held.held());
    BOOST_TEST((won.held.valid_until() == begun + 1s - 12ms));

    w.release(won, 1s);
    set_counters(w, {90'000, 90'000, 90'000});
    w.each([](auto& s) { s.reply_delay = 60ms; });
    BOOST_TEST((w.acquire(*locks, "stock", {.ttl = 110ms}).ec == errc::validity_exhausted));
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_cancelled_in_the_second_round_leaves_no_key, fenced_on<3>)
{
    set_counters(w, {1000, 2000, 3000});
    asio::cancellation_signal cancel;
    auto lost = w.start(*locks, "stock", {}, cancel.slot());
    w.run_for(250us);
    BOOST_TEST(w[0].count(kind::raise) + w[1].count(kind::raise) + w[2].count(kind::raise) == 0u);
    BOOST_TEST(locks->stats().second_rounds == 1u);
    cancel.emit(asio::cancellation_type::terminal);
    BOOST_TEST((w.end_of(lost) == asio::error::operation_aborted));
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(lock_manager_destroyed_in_the_second_round_leaves_no_key, fenced_on<3>)
{
    set_counters(w, {1000, 2000, 3000});
    auto won = w.start(*locks, "stock", {});
    w.run_for(250us);
    BOOST_TEST(locks->stats().second_rounds == 1u);
    locks.reset();
    w.run_for(10s);
    BOOST_TEST(won.calls == 1);
    BOOST_TEST((won.ec == asio::error::operation_aborted));
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(renewal_changes_neither_token_nor_counters, fenced_manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    auto const token = won.held.fencing_token();
    BOOST_TEST(w.held_after(10s, won));
    BOOST_TEST(won.held.fencing_token() == token);
    w.release(won, 1ms);
    w.each([&](auto& s) { BOOST_TEST(s.counters["lock:stock"] == token); });
}

BOOST_AUTO_TEST_CASE(acquire_with_and_without_fencing_exclude_each_other)
{
    lock_world w(3);
    auto with = w.manager(fenced()), without = w.manager();
    auto a = w.acquire(*with, "stock");
    BOOST_TEST((w.acquire(*without, "stock").ec == errc::contended));
    w.release(a, 1ms);
    auto b = w.acquire(*without, "stock");
    BOOST_TEST(b.held.held());
    BOOST_TEST((w.acquire(*with, "stock").ec == errc::contended));
}

// Two majorities of four nodes share two nodes, so one of these still has its counter.
BOOST_AUTO_TEST_CASE(fencing_token_rises_if_one_of_four_nodes_forgets)
{
    lock_world w(4);
    auto locks = w.manager({.fencing = true, .restart_guard = restart_guard::off});
    w.wall_clock = 0;  // so only the counters make the tokens rise
    std::uint64_t last = 0;
    for (int i = 0; i < 12; ++i) {
        BOOST_TEST(rises(last, take(w, *locks)));
        w[1].restart();
    }
}

// Tombstones

// On one connection, a release cannot overtake its acquisition.
BOOST_FIXTURE_TEST_CASE(release_on_the_same_connection_leaves_no_tombstone, fenced_manager_of<3>)
{
    w[0].request_delay = 5ms;
    auto won = w.acquire(*locks, "stock");
    w.release(won, 1s);
    w.each([](auto& s) { BOOST_TEST(s.tombstones.empty()); });
}

// Healing

BOOST_AUTO_TEST_CASE(heal_sets_the_key_again_on_a_restarted_node)
{
    for (bool const with_fencing : {false, true}) {
        renewed_lock f({.fencing = with_fencing});
        auto const token = f.won.held.fencing_token();
        f.w[1].restart();
        BOOST_TEST(f.w.held_after(2s, f.won));
        BOOST_TEST(f.w.keys("lock:stock") == 3u);
        BOOST_TEST(f.won.held.fencing_token() == token);
        BOOST_TEST(f.locks->stats().healed == 1u);
        BOOST_TEST(!f.w.release(f.won.held));
        BOOST_TEST(f.w.keys_after(1ms) == 0u);
    }
}

BOOST_AUTO_TEST_CASE(heal_keeps_a_lock_through_a_rolling_restart)
{
    lock_world w(3);
    auto locks = w.manager({.max_ttl = 4s});
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    for (int i = 0; i < 9; ++i) {
        w.run_for(6s);  // healed, and out of quarantine
        w[static_cast<std::size_t>(i) % 3].restart();
    }
    BOOST_TEST(w.held_after(5s, won));
    BOOST_TEST(w.keys("lock:stock") == 3u);
}

BOOST_AUTO_TEST_CASE(heal_of_a_node_in_quarantine_does_not_count)
{
    lock_world w(3);
    auto locks = w.manager({.max_ttl = 10s});
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w.run_for(1ms);
    w[0].restart();
    BOOST_TEST(w.keys_after(2s) == 3u);
    w[1].restart();  // server 0 may have granted the lock to another client, and forgotten that
    BOOST_TEST(!w.held_after(3s, won));
}

BOOST_AUTO_TEST_CASE(heal_disabled_loses_the_lock_in_a_rolling_restart)
{
    lock_world w(3);
    auto locks = w.manager({.heal = false});
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w.run_for(5s);
    w[0].restart();
    BOOST_TEST(w.held_after(5s, won));
    BOOST_TEST(w.keys("lock:stock") == 2u);
    w[1].restart();
    BOOST_TEST(!w.held_after(5s, won));
}

BOOST_FIXTURE_TEST_CASE(heal_of_two_of_three_nodes_at_once_loses_the_lock, renewed_lock)
{
    w[0].restart();
    w[1].restart();  // another client may have had the lock in between
    BOOST_TEST(!w.held_after(2s, won));
    BOOST_TEST((locks->stats().lost == 1u));
    BOOST_TEST((w.release(won.held) == errc::not_held));
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(heal_does_not_replace_a_foreign_key, renewed_lock)
{
    w[1].entries["lock:stock"] = {"somebody else", w.now + 1h};
    BOOST_TEST(w.held_after(5s, won));
    BOOST_TEST(w[1].find("lock:stock")->value == "somebody else");
    BOOST_TEST(locks->stats().healed == 0u);
}

BOOST_FIXTURE_TEST_CASE(heal_sets_the_key_on_a_node_that_was_down_and_release_deletes_it, manager_of<3>)
{
    w[2].reachable = false;
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w[2].reachable = true;
    BOOST_TEST(w.keys_after(2s) == 3u);
    w[0].restart();
    BOOST_TEST(w.held_after(2s, won));
    w.release(won.held);
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(release_ends_soon_on_a_node_that_could_not_be_healed, manager_of<3>)
{
    w[2].reachable = false;
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w.run_for(2s);
    w[2].reachable = true;
    w.release(won, 100ms);
    BOOST_TEST(locks->stats().cleaning == 0u);
    BOOST_TEST(!w.shutdown(*locks));
}

BOOST_FIXTURE_TEST_CASE(release_deletes_a_key_healed_before_the_denial_arrived, connected_to<3>)
{
    w[2].entries["lock:stock"] = {"somebody else", w.now + 500ms};
    w[2].reply_delay = 1400ms;
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w.run_for(1300ms);
    BOOST_TEST(w[2].find("lock:stock") != nullptr);  // the first renewal has set it
    w.run_for(300ms);
    w[2].reply_delay = 100us;
    w.release(won.held);
    BOOST_TEST(w.keys_after(100ms) == 0u);
}

BOOST_FIXTURE_TEST_CASE(release_of_a_healed_key_deletes_a_late_acquisition, connected_to<3>)
{
    w[0].request_delay = 2500ms;  // on a connection that breaks
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    w[0].request_delay = 100us;
    w[0].connection = 2;
    w.run_for(1200ms);
    BOOST_TEST(w[0].find("lock:stock") != nullptr);  // the first renewal has set it
    w.release(won.held);
    BOOST_TEST(w.keys_after(100ms) == 0u);
    w.run_for(2s);
    BOOST_TEST(w[0].count(kind::acquire) == 2u);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(extend_does_not_heal, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");
    w.run_for(1ms);
    w[1].restart();
    BOOST_TEST(!w.extend(won.held, 20s));
    BOOST_TEST(w.keys("lock:stock") == 2u);
}

BOOST_FIXTURE_TEST_CASE(heal_that_arrives_after_the_release_sets_no_key, renewed_lock)
{
    w[0].restart();
    w[0].request_delay = 4s;  // the release overtakes the renewal that would heal
    BOOST_TEST(w.held_after(1500ms, won));
    w[0].request_delay = 100us;
    w[0].connection = 9;
    // The node knows that the connection of this renewal has ended.
    w.release(won, 20s);
    BOOST_TEST(w[0].count(kind::extend) >= 1u);
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(release_that_waits_deletes_a_key_that_was_healed_meanwhile, renewed_lock)
{
    w[0].restart();
    w[0].hung = true;  // the server holds back the renewal that would heal
    w.run_for(1500ms);
    w[0].connecting = true;  // the node sends nothing to a silent server
    w.release(won, 2400ms);
    w[0].mute = true;  // the renewal sets the key; its answer is lost
    w[0].hung = false;
    BOOST_TEST(w.keys_after(10ms) == 1u);
    w.run_for(1s);  // a key that was set without delay would have expired
    w[0].connecting = w[0].mute = false;
    BOOST_TEST(w.keys_after(700ms) == 0u);
    BOOST_TEST(w[0].count(kind::release) >= 1u);  // repeated until the renewal is answered
}

// A store that numbers its operations chooses the token itself.
BOOST_FIXTURE_TEST_CASE(fencing_with_one_node_that_counts_itself_needs_no_second_round, fenced_on<1>)
{
    w[0].counts_by = 1'000;
    std::uint64_t before = 0;
    for (int i = 0; i < 3; ++i) {
        auto const token = take(w, *locks, {.ttl = 3s});
        BOOST_TEST(token > before);
        BOOST_TEST(token == counter(w, 0));
        before = token;
    }
    BOOST_TEST(locks->stats().second_rounds == 0u);
}

BOOST_FIXTURE_TEST_CASE(fencing_with_three_nodes_that_count_takes_a_second_round, fenced_on<3>)
{
    for (std::size_t i = 0; i < 3; ++i)
        w[i].counts_by = 1'000'000 * (1 + i);
    auto const first = take(w, *locks, {.ttl = 3s, .wait = 1s});
    BOOST_TEST_REQUIRE(first > 0u);
    BOOST_TEST(locks->stats().second_rounds >= 1u);
    BOOST_TEST(take(w, *locks, {.ttl = 3s, .wait = 1s}) > first);
}

BOOST_FIXTURE_TEST_CASE(fencing_with_a_number_below_the_proposal_takes_a_second_round, fenced_on<1>)
{
    w[0].counts_by = ~std::uint64_t(0);  // one less than was proposed
    auto won = w.acquire(*locks, "stock", {.ttl = 3s});
    BOOST_TEST_REQUIRE(won.held.held(), won.ec.message());
    BOOST_TEST(locks->stats().second_rounds == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
