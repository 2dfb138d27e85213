// Who shares a lock has it alone for a while, and shares it again.

#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(upgrading)

namespace {

struct fenced_readers : readers {
    fenced_readers() : readers({.fencing = true}) {}
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(the_only_reader_has_it_alone_then, readers)
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

BOOST_FIXTURE_TEST_CASE(as_long_as_others_read_it_stays_shared, readers)
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

BOOST_FIXTURE_TEST_CASE(two_that_want_it_at_the_same_moment_are_both_refused_or_one_has_it, readers)
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

BOOST_FIXTURE_TEST_CASE(who_has_joined_is_another_reader, readers)
{
    auto one = read(*locks), joined = read(*locks);
    BOOST_TEST(joined.held.token() == one.held.token());
    auto const asked = w[0].requests.size();

    BOOST_TEST((w.upgrade(one.held) == errc::contended));

    BOOST_TEST(w[0].requests.size() == asked);
    BOOST_TEST(!w.release(joined.held));
    BOOST_TEST(!w.upgrade(one.held));
}

BOOST_FIXTURE_TEST_CASE(nobody_joins_one_that_is_being_upgraded, readers)
{
    auto one = read(*locks);
    auto c = w.start_upgrade(one.held);
    auto beside = read(*locks);
    BOOST_TEST(c.ec.has_value());
    BOOST_TEST((beside.held.held() && one.held.mode() == mode::exclusive) == false);
    BOOST_TEST(locks->stats().joined == 0u);
}

BOOST_FIXTURE_TEST_CASE(its_validity_counts_from_the_start_of_the_upgrade, readers)
{
    auto one = read(*locks, {.ttl = 10s});
    w.run_for(4s);
    auto const before = w.now;
    BOOST_TEST(!w.upgrade(one.held));
    BOOST_TEST((one.held.valid_until() == before + 10s - 102ms));
    BOOST_TEST(w.keys_after(9s) == 3u);
}

BOOST_FIXTURE_TEST_CASE(it_is_not_valid_for_less_than_it_was, readers)
{
    auto one = read(*locks, {.ttl = 2s});
    BOOST_TEST(!w.extend(one.held, 20s));
    auto const before = one.held.valid_until();
    BOOST_TEST(!w.upgrade(one.held));
    BOOST_TEST((one.held.valid_until() >= before - 210ms));  // the drift of what is left, again
    BOOST_TEST(w.held_after(15s, one));
    BOOST_TEST((read(*second).ec == errc::contended));
}

// What a reader was granted says nothing of a writer: the votes may be from nodes where it reads.
BOOST_FIXTURE_TEST_CASE(an_extension_that_an_upgrade_overtakes_is_asked_again, readers)
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

BOOST_FIXTURE_TEST_CASE(what_a_reader_was_granted_meanwhile_is_not_the_writers, readers)
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

BOOST_FIXTURE_TEST_CASE(an_extension_is_not_asked_again_of_a_lock_that_was_released, readers)
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

BOOST_FIXTURE_TEST_CASE(renewals_keep_it_alone, readers)
{
    auto one = read(*locks, {.ttl = 2s, .renew = renewal::automatic});
    BOOST_TEST(!w.upgrade(one.held));
    w[2].entries.clear();
    w[2].readers.clear();
    BOOST_TEST(w.held_after(10min, one));
    BOOST_TEST(w.held_by("lock:stock", one.held.token()) == 3u);  // set again where it was forgotten, not as a reader
    BOOST_TEST((read(*second).ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(who_is_a_reader_on_a_majority_again_has_lost_it, readers)
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

BOOST_FIXTURE_TEST_CASE(after_a_downgrade_others_read_too_and_nobody_writes_in_between, readers)
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
    BOOST_TEST(w.held_after(30s, one));  // renewed as one of several
    BOOST_TEST(!w.release(one.held));
    BOOST_TEST(!w.release(reader.held));
    BOOST_TEST(w.wins(writer));
}

BOOST_FIXTURE_TEST_CASE(a_reader_of_the_same_manager_comes_when_it_is_shared_again, readers)
{
    auto one = read(*locks, {.ttl = 30s});
    BOOST_TEST(!w.upgrade(one.held));
    auto waits = w.start(*locks, "stock", {.ttl = 10s, .wait = 20s, .mode = mode::shared});
    BOOST_TEST(!w.done_after(5s, waits));
    BOOST_TEST(!w.downgrade(one.held));
    BOOST_TEST(w.held_after(10ms, waits));
    BOOST_TEST(waits.held.token() != one.held.token());  // which cannot be upgraded again
}

BOOST_FIXTURE_TEST_CASE(it_is_upgraded_once, readers)
{
    auto one = read(*locks);
    BOOST_TEST(!w.upgrade(one.held));
    BOOST_TEST((w.upgrade(one.held) == errc::invalid_argument));
    BOOST_TEST((one.held.mode() == mode::exclusive));
    BOOST_TEST(!w.downgrade(one.held));
    BOOST_TEST((w.upgrade(one.held) == errc::invalid_argument));
    BOOST_TEST(!w.downgrade(one.held));  // it is so already
    BOOST_TEST(one.held.held());

    auto next = read(*second);
    BOOST_TEST(!w.release(one.held));
    auto a = w.start_upgrade(next.held);
    auto b = w.start_upgrade(next.held);
    w.run_to([&] { return a.ec && b.ec; });
    BOOST_TEST(!*a.ec);
    BOOST_TEST((*b.ec == errc::invalid_argument));
}

BOOST_FIXTURE_TEST_CASE(what_cannot_be_upgraded_is_refused_before_anything_is_sent, readers)
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

BOOST_FIXTURE_TEST_CASE(without_a_majority_it_stays_shared_and_may_be_tried_again, readers)
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

BOOST_FIXTURE_TEST_CASE(an_upgrade_that_fails_may_be_taken_back, readers)
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

BOOST_FIXTURE_TEST_CASE(a_node_that_may_have_forgotten_a_reader_does_not_count, readers)
{
    auto one = read(*locks, {.ttl = 20s, .renew = renewal::automatic});
    w.run_for(1ms);
    for (std::size_t i = 0; i < 2; ++i) {
        w[i].restart();
        w[i].readers.clear();
        w[i].break_connections();
        w.run_for(10s);  // renewed, and entered again
    }
    BOOST_TEST(one.held.held());
    BOOST_TEST((w.upgrade(one.held) == errc::quarantined));
    BOOST_TEST((one.held.mode() == mode::shared));
}

BOOST_FIXTURE_TEST_CASE(who_is_not_known_any_more_has_lost_the_lock, readers)
{
    auto one = read(*locks);
    w.run_for(1ms);
    for (std::size_t i = 0; i < 2; ++i)
        w[i].entries.clear();
    BOOST_TEST((w.upgrade(one.held) == errc::lost));
    BOOST_TEST(!one.held.held());
}

BOOST_FIXTURE_TEST_CASE(what_would_be_over_at_once_is_no_upgrade, readers)
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

BOOST_FIXTURE_TEST_CASE(votes_that_come_when_the_reader_was_lost_do_not_count, readers)
{
    auto const slow = w.manager({.node_timeout = 980ms});
    auto one = read(*slow, {.ttl = 1s});
    w.run_for(1ms);
    w.each([](auto& s) { s.reply_delay = 960ms; });
    BOOST_TEST((w.upgrade(one.held) == errc::lost));
    BOOST_TEST((one.held.mode() == mode::shared));
}

BOOST_FIXTURE_TEST_CASE(a_release_that_overtakes_an_upgrade_leaves_nothing_behind, readers)
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

BOOST_FIXTURE_TEST_CASE(a_downgrade_that_overtakes_an_upgrade_wins, readers)
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

BOOST_FIXTURE_TEST_CASE(who_cancels_is_told_at_once_and_keeps_it_shared, readers)
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

BOOST_FIXTURE_TEST_CASE(a_total_cancellation_comes_too_late_for_it, readers)
{
    auto one = read(*locks);
    asio::cancellation_signal cancel;
    auto c = w.start_upgrade(one.held, 0ms, cancel.slot());
    w.run_for(50us);
    cancel.emit(asio::cancellation_type::total);
    BOOST_TEST(!c.end());
}

BOOST_FIXTURE_TEST_CASE(a_shutdown_lets_it_end, readers)
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

BOOST_FIXTURE_TEST_CASE(who_has_it_alone_has_a_higher_number, fenced_readers)
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

BOOST_FIXTURE_TEST_CASE(counters_that_are_ahead_are_counted_on_from, fenced_readers)
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

BOOST_FIXTURE_TEST_CASE(without_a_number_there_is_no_upgrade, fenced_readers)
{
    auto one = read(*locks);
    w.run_for(1ms);
    auto const number = one.held.fencing_token();
    w.each([](auto& s) { s.draws_tokens = false; });
    BOOST_TEST(w.upgrade(one.held).failed());
    BOOST_TEST((one.held.mode() == mode::shared));
    BOOST_TEST(one.held.fencing_token() == number);
}

// Who may wait to be alone

namespace {

/// One waits to be alone, because another manager reads.
struct waiting_upgrade : readers {
    waiting_upgrade() { w.run_for(100ms); }

    asio::cancellation_signal cancel;
    lock_world::outcome one = may_upgrade(*locks, {.ttl = 30s, .renew = renewal::automatic});
    lock_world::outcome reader = read(*second, {.ttl = 20s, .renew = renewal::automatic});
    lock_world::call upgraded = w.start_upgrade(one.held, wait_forever, cancel.slot());
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(one_at_a_time_may_wait_to_be_alone_beside_any_number_of_readers, readers)
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
    BOOST_TEST(may_upgrade(*third).held.held());  // at once: the right goes first
}

BOOST_FIXTURE_TEST_CASE(who_waits_to_be_alone_is_told_when_the_last_reader_goes, readers)
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
        BOOST_TEST(asked <= 3u);  // it does not poll
        BOOST_TEST((one.held.mode() == mode::exclusive));
        w.release(one, 1ms);
        BOOST_TEST(w.keys("lock:stock") == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(nobody_comes_to_read_before_one_who_waits_to_be_alone, waiting_upgrade)
{
    BOOST_TEST((read(*third).ec == errc::contended));
    BOOST_TEST((read(*locks).ec == errc::contended));  // to the nodes all of a manager are one: they would let it in
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

BOOST_FIXTURE_TEST_CASE(a_reader_that_dies_keeps_an_upgrade_waiting_until_its_ttl_is_over, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 6s, .renew = renewal::automatic});
    auto dies = read(*second, {.ttl = 10s});
    auto const begun = w.now;
    BOOST_TEST(!w.upgrade(one.held, 1min));
    BOOST_TEST((w.now - begun > 9s));
    BOOST_TEST((w.now - begun < 13s));
}

BOOST_FIXTURE_TEST_CASE(who_has_waited_long_enough_is_a_reader_still, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 30s});
    auto reader = read(*second, {.ttl = 30s});
    auto const begun = w.now;
    BOOST_TEST((w.upgrade(one.held, 2s) == errc::contended));
    BOOST_TEST((w.now - begun >= 2s));
    BOOST_TEST((w.now - begun < 2200ms));
    BOOST_TEST((one.held.mode() == mode::upgradeable));
    BOOST_TEST(one.held.held());
    auto own = w.start(*locks, "stock", {.ttl = 5s, .wait = 1s, .mode = mode::shared});  // its own manager's may read
                                                                                         // again
    BOOST_TEST(w.held_after(100ms, own));
}

BOOST_FIXTURE_TEST_CASE(who_may_not_be_upgraded_does_not_wait_for_it, readers)
{
    auto reader = read(*locks);
    BOOST_TEST((w.upgrade(reader.held, 1s) == errc::invalid_argument));
    auto one = may_upgrade(*second);
    BOOST_TEST((w.upgrade(one.held, -1ms) == errc::invalid_argument));
    BOOST_TEST((w.acquire(*locks, {"a", "b"}, {.mode = mode::upgradeable}).ec == errc::invalid_argument));
    w[1].upgrades = false;
    auto const poor = w.manager();
    BOOST_TEST((may_upgrade(*poor).ec == errc::unsupported));
    BOOST_TEST(read(*poor).held.held());
}

BOOST_AUTO_TEST_CASE(a_wait_to_be_alone_is_cancelled_at_once)
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

BOOST_FIXTURE_TEST_CASE(an_acquisition_that_is_cancelled_leaves_neither_lock_nor_right, readers)
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

BOOST_FIXTURE_TEST_CASE(a_shutdown_ends_the_wait_to_be_alone, waiting_upgrade)
{
    auto closed = w.start_shutdown(*locks);
    w.run_for(10ms);
    BOOST_TEST((upgraded.ec == asio::error::operation_aborted));
    BOOST_TEST(!w.release(one.held));
    closed.end();
    BOOST_TEST(may_upgrade(*third).held.held());
}

BOOST_FIXTURE_TEST_CASE(the_end_of_the_world_ends_a_wait_to_be_alone_without_a_word, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 30s});
    auto reader = read(*second, {.ttl = 30s});
    one.held.async_upgrade(wait_forever, [](error_code) { BOOST_ERROR("called"); });
    w.run_for(1s);
}

BOOST_FIXTURE_TEST_CASE(the_right_is_extended_with_the_lock, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 5s});
    BOOST_TEST(!w.extend(one.held, 30s));
    w.run_for(15s);
    BOOST_TEST((may_upgrade(*second).ec == errc::contended));
    auto renewed = w.acquire(*locks, "other", {.ttl = 2s, .renew = renewal::automatic, .mode = mode::upgradeable});
    BOOST_TEST(w.held_after(1min, renewed));
    BOOST_TEST((w.acquire(*second, "other", {.mode = mode::upgradeable}).ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(a_downgrade_ends_the_wait_to_be_alone, waiting_upgrade)
{
    BOOST_TEST(!w.downgrade(one.held));
    w.run_for(10ms);
    BOOST_TEST((upgraded.ec == asio::error::operation_aborted));
    BOOST_TEST(read(*third).held.held());
    w.release(reader, 10min);
    BOOST_TEST(w.held_by("lock:stock", one.held.token()) == 0u);
}

BOOST_FIXTURE_TEST_CASE(an_upgrade_ends_with_its_handle, readers)
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

BOOST_FIXTURE_TEST_CASE(the_right_lasts_until_the_lock_begins, readers)
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

BOOST_FIXTURE_TEST_CASE(readers_of_its_manager_do_not_pass_it_when_their_wait_is_over, waiting_upgrade)
{
    BOOST_TEST((read(*locks, {.ttl = 10s, .wait = 1s}).ec == errc::contended));
    BOOST_TEST((read(*third).ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(a_release_ends_the_wait_to_be_alone, waiting_upgrade)
{
    w.release(one, 10ms);
    BOOST_TEST((upgraded.ec == errc::not_held));
    BOOST_TEST(read(*third).held.held());
}

BOOST_FIXTURE_TEST_CASE(another_lock_of_the_same_manager_that_goes_is_noticed, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 30s});
    auto reader = read(*locks, {.ttl = 20s, .renew = renewal::automatic});
    auto c = w.start_upgrade(one.held, 1min);
    w.run_for(1s);
    BOOST_TEST(!c.ec.has_value());
    w.release(reader, 50ms);
    BOOST_TEST((c.ec == error_code()));
}

BOOST_FIXTURE_TEST_CASE(who_gives_up_behind_a_reader_of_its_manager_keeps_no_reader_out, readers)
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

// The one that waits behind it wants to read only, and asks no node: it joins the other.
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

// Otherwise readers that join each other keep it waiting.
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

// Of its names it withdraws its wish for those that nobody of its manager wants any more.
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
    auto const joined = read(*locks, {.ttl = 30s});  // the second one is as it was acquired
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

BOOST_FIXTURE_TEST_CASE(an_upgrade_that_comes_after_the_downgrade_is_taken_back_by_a_renewal, readers)
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

BOOST_FIXTURE_TEST_CASE(what_was_lost_has_no_right_any_more, readers)
{
    auto one = may_upgrade(*locks, {.ttl = 5s, .renew = renewal::automatic});
    w.run_for(1ms);
    w.each([](auto& s) { s.entries["lock:stock"] = {"foreign", s.entries["lock:stock"].expires}; });
    BOOST_TEST(!w.held_after(10s, one));
    BOOST_TEST(may_upgrade(*third).held.held());
}

BOOST_FIXTURE_TEST_CASE(an_upgrade_is_not_waited_for_when_the_manager_stops, readers)
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

BOOST_FIXTURE_TEST_CASE(who_waits_for_the_right_is_next, readers)
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
    BOOST_TEST(won.report.rounds >= 3u);  // one for the right, one that was denied, and one that has won
}

// The outcome of the first of two acquisitions is not the outcome of the call.
BOOST_FIXTURE_TEST_CASE(acquire_upgradeable_writes_its_report_once, readers)
{
    auto const writer = write(*second, {.ttl = 10s});
    lock_world::outcome o;
    o.report.message = "not written yet";
    w.start_acquire(o, *locks, "stock", {.ttl = 10s, .wait = 1s, .mode = mode::upgradeable, .report = &o.report});

    w.run_for(500ms);
    BOOST_TEST(o.report.message == "not written yet");
    BOOST_TEST(w.done_after(1s, o));
    BOOST_TEST((o.report.outcome == errc::contended));
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
