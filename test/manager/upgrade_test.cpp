// Upgrade and downgrade: a reader becomes the exclusive holder for a while, and a reader again.

#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(lock_upgrade)

namespace {

struct fenced_readers : readers {
    fenced_readers() : readers({.fencing = true}) {}
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(upgrade_of_the_only_reader_makes_the_lock_exclusive, readers)
{
    auto one = read(*locks);
    auto const token = one.held.token();

    BOOST_TEST(!w.upgrade(one.held));

    BOOST_TEST(one.held.held());
    BOOST_TEST((one.held.mode() == mode::exclusive));
    BOOST_TEST(one.held.token() == token);
    w.run_for(1ms);
    BOOST_TEST(w.held_by("lock:stock", one.held.token()) == 3u);
    BOOST_TEST((read(*second).ec == errc::contended));
    BOOST_TEST((write(*second).ec == errc::contended));
    BOOST_TEST((read(*locks).ec == errc::contended));
    BOOST_TEST(!w.release(one.held));
    BOOST_TEST(w.keys_after(1ms) == 0u);
    BOOST_TEST(write(*second).held.held());
}

BOOST_FIXTURE_TEST_CASE(upgrade_while_others_read_is_contended, readers)
{
    auto one = read(*locks), two = read(*second);

    BOOST_TEST((w.upgrade(one.held) == errc::contended));

    BOOST_TEST((one.held.mode() == mode::shared));
    BOOST_TEST(one.held.held());
    BOOST_TEST(two.held.held());
    BOOST_TEST(read(*third).held.held());
    w.run_for(1ms);
    w.release(two, 1ms);
    BOOST_TEST(!w.upgrade(one.held));
    BOOST_TEST((one.held.mode() == mode::exclusive));
}

BOOST_FIXTURE_TEST_CASE(upgrade_of_two_readers_at_once_is_contended_for_both, readers)
{
    auto one = read(*locks), two = read(*second);
    auto a = w.start_upgrade(one.held);
    auto b = w.start_upgrade(two.held);
    w.run_to([&] { return a.ec && b.ec; });
    BOOST_TEST((*a.ec == errc::contended));
    BOOST_TEST((*b.ec == errc::contended));
    BOOST_TEST(one.held.held());
    BOOST_TEST(two.held.held());
}

BOOST_FIXTURE_TEST_CASE(upgrade_while_another_handle_has_joined_is_contended, readers)
{
    auto one = read(*locks), joined = read(*locks);
    BOOST_TEST(joined.held.token() == one.held.token());
    auto const asked = w[0].requests.size();

    BOOST_TEST((w.upgrade(one.held) == errc::contended));

    BOOST_TEST(w[0].requests.size() == asked);
    BOOST_TEST(!w.release(joined.held));
    BOOST_TEST(!w.upgrade(one.held));
}

BOOST_FIXTURE_TEST_CASE(upgrade_in_progress_prevents_joins, readers)
{
    auto one = read(*locks);
    auto c = w.start_upgrade(one.held);
    auto beside = read(*locks);
    BOOST_TEST(c.ec.has_value());
    BOOST_TEST((beside.held.held() && one.held.mode() == mode::exclusive) == false);
    BOOST_TEST(locks->stats().joined == 0u);
}

BOOST_FIXTURE_TEST_CASE(upgrade_validity_counts_from_its_start, readers)
{
    auto one = read(*locks, {.ttl = 10s});
    w.run_for(4s);
    auto const before = w.now;
    BOOST_TEST(!w.upgrade(one.held));
    BOOST_TEST((one.held.valid_until() == before + 10s - 102ms));
    BOOST_TEST(w.keys_after(9s) == 3u);
}

BOOST_FIXTURE_TEST_CASE(upgrade_does_not_shorten_the_validity, readers)
{
    auto one = read(*locks, {.ttl = 2s});
    BOOST_TEST(!w.extend(one.held, 20s));
    auto const before = one.held.valid_until();
    BOOST_TEST(!w.upgrade(one.held));
    BOOST_TEST((one.held.valid_until() >= before - 210ms));  // the upgrade subtracts the clock drift again
    BOOST_TEST(w.held_after(15s, one));
    BOOST_TEST((read(*second).ec == errc::contended));
}

// Votes about a reader do not count for a writer: on the nodes that sent them, the lock may still be shared.
BOOST_FIXTURE_TEST_CASE(extend_during_an_upgrade_is_sent_again, readers)
{
    auto one = read(*locks, {.ttl = 10s});
    w.run_for(1ms);
    w.each([](auto& s) { s.reply_delay = 20ms; });
    auto upgraded = w.start_upgrade(one.held);
    w.run_for(5ms);
    auto extended = w.start_extend(one.held, 30s);
    BOOST_TEST(!upgraded.end());
    BOOST_TEST(!extended.ec.has_value());
    auto const until = one.held.valid_until();
    BOOST_TEST(!extended.end());
    BOOST_TEST(w[0].count(kind::extend) == 2u);
    BOOST_TEST((one.held.valid_until() > until));
}

BOOST_FIXTURE_TEST_CASE(upgrade_ignores_an_extension_of_the_reader, readers)
{
    auto one = read(*locks, {.ttl = 10s});
    w.run_for(1ms);
    w.each([](auto& s) { s.reply_delay = 20ms; });
    auto const begun = w.now;
    auto upgraded = w.start_upgrade(one.held);
    w.run_for(5ms);
    w.each([](auto& s) { s.reply_delay = 100us; });
    BOOST_TEST(!w.extend(one.held, 30s));
    BOOST_TEST((one.held.valid_until() > begun + 25s));
    BOOST_TEST(!upgraded.ec.has_value());
    BOOST_TEST(!upgraded.end());
    BOOST_TEST((one.held.valid_until() == begun + 10s - 102ms));
}

BOOST_FIXTURE_TEST_CASE(extend_during_an_upgrade_is_not_sent_again_after_a_release, readers)
{
    auto one = read(*locks, {.ttl = 10s});
    w.run_for(1ms);
    w.each([](auto& s) { s.reply_delay = 20ms; });
    auto upgraded = w.start_upgrade(one.held);
    w.run_for(5ms);
    auto extended = w.start_extend(one.held, 30s);
    upgraded.end();
    BOOST_TEST(!w.release(one.held));
    BOOST_TEST((extended.end() == errc::not_held));
    BOOST_TEST(w[0].count(kind::extend) == 1u);
    BOOST_TEST(w.keys_after(1s) == 0u);
}

BOOST_FIXTURE_TEST_CASE(upgrade_with_renew_stays_exclusive, readers)
{
    auto one = read(*locks, {.ttl = 2s, .renew = renewal::automatic});
    BOOST_TEST(!w.upgrade(one.held));
    w[2].entries.clear();
    w[2].readers.clear();
    BOOST_TEST(w.held_after(10min, one));
    BOOST_TEST(w.held_by("lock:stock", one.held.token()) == 3u);  // a renewal has set the exclusive key again
    BOOST_TEST((read(*second).ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(extend_of_an_upgraded_lock_that_is_shared_on_a_majority_returns_lost, readers)
{
    auto one = read(*locks, {.ttl = 10s});
    BOOST_TEST(!w.upgrade(one.held));
    w.run_for(1ms);
    for (std::size_t i = 0; i < 2; ++i) {
        w[i].entries["lock:stock"].value = ":=shared";
        w[i].readers["lock:stock"] = {{one.held.token(), w.now + 10s}};
    }
    BOOST_TEST((w.extend(one.held, 10s) == errc::lost));
    BOOST_TEST(!one.held.held());
}

BOOST_FIXTURE_TEST_CASE(downgrade_admits_readers_before_a_waiting_writer, readers)
{
    auto one = read(*locks, {.ttl = 10s, .renew = renewal::automatic});
    BOOST_TEST(!w.upgrade(one.held));
    auto reader = w.start(*second, "stock", {.wait = 1min, .renew = renewal::automatic, .mode = mode::shared});
    auto writer = w.start(*third, "stock", {.wait = 1min});
    BOOST_TEST(!w.done_after(1s, reader));
    auto const until = one.held.valid_until();

    BOOST_TEST(!w.downgrade(one.held));

    BOOST_TEST((one.held.mode() == mode::shared));
    BOOST_TEST((one.held.valid_until() == until));
    BOOST_TEST(one.held.held());
    BOOST_TEST(w.held_after(100ms, reader));
    BOOST_TEST(!writer.done);
    BOOST_TEST(w.held_after(30s, one));  // it is renewed as a reader
    BOOST_TEST(!w.release(one.held));
    BOOST_TEST(!w.release(reader.held));
    BOOST_TEST(w.wins(writer));
}

BOOST_FIXTURE_TEST_CASE(downgrade_admits_a_waiting_reader_of_the_same_manager, readers)
{
    auto one = read(*locks, {.ttl = 30s});
    BOOST_TEST(!w.upgrade(one.held));
    auto waits = w.start(*locks, "stock", {.ttl = 10s, .wait = 20s, .mode = mode::shared});
    BOOST_TEST(!w.done_after(5s, waits));
    BOOST_TEST(!w.downgrade(one.held));
    BOOST_TEST(w.held_after(10ms, waits));
    BOOST_TEST(waits.held.token() != one.held.token());  // not joined, because `one` cannot be upgraded again
}

BOOST_FIXTURE_TEST_CASE(upgrade_twice_is_refused, readers)
{
    auto one = read(*locks);
    BOOST_TEST(!w.upgrade(one.held));
    BOOST_TEST((w.upgrade(one.held) == errc::invalid_argument));
    BOOST_TEST((one.held.mode() == mode::exclusive));
    BOOST_TEST(!w.downgrade(one.held));
    BOOST_TEST((w.upgrade(one.held) == errc::invalid_argument));
    BOOST_TEST(!w.downgrade(one.held));  // it is shared already
    BOOST_TEST(one.held.held());

    auto next = read(*second);
    BOOST_TEST(!w.release(one.held));
    auto a = w.start_upgrade(next.held);
    auto b = w.start_upgrade(next.held);
    w.run_to([&] { return a.ec && b.ec; });
    BOOST_TEST(!*a.ec);
    BOOST_TEST((*b.ec == errc::invalid_argument));
}

BOOST_FIXTURE_TEST_CASE(upgrade_that_cannot_succeed_is_refused_without_requests, readers)
{
    auto alone = write(*locks);
    auto const asked = w[0].requests.size();
    BOOST_TEST((w.upgrade(alone.held) == errc::invalid_argument));
    BOOST_TEST((w.downgrade(alone.held) == errc::invalid_argument));
    BOOST_TEST(w[0].requests.size() == asked);
    BOOST_TEST(!w.release(alone.held));
    BOOST_TEST((w.upgrade(alone.held) == errc::not_held));
    BOOST_TEST((w.downgrade(alone.held) == errc::not_held));
    lock none;
    BOOST_TEST((w.upgrade(none) == errc::not_held));

    w[1].upgrades = false;
    auto const poor = w.manager();
    auto one = w.acquire(*poor, "other", {.mode = mode::shared});
    BOOST_TEST((w.upgrade(one.held) == errc::unsupported));
    BOOST_TEST((w.downgrade(one.held) == errc::unsupported));
    BOOST_TEST((one.held.mode() == mode::shared));
}

BOOST_FIXTURE_TEST_CASE(upgrade_without_a_majority_returns_no_quorum_and_may_be_repeated, readers)
{
    auto one = read(*locks, {.ttl = 20s});
    w.run_for(1ms);
    w[0].hung = w[1].hung = true;
    BOOST_TEST((w.upgrade(one.held) == errc::no_quorum));
    BOOST_TEST((one.held.mode() == mode::shared));
    BOOST_TEST(one.held.held());
    w[0].hung = w[1].hung = false;
    BOOST_TEST(!w.upgrade(one.held));
    BOOST_TEST((one.held.mode() == mode::exclusive));
}

BOOST_FIXTURE_TEST_CASE(downgrade_after_a_failed_upgrade_admits_readers, readers)
{
    auto one = read(*locks, {.ttl = 20s});
    w.run_for(1ms);
    w[0].mute = w[1].mute = true;
    BOOST_TEST((w.upgrade(one.held) == errc::no_quorum));
    w[0].mute = w[1].mute = false;
    BOOST_TEST((read(*second).ec == errc::contended));
    BOOST_TEST(!w.downgrade(one.held));
    BOOST_TEST(one.held.held());
    BOOST_TEST(read(*second).held.held());
}

BOOST_FIXTURE_TEST_CASE(upgrade_does_not_count_restarted_nodes, readers)
{
    auto one = read(*locks, {.ttl = 20s, .renew = renewal::automatic});
    w.run_for(1ms);
    for (std::size_t i = 0; i < 2; ++i) {
        w[i].restart();
        w[i].readers.clear();
        w[i].break_connections();
        w.run_for(10s);  // renewals set the reader again
    }
    BOOST_TEST(one.held.held());
    BOOST_TEST((w.upgrade(one.held) == errc::quarantined));
    BOOST_TEST((one.held.mode() == mode::shared));
}

BOOST_FIXTURE_TEST_CASE(upgrade_of_a_reader_that_a_majority_forgot_returns_lost, readers)
{
    auto one = read(*locks);
    w.run_for(1ms);
    for (std::size_t i = 0; i < 2; ++i)
        w[i].entries.clear();
    BOOST_TEST((w.upgrade(one.held) == errc::lost));
    BOOST_TEST(!one.held.held());
}

BOOST_FIXTURE_TEST_CASE(upgrade_with_too_short_a_promise_returns_validity_exhausted, readers)
{
    auto one = read(*locks, {.ttl = 10s});
    w.run_for(1ms);
    auto const until = one.held.valid_until();
    w.each([](auto& s) {
        s.session = 10ms;
        s.reply_delay = 7ms;
    });
    BOOST_TEST((w.upgrade(one.held) == errc::validity_exhausted));
    BOOST_TEST((one.held.mode() == mode::shared));
    BOOST_TEST((one.held.valid_until() == until));
}

BOOST_FIXTURE_TEST_CASE(upgrade_with_votes_after_the_loss_returns_lost, readers)
{
    auto const slow = w.manager({.node_timeout = 980ms});
    auto one = read(*slow, {.ttl = 1s});
    w.run_for(1ms);
    w.each([](auto& s) { s.reply_delay = 960ms; });
    BOOST_TEST((w.upgrade(one.held) == errc::lost));
    BOOST_TEST((one.held.mode() == mode::shared));
}

BOOST_FIXTURE_TEST_CASE(release_during_an_upgrade_leaves_no_keys, readers)
{
    for (auto const after : {0us, 50us, 150us, 250us}) {
        auto one = read(*locks);
        w.run_for(1ms);
        auto c = w.start_upgrade(one.held);
        w.run_for(after);
        BOOST_TEST(!w.release(one.held));
        c.end();
        BOOST_TEST(w.keys_after(10ms) == 0u);
        BOOST_TEST(c.calls == 1);
        BOOST_TEST(locks->stats().held == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(downgrade_during_an_upgrade_keeps_the_lock_shared, readers)
{
    for (auto const after : {0us, 50us, 150us}) {
        auto one = read(*locks);
        w.run_for(1ms);
        auto up = w.start_upgrade(one.held);
        w.run_for(after);
        auto down = w.start_downgrade(one.held);
        BOOST_TEST((one.held.mode() == mode::shared));
        w.run_to([&] { return up.ec && down.ec; });
        BOOST_TEST(up.ec->failed());
        BOOST_TEST(!*down.ec);
        BOOST_TEST((one.held.mode() == mode::shared));
        auto beside = read(*second);
        BOOST_TEST(beside.held.held());
        BOOST_TEST(!w.release(beside.held));
        w.release(one, 1ms);
    }
}

BOOST_FIXTURE_TEST_CASE(upgrade_with_partial_cancellation_is_aborted_and_stays_shared, readers)
{
    for (auto const after : {0us, 50us, 150us}) {
        auto one = read(*locks);
        w.run_for(1ms);
        w.each([](auto& s) { s.reply_delay = 30ms; });
        asio::cancellation_signal cancel;
        auto c = w.start_upgrade(one.held, 0ms, cancel.slot());
        w.run_for(after);
        cancel.emit(asio::cancellation_type::partial);
        w.run_for(1ms);
        BOOST_TEST((c.ec == asio::error::operation_aborted));
        BOOST_TEST((one.held.mode() == mode::shared));
        BOOST_TEST(one.held.held());
        w.each([](auto& s) { s.reply_delay = 100us; });
        w.run_for(50ms);
        BOOST_TEST(!w.release(one.held));
        BOOST_TEST(w.keys_after(1ms) == 0u);
        BOOST_TEST(c.calls == 1);
    }
}

BOOST_FIXTURE_TEST_CASE(upgrade_with_total_cancellation_in_flight_succeeds, readers)
{
    auto one = read(*locks);
    asio::cancellation_signal cancel;
    auto c = w.start_upgrade(one.held, 0ms, cancel.slot());
    w.run_for(50us);
    cancel.emit(asio::cancellation_type::total);
    BOOST_TEST(!c.end());
}

BOOST_FIXTURE_TEST_CASE(shutdown_lets_a_pending_upgrade_finish, readers)
{
    auto one = read(*locks);
    w.run_for(1ms);
    w.each([](auto& s) { s.reply_delay = 20ms; });
    auto up = w.start_upgrade(one.held);
    auto closed = w.start_shutdown(*locks);
    BOOST_TEST(!up.end());
    BOOST_TEST((one.held.mode() == mode::exclusive));
    BOOST_TEST(!w.downgrade(one.held));
    BOOST_TEST(!w.release(one.held));
    closed.end();
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

BOOST_FIXTURE_TEST_CASE(upgrade_returns_a_higher_fencing_token, fenced_readers)
{
    auto one = read(*locks);
    auto const as_reader = one.held.fencing_token();
    BOOST_TEST(!w.upgrade(one.held));
    auto const as_writer = one.held.fencing_token();
    BOOST_TEST(as_writer > as_reader);
    BOOST_TEST(!w.downgrade(one.held));
    BOOST_TEST(one.held.fencing_token() == as_writer);
    auto beside = read(*second);
    BOOST_TEST(beside.held.fencing_token() == as_writer);
    BOOST_TEST(!w.release(beside.held));
    BOOST_TEST(!w.release(one.held));
    BOOST_TEST(write(*second).held.fencing_token() > as_writer);
}

BOOST_FIXTURE_TEST_CASE(upgrade_with_counters_ahead_draws_a_token_above_them, fenced_readers)
{
    auto one = read(*locks);
    w.run_for(1ms);
    std::uint64_t const ahead = one.held.fencing_token() + 4'000'000'000;
    for (std::size_t i = 0; i < 3; ++i)
        w[i].counters["lock:stock"] = ahead + i;
    auto const rounds = locks->stats().second_rounds;
    BOOST_TEST(!w.upgrade(one.held));
    BOOST_TEST(one.held.fencing_token() > ahead);
    BOOST_TEST(locks->stats().second_rounds > rounds);
    w.run_for(1ms);
    BOOST_TEST(w.count([&](auto& s) { return s.counters["lock:stock"] >= one.held.fencing_token(); }) >= 2u);
}

BOOST_FIXTURE_TEST_CASE(upgrade_without_a_fencing_token_fails, fenced_readers)
{
    auto one = read(*locks);
    w.run_for(1ms);
    auto const number = one.held.fencing_token();
    w.each([](auto& s) { s.draws_tokens = false; });
    BOOST_TEST(w.upgrade(one.held).failed());
    BOOST_TEST((one.held.mode() == mode::shared));
    BOOST_TEST(one.held.fencing_token() == number);
}

// Upgrades that wait

namespace {

/// `one` waits for its upgrade, because another manager reads.
struct waiting_upgrade : readers {
    waiting_upgrade() { w.run_for(100ms); }

    asio::cancellation_signal cancel;
    lock_world::outcome one = may_upgrade(*locks, {.ttl = 30s, .renew = renewal::automatic});
    lock_world::outcome reader = read(*second, {.ttl = 20s, .renew = renewal::automatic});
    lock_world::call upgraded = w.start_upgrade(one.held, wait_forever, cancel.slot());
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_upgradeable_admits_readers_and_no_second_upgradeable, readers)
{
    auto reader = read(*second);
    auto one = may_upgrade(*locks);
    BOOST_TEST(one.held.held());
    BOOST_TEST((one.held.mode() == mode::upgradeable));
    BOOST_TEST(read(*third).held.held());
    BOOST_TEST((may_upgrade(*third).ec == errc::contended));
    BOOST_TEST((may_upgrade(*locks).ec == errc::contended));
    BOOST_TEST((write(*third).ec == errc::contended));
    BOOST_TEST(!w.release(one.held));
    BOOST_TEST(may_upgrade(*third).held.held());  // the release deletes the right first
}

BOOST_FIXTURE_TEST_CASE(upgrade_that_waits_is_notified_when_the_last_reader_releases, readers)
{
    for (auto* by : {second.get(), locks.get()}) {
        auto one = may_upgrade(*locks, {.ttl = 30s});
        auto reader = read(*by, {.ttl = 20s});
        auto c = w.start_upgrade(one.held, 1min);
        w.run_for(2s);
        BOOST_TEST(!c.ec.has_value());
        BOOST_TEST((one.held.mode() == mode::upgradeable));
        auto const asked = w[0].count(kind::upgrade);
        BOOST_TEST(!w.release(reader.held));
        auto const free = w.now;
        BOOST_TEST(!c.end());
        BOOST_TEST((w.now - free < 30ms));
        BOOST_TEST(asked <= 3u);  // the upgrade relies on notifications
        BOOST_TEST((one.held.mode() == mode::exclusive));
        w.release(one, 1ms);
        BOOST_TEST(w.keys("lock:stock") == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_does_not_pass_a_waiting_upgrade, waiting_upgrade)
{
    BOOST_TEST((read(*third).ec == errc::contended));
    // To the nodes, all acquisitions of a manager are one client, so the nodes alone would admit this reader.
    BOOST_TEST((read(*locks).ec == errc::contended));
    auto own = w.start(*locks, "stock", {.wait = 10min, .mode = mode::shared});
    auto other = w.start(*third, "stock", {.wait = 10min, .mode = mode::shared});
    BOOST_TEST(!w.done_after(2min, own));
    BOOST_TEST(!other.done);
    BOOST_TEST(!w.release(reader.held));
    BOOST_TEST(!upgraded.end());
    BOOST_TEST(!w.downgrade(one.held));
    BOOST_TEST(w.held_after(100ms, own));
    BOOST_TEST(other.held.held());
}

BOOST_FIXTURE_TEST_CASE(upgrade_that_waits_succeeds_after_the_ttl_of_a_crashed_reader, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 6s, .renew = renewal::automatic});
    auto dies = read(*second, {.ttl = 10s});
    auto const begun = w.now;
    BOOST_TEST(!w.upgrade(one.held, 1min));
    BOOST_TEST((w.now - begun > 9s));
    BOOST_TEST((w.now - begun < 13s));
}

BOOST_FIXTURE_TEST_CASE(upgrade_that_times_out_stays_upgradeable, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 30s});
    auto reader = read(*second, {.ttl = 30s});
    auto const begun = w.now;
    BOOST_TEST((w.upgrade(one.held, 2s) == errc::contended));
    BOOST_TEST((w.now - begun >= 2s));
    BOOST_TEST((w.now - begun < 2200ms));
    BOOST_TEST((one.held.mode() == mode::upgradeable));
    BOOST_TEST(one.held.held());
    // Readers of the same manager are admitted again.
    auto own = w.start(*locks, "stock", {.ttl = 5s, .wait = 1s, .mode = mode::shared});
    BOOST_TEST(w.held_after(100ms, own));
}

BOOST_FIXTURE_TEST_CASE(upgrade_with_a_wait_of_a_shared_lock_is_refused, readers)
{
    auto reader = read(*locks);
    for (auto const wait : {1ms, wait_forever}) {
        BOOST_TEST((w.upgrade(reader.held, wait) == errc::invalid_argument));
        auto const said = message_of(run(w, reader.held.async_upgrade(wait, asio::use_awaitable)).failure);
        BOOST_TEST(contains(said, "acquire the lock with mode::upgradeable, or do not wait"), said);
    }
    BOOST_TEST(w[0].count(kind::upgrade) == 0u);
    BOOST_TEST(!w.upgrade(reader.held));  // without a wait, it is tried once
    w.release(reader, 1ms);
    auto one = may_upgrade(*second);
    BOOST_TEST((w.upgrade(one.held, -1ms) == errc::invalid_argument));
    BOOST_TEST((w.acquire(*locks, {"a", "b"}, {.mode = mode::upgradeable}).ec == errc::invalid_argument));
    w[1].upgrades = false;
    auto const poor = w.manager();
    BOOST_TEST((may_upgrade(*poor).ec == errc::unsupported));
    BOOST_TEST(read(*poor).held.held());
}

BOOST_AUTO_TEST_CASE(upgrade_that_waits_is_cancelled_at_once)
{
    for (auto const type :
         {asio::cancellation_type::total, asio::cancellation_type::partial, asio::cancellation_type::terminal}) {
        waiting_upgrade f;
        f.cancel.emit(type);
        f.w.run_for(1us);
        BOOST_TEST((f.upgraded.ec == asio::error::operation_aborted));
        BOOST_TEST(f.one.held.held());
        BOOST_TEST(!f.w.release(f.reader.held));
        f.w.release(f.one, 1min);
        BOOST_TEST(f.upgraded.calls == 1);
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_upgradeable_cancelled_leaves_no_keys, readers)
{
    for (auto const after : {0us, 100us, 250us, 350us, 450us, 600us, 100'000us}) {
        auto writer = after > 1ms ? write(*second, {.ttl = 30s}) : lock_world::outcome();
        asio::cancellation_signal cancel;
        auto one = w.start(*locks, "stock", {.wait = 1min, .mode = mode::upgradeable}, cancel.slot());
        w.run_for(after);
        cancel.emit(asio::cancellation_type::terminal);
        w.end_of(one);
        BOOST_TEST(one.calls == 1);
        BOOST_TEST((one.ec == asio::error::operation_aborted || one.held.held()));
        one.held = {};
        w.drop(writer, 20ms);
        BOOST_TEST(may_upgrade(*third).held.held());
        w.run_for(20ms);
        BOOST_TEST(locks->stats().held == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(shutdown_aborts_an_upgrade_that_waits, waiting_upgrade)
{
    auto closed = w.start_shutdown(*locks);
    w.run_for(10ms);
    BOOST_TEST((upgraded.ec == asio::error::operation_aborted));
    BOOST_TEST(!w.release(one.held));
    closed.end();
    BOOST_TEST(may_upgrade(*third).held.held());
}

BOOST_FIXTURE_TEST_CASE(upgrade_that_waits_may_be_pending_when_the_context_ends, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 30s});
    auto reader = read(*second, {.ttl = 30s});
    one.held.async_upgrade(wait_forever, [](error_code) { BOOST_ERROR("called"); });
    w.run_for(1s);
}

BOOST_FIXTURE_TEST_CASE(extend_and_renewals_include_the_right_to_upgrade, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 5s});
    BOOST_TEST(!w.extend(one.held, 30s));
    w.run_for(15s);
    BOOST_TEST((may_upgrade(*second).ec == errc::contended));
    auto renewed = w.acquire(*locks, "other", {.ttl = 2s, .renew = renewal::automatic, .mode = mode::upgradeable});
    BOOST_TEST(w.held_after(1min, renewed));
    BOOST_TEST((w.acquire(*second, "other", {.mode = mode::upgradeable}).ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(downgrade_aborts_an_upgrade_that_waits, waiting_upgrade)
{
    BOOST_TEST(!w.downgrade(one.held));
    w.run_for(10ms);
    BOOST_TEST((upgraded.ec == asio::error::operation_aborted));
    BOOST_TEST(read(*third).held.held());
    w.release(reader, 10min);
    BOOST_TEST(w.held_by("lock:stock", one.held.token()) == 0u);
}

BOOST_FIXTURE_TEST_CASE(upgrade_returns_not_held_when_its_handle_ends, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 30s});
    auto joined = read(*locks, {.ttl = 10s});
    auto c = w.start_upgrade(one.held, wait_forever);
    w.run_for(1s);
    w.release(one, 1s);
    BOOST_TEST((c.ec == errc::not_held));
    BOOST_TEST((joined.held.mode() != mode::exclusive));
    BOOST_TEST(w.held_by("lock:stock", joined.held.token()) == 0u);

    auto plain = w.acquire(*third, "other", {.mode = mode::shared});
    w.run_for(1ms);
    w.each([](auto& s) { s.reply_delay = 20ms; });
    auto tried = w.start_upgrade(plain.held);
    w.run_for(5ms);
    auto beside = plain.held.share();
    BOOST_TEST(!w.release(plain.held));
    BOOST_TEST((tried.end() == errc::not_held));
    BOOST_TEST((beside.mode() == mode::shared));
    w.run_for(100ms);
    BOOST_TEST(w.acquire(*second, "other", {.mode = mode::shared}).held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_upgradeable_keeps_the_right_until_the_lock_is_granted, readers)
{
    auto writer = write(*second, {.ttl = 20s});
    auto one = w.start(*locks, "stock", {.ttl = 10s, .wait = 1min, .mode = mode::upgradeable});
    w.run_for(15s);
    auto two = w.start(*third, "stock", {.ttl = 10s, .wait = 1min, .mode = mode::upgradeable});
    BOOST_TEST(w.wins(one));
    BOOST_TEST(!w.done_after(5s, two));
    w.end_of(two);
    BOOST_TEST(!one.held.held());
    BOOST_TEST(two.held.held());
}

BOOST_FIXTURE_TEST_CASE(upgrade_that_waits_keeps_readers_of_its_manager_out, waiting_upgrade)
{
    BOOST_TEST((read(*locks, {.ttl = 10s, .wait = 1s}).ec == errc::contended));
    BOOST_TEST((read(*third).ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(release_ends_an_upgrade_that_waits_with_not_held, waiting_upgrade)
{
    w.release(one, 10ms);
    BOOST_TEST((upgraded.ec == errc::not_held));
    BOOST_TEST(read(*third).held.held());
}

BOOST_FIXTURE_TEST_CASE(upgrade_that_waits_notices_a_release_by_the_same_manager, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 30s});
    auto reader = read(*locks, {.ttl = 20s, .renew = renewal::automatic});
    auto c = w.start_upgrade(one.held, 1min);
    w.run_for(1s);
    BOOST_TEST(!c.ec.has_value());
    w.release(reader, 50ms);
    BOOST_TEST((c.ec == error_code()));
}

BOOST_FIXTURE_TEST_CASE(acquire_and_upgrade_that_time_out_let_other_managers_read, readers)
{
    auto one = read(*locks, {.ttl = 30s});
    BOOST_TEST((write(*locks, {.wait = 1s}).ec == errc::contended));
    w.run_for(10ms);
    BOOST_TEST(read(*second).held.held());

    auto up = w.acquire(*locks, "other", {.ttl = 30s, .mode = mode::upgradeable});
    auto reader = w.acquire(*second, "other", {.ttl = 30s, .renew = renewal::automatic, .mode = mode::shared});
    auto c = w.start_upgrade(up.held, 1s);
    auto writer = w.start(*locks, "other", {.wait = 2s});
    w.run_to([&] { return c.ec && writer.done; });
    w.run_for(10ms);
    BOOST_TEST(w.acquire(*third, "other", {.mode = mode::shared}).held.held());
}

// The reader behind the writer asks no node, because it joins `one`. So the manager itself must withdraw the wish.
BOOST_FIXTURE_TEST_CASE(acquire_that_gives_up_before_a_reader_lets_others_read, readers)
{
    auto one = read(*locks, {.ttl = 30s});
    auto writer = w.start(*locks, "stock", {.wait = 1s});
    auto joins = w.start(*locks, "stock", {.ttl = 10s, .wait = 1min, .mode = mode::shared});
    BOOST_TEST(!w.done_after(500ms, joins));
    w.end_of(writer);
    w.run_for(10ms);
    BOOST_TEST((writer.ec == errc::contended));
    BOOST_TEST(joins.held.held());
    BOOST_TEST(read(*second).held.held());
}

BOOST_FIXTURE_TEST_CASE(upgrade_that_gives_up_before_a_reader_lets_others_read, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 30s});
    auto other = read(*second, {.ttl = 30s});
    auto c = w.start_upgrade(one.held, 1s);
    w.run_for(10ms);
    auto joins = w.start(*locks, "stock", {.ttl = 10s, .wait = 1min, .mode = mode::shared});
    BOOST_TEST(!w.done_after(500ms, joins));
    c.end();
    BOOST_TEST(w.held_after(10ms, joins));
    BOOST_TEST(read(*third).held.held());
}

// Otherwise readers that join each other could starve the upgrade.
BOOST_FIXTURE_TEST_CASE(acquire_shared_beside_a_waiting_upgrade_joins_no_other_lock, readers)
{
    auto other = read(*locks, {.ttl = 30s});
    auto one = may_upgrade(*locks, {.ttl = 30s});
    BOOST_TEST_REQUIRE(one.held.token() != other.held.token());
    auto c = w.start_upgrade(one.held, 1min);
    w.run_for(10ms);
    BOOST_TEST((read(*locks).ec == errc::contended));
    auto waits = w.start(*locks, "stock", {.wait = 1min, .mode = mode::shared});
    BOOST_TEST(!w.done_after(1s, waits));
    w.release(other, 10ms);
    BOOST_TEST((c.ec == error_code()));
    w.release(one, 10ms);
    BOOST_TEST(waits.held.held());
}

BOOST_FIXTURE_TEST_CASE(upgrade_that_is_cancelled_before_a_writer_lets_nobody_read, waiting_upgrade)
{
    auto writer = w.start(*locks, "stock", {.wait = 2s});
    w.run_for(10ms);
    cancel.emit(asio::cancellation_type::terminal);
    w.run_for(10ms);
    BOOST_TEST((upgraded.ec == error_code(asio::error::operation_aborted)));
    BOOST_TEST((read(*third).ec == errc::contended));
    w.end_of(writer);
    w.run_for(10ms);
    BOOST_TEST(read(*third).held.held());
}

BOOST_FIXTURE_TEST_CASE(upgrade_that_waits_keeps_readers_out_when_a_writer_gives_up, waiting_upgrade)
{
    for (auto const& names : {resource_set("stock"), resource_set{"stock", "rope"}}) {
        auto writer = w.acquire(*locks, names, {.wait = 50ms});
        BOOST_TEST((writer.ec == errc::contended));
        w.run_for(10ms);
        BOOST_TEST((read(*third).ec == errc::contended));
    }
    asio::cancellation_signal stop;
    auto cancelled = w.start(*locks, "stock", {.wait = 1min}, stop.slot());
    w.run_for(1s);
    stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(w.done_after(10ms, cancelled));
    BOOST_TEST((read(*third).ec == errc::contended));
    w.release(reader, 10ms);
    BOOST_TEST((upgraded.ec == error_code()));
}

// The set withdraws its wish only for names that no other waiter of its manager wants.
BOOST_FIXTURE_TEST_CASE(acquire_set_that_gives_up_withdraws_each_name_by_itself, readers)
{
    auto reader = read(*second, {.ttl = 30s});
    auto other = w.acquire(*second, "tools", {.ttl = 30s, .mode = mode::shared});
    auto set = w.start(*locks, {"stock", "tools"}, {.wait = 1s});
    w.run_for(10ms);
    auto waits = w.start(*locks, "stock", {.wait = 1min});
    BOOST_TEST((w.acquire(*third, "tools", {.mode = mode::shared}).ec == errc::contended));
    w.end_of(set);
    w.run_for(10ms);
    BOOST_TEST(w.acquire(*third, "tools", {.mode = mode::shared}).held.held());
    BOOST_TEST((read(*third).ec == errc::contended));
    w.release(reader, 10ms);
    BOOST_TEST(waits.held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_does_not_join_what_cannot_be_upgraded_again, readers)
{
    auto one = read(*locks, {.ttl = 30s});
    BOOST_TEST(!w.upgrade(one.held));
    BOOST_TEST(!w.downgrade(one.held));
    auto two = read(*locks, {.ttl = 30s});
    BOOST_TEST(two.held.held());
    BOOST_TEST(two.held.token() != one.held.token());
    auto const joined = read(*locks, {.ttl = 30s});  // `two` was never upgraded
    BOOST_TEST(joined.held.token() == two.held.token());
    BOOST_TEST(locks->stats().joined == 1u);
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_does_not_join_what_was_resumed, readers)
{
    auto left = read(*second, {.ttl = 30s});
    lock resumed;
    locks->async_resume(left.held.detach(), {.ttl = 30s}, [&](error_code, lock l) { resumed = std::move(l); });
    w.run_to([&] { return resumed.held(); });
    auto one = read(*locks, {.ttl = 30s});
    BOOST_TEST(one.held.token() != resumed.token());
    resumed = {};
    w.run_for(10ms);
    BOOST_TEST(!w.upgrade(one.held));
}

BOOST_FIXTURE_TEST_CASE(renewal_undoes_an_upgrade_that_arrives_after_a_downgrade, readers)
{
    auto one = read(*locks, {.ttl = 20s, .renew = renewal::automatic});
    w.run_for(10ms);
    w.each([](auto& s) { s.request_delay = 2s; });
    BOOST_TEST((w.upgrade(one.held) == errc::no_quorum));
    w.each([](auto& s) {
        s.break_connections();
        s.request_delay = 100us;
    });
    BOOST_TEST(!w.downgrade(one.held));
    w.run_for(1min);
    BOOST_TEST(w.held_by("lock:stock", one.held.token()) == 0u);
    BOOST_TEST(read(*second).held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_upgradeable_succeeds_after_the_previous_holder_lost_it, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 5s, .renew = renewal::automatic});
    w.run_for(1ms);
    w.each([](auto& s) { s.entries["lock:stock"] = {"foreign", s.entries["lock:stock"].expires}; });
    BOOST_TEST(!w.held_after(10s, one));
    BOOST_TEST(may_upgrade(*third).held.held());
}

BOOST_FIXTURE_TEST_CASE(upgrade_with_a_wait_after_shutdown_completes_at_once, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 30s});
    auto reader = read(*second, {.ttl = 30s});
    auto closed = w.start_shutdown(*locks);
    w.run_for(1ms);
    auto c = w.start_upgrade(one.held, wait_forever);
    w.run_for(10ms);
    BOOST_TEST(c.ec.has_value());
    BOOST_TEST(!w.release(one.held));
    closed.end();
}

BOOST_FIXTURE_TEST_CASE(acquire_upgradeable_that_waits_follows_the_upgraded_holder, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 30s});
    auto next = w.start(*second, "stock", {.wait = 1min, .mode = mode::upgradeable});
    BOOST_TEST(!w.done_after(1s, next));
    BOOST_TEST(!w.upgrade(one.held));
    w.run_for(1s);
    BOOST_TEST(!w.release(one.held));
    BOOST_TEST(w.wins(next));
    BOOST_TEST((next.held.mode() == mode::upgradeable));
}

// The name of the internal lock for the right to an upgrade must not be shown.
BOOST_FIXTURE_TEST_CASE(acquire_upgradeable_in_vain_names_the_users_resource, readers)
{
    auto const holder = w.acquire(*second, "stock", {.ttl = 10s, .mode = mode::upgradeable});

    auto const at_once = w.acquire(*locks, "stock", {.ttl = 10s, .mode = mode::upgradeable});
    auto const waited = w.acquire(*locks, "stock", {.ttl = 10s, .wait = 100ms, .mode = mode::upgradeable});

    for (auto const* o : {&at_once, &waited}) {
        BOOST_TEST((o->ec == errc::contended));
        BOOST_TEST((o->report.outcome == errc::contended));
        BOOST_TEST(o->report.message.find(":=") == std::string::npos, o->report.message);
        BOOST_TEST(o->report.message.find("the right to upgrade \"stock\"") != std::string::npos, o->report.message);
    }
    BOOST_TEST((waited.report.elapsed >= 100ms));
}

BOOST_FIXTURE_TEST_CASE(acquire_upgradeable_reports_both_of_its_acquisitions, readers)
{
    auto const writer = write(*second, {.ttl = 1s});
    auto const begun = w.now;

    auto const won = w.acquire(*locks, "stock", {.ttl = 10s, .wait = 10s, .mode = mode::upgradeable});

    BOOST_TEST(!won.ec);
    BOOST_TEST(won.report.message == "acquired");
    BOOST_TEST((won.report.elapsed == std::chrono::duration_cast<std::chrono::microseconds>(won.when - begun)));
    BOOST_TEST(won.report.rounds >= 3u);  // one for the right, and a denied and a won one for the lock
}

BOOST_FIXTURE_TEST_CASE(upgrade_with_a_wait_out_of_range_names_the_limit, readers)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s, .mode = mode::upgradeable});
    for (auto const wait : {-1ms, std::chrono::milliseconds::max() - 1ms}) {
        auto const said = message_of(run(w, won.held.async_upgrade(wait, asio::use_awaitable)).failure);
        BOOST_TEST(contains(said, "wait is " + std::to_string(wait.count()) + " ms, but must be 0 to 3155760000000 ms"),
                   said);
    }
    BOOST_TEST(won.held.held());
}

BOOST_AUTO_TEST_SUITE_END()
