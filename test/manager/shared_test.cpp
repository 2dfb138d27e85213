// Locks that are shared: any number of readers, or one writer.

#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(shared_locks)

namespace {

struct readers_and_writers : readers {
    using readers::readers;

    std::size_t readers_on(std::size_t server = 0) { return w[server].readers["lock:stock"].size(); }
};

struct fenced_readers_and_writers : readers_and_writers {
    fenced_readers_and_writers() : readers_and_writers({.fencing = true}) {}
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_shared_by_several_readers_succeeds, readers_and_writers)
{
    auto one = read(*locks), two = read(*second), again = read(*second);
    for (auto const* r : {&one, &two, &again}) {
        BOOST_TEST(r->held.held());
        BOOST_TEST((r->held.mode() == mode::shared));
        BOOST_TEST(r->held.resource() == "stock");
    }
    BOOST_TEST(one.held.token() != two.held.token());
    w.run_for(1ms);
    BOOST_TEST(readers_on() == 2u);
    BOOST_TEST(locks->stats().held == 1u);
    BOOST_TEST((lock().mode() == mode::exclusive));
}

BOOST_FIXTURE_TEST_CASE(acquire_exclusive_succeeds_after_the_last_reader_releases, readers_and_writers)
{
    auto one = read(*locks), two = read(*second);
    BOOST_TEST((write(*third).ec == errc::contended));
    BOOST_TEST(!w.release(one.held));
    BOOST_TEST((write(*third).ec == errc::contended));
    BOOST_TEST(two.held.held());
    w.release(two, 1ms);
    BOOST_TEST(w.keys("lock:stock") == 0u);
    auto const alone = write(*third);
    BOOST_TEST(alone.held.held());
    BOOST_TEST((alone.held.mode() == mode::exclusive));
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_while_a_writer_holds_is_contended, readers_and_writers)
{
    auto alone = write(*locks);
    BOOST_TEST((read(*second).ec == errc::contended));
    BOOST_TEST((read(*locks).ec == errc::contended));
    BOOST_TEST(!w.release(alone.held));
    BOOST_TEST(read(*second).held.held());
}

BOOST_FIXTURE_TEST_CASE(release_of_one_reader_keeps_the_ttl_of_the_others, readers_and_writers)
{
    auto one = read(*locks, {.ttl = 10s}), two = read(*second, {.ttl = 2s});
    w.release(two, 5s);
    BOOST_TEST(one.held.held());
    BOOST_TEST((write(*third).ec == errc::contended));
    BOOST_TEST(w.keys("lock:stock") == 3u);
}

BOOST_FIXTURE_TEST_CASE(acquire_exclusive_after_the_ttl_of_a_crashed_reader_succeeds, readers_and_writers)
{
    auto dies = read(*locks, {.ttl = 2s});
    auto stays = read(*second, {.ttl = 20s});
    BOOST_TEST(!w.held_after(3s, dies));
    BOOST_TEST(!w.release(stays.held));
    BOOST_TEST(write(*third).held.held());
}

BOOST_FIXTURE_TEST_CASE(renewal_of_one_reader_does_not_renew_the_others, readers_and_writers)
{
    auto one = read(*locks, {.ttl = 2s, .renew = renewal::automatic});
    auto two = read(*second, {.ttl = 5s, .renew = renewal::automatic});
    auto brief = read(*third, {.ttl = 1s});
    BOOST_TEST(w.held_after(10min, one));
    BOOST_TEST(two.held.held());
    BOOST_TEST(!brief.held.held());
    BOOST_TEST(readers_on() == 2u);
    BOOST_TEST((write(*third).ec == errc::contended));
    BOOST_TEST(!w.release(one.held));
    BOOST_TEST(!w.release(two.held));
    BOOST_TEST(write(*third).held.held());
}

BOOST_FIXTURE_TEST_CASE(extend_of_a_reader_does_not_shorten_the_ttl_of_others, readers_and_writers)
{
    auto longer = read(*locks, {.ttl = 30s});
    auto shorter = read(*second, {.ttl = 1s});
    BOOST_TEST(!w.extend(shorter.held, 2s));
    BOOST_TEST(w.held_after(10s, longer));
    BOOST_TEST((write(*third).ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(extend_of_a_reader_that_a_majority_forgot_returns_lost, readers_and_writers)
{
    auto one = read(*locks, {.ttl = 10s});
    w.run_for(1ms);
    w[0].entries.clear();
    w[1].readers["lock:stock"].clear();
    BOOST_TEST((w.extend(one.held, 10s) == errc::lost));
    BOOST_TEST((w.release(one.held) == errc::not_held));
}

BOOST_FIXTURE_TEST_CASE(renewal_of_a_reader_heals_a_node_that_forgot_it, readers_and_writers)
{
    auto one = read(*locks, {.ttl = 2s, .renew = renewal::automatic});
    w.run_for(1ms);
    w[0].entries.clear();
    BOOST_TEST(w.held_after(5s, one));
    BOOST_TEST(w.keys("lock:stock") == 3u);
    BOOST_TEST(readers_on() == 1u);
    BOOST_TEST(locks->stats().healed == 1u);
    BOOST_TEST(!w.release(one.held));
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_does_not_count_restarted_nodes, readers_and_writers)
{
    auto alone = write(*locks, {.ttl = 10s});
    w.run_for(1ms);
    w[0].restart();
    w[1].restart();
    auto const early = read(*second);
    BOOST_TEST((early.ec == errc::quarantined || early.ec == errc::contended));
    BOOST_TEST(!early.held.held());
    BOOST_TEST(alone.held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_that_fails_leaves_no_reader_on_the_nodes, readers_and_writers)
{
    w[0].entries["lock:stock"] = w[1].entries["lock:stock"] = {"foreign", w.now + 1h};
    BOOST_TEST((read(*locks).ec == errc::contended));
    w.run_for(1ms);
    BOOST_TEST(w[2].find("lock:stock") == nullptr);
    BOOST_TEST(readers_on(2) == 0u);
}

// Readers of one manager join: they share one entry on the nodes.

BOOST_FIXTURE_TEST_CASE(acquire_shared_joins_a_reader_of_its_manager_without_requests, readers_and_writers)
{
    auto one = read(*locks);
    auto const asked = w[0].requests.size();
    auto two = read(*locks), three = read(*locks, {.wait = 1s});
    BOOST_TEST(w[0].requests.size() == asked);
    BOOST_TEST(two.held.token() == one.held.token());
    BOOST_TEST((three.held.valid_until() == one.held.valid_until()));
    BOOST_TEST(two.report.rounds == 0u);
    BOOST_TEST(locks->stats().joined == 2u);
    BOOST_TEST(locks->stats().acquired == 1u);
    BOOST_TEST(!w.release(one.held));
    w.release(three, 1ms);
    BOOST_TEST(two.held.held());
    BOOST_TEST(readers_on() == 1u);
    BOOST_TEST(!w.release(two.held));
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_joins_a_lock_16_times, connected_to<3>)
{
    auto manager = w.manager();
    std::deque<lock_world::outcome> readers;
    for (int i = 0; i < 2 * 16 + 3; ++i)
        readers.push_back(w.acquire(*manager, "stock", {.mode = mode::shared}));
    BOOST_TEST(manager->stats().acquired == 3u);  // 16 readers join each of the first two
    BOOST_TEST(manager->stats().joined == 2 * 16);
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_by_all_waiting_readers_joins_the_first, connected_to<3>)
{
    auto manager = w.manager();
    auto alone = w.acquire(*manager, "stock");
    auto readers = w.start_many(9, *manager, "stock", {.wait = 1min, .mode = mode::shared});
    w.run_for(1s);
    w.release(alone, 1s);
    BOOST_TEST(manager->stats().joined == 8u);
    for (int i = 0; i < 17; ++i)
        readers.push_back(w.acquire(*manager, "stock", {.mode = mode::shared}));
    BOOST_TEST(manager->stats().joined == 8u + 16u);  // later readers are limited as before
    for (auto const& r : readers)
        BOOST_TEST(r.held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_that_needs_more_validity_does_not_join, readers_and_writers)
{
    auto one = read(*locks, {.ttl = 3s});
    BOOST_TEST(read(*locks, {.ttl = 10s}).held.token() != one.held.token());
    auto again = read(*second, {.ttl = 3s});
    w.run_for(2s);
    BOOST_TEST(read(*second, {.ttl = 3s}).held.token() != again.held.token());
    auto kept = read(*third, {.ttl = 3s});
    auto renewed = read(*third, {.ttl = 3s, .renew = renewal::automatic}),
         too = read(*third, {.ttl = 3s, .renew = renewal::automatic});
    BOOST_TEST(renewed.held.token() != kept.held.token());
    BOOST_TEST(renewed.held.token() == too.held.token());
    BOOST_TEST(third->stats().joined == 1u);  // only `too` has joined
    BOOST_TEST(read(*third, {.ttl = 3s, .max_hold = 1s}).held.held());
    BOOST_TEST(third->stats().joined == 1u);
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_joins_any_reader_with_enough_validity, readers_and_writers)
{
    auto one = read(*locks, {.ttl = 10s});
    auto renewed = read(*locks, {.ttl = 10s, .renew = renewal::automatic});
    auto long_one = read(*locks, {.ttl = 30s});
    BOOST_TEST(locks->stats().joined == 0u);
    std::vector<lock> joined;
    joined.push_back(read(*locks, {.ttl = 10s, .renew = renewal::automatic}).held);
    joined.push_back(read(*locks, {.ttl = 10s}).held);
    BOOST_TEST(joined.front().token() == renewed.held.token());
    BOOST_TEST(locks->stats().joined == 2u);

    // A writer waits until all readers have released, and sends no requests meanwhile.
    joined.clear();
    w.drop(long_one, 1ms);
    auto writer = w.start(*locks, "stock", {.wait = 1min});
    auto const asked = w[0].count(kind::acquire);
    w.drop(one, 1s);
    BOOST_TEST(w[0].count(kind::acquire) == asked);
    w.drop(renewed, 1ms);
    BOOST_TEST(writer.held.held());
}

// Several readers wait for a writer, and are then admitted one after the other. Meanwhile the next writer begins to
// wait. Only the reply to the last reader reports this writer.
BOOST_FIXTURE_TEST_CASE(acquire_shared_joins_no_earlier_reader_while_a_writer_waits, readers_and_writers)
{
    w.acquire(*second, "warm-up");
    auto alone = write(*third, {.ttl = 30s});
    auto early = w.start(*locks, "stock", {.ttl = 10s, .wait = 1min, .mode = mode::shared});
    auto longer = w.start(*locks, "stock", {.ttl = 30s, .wait = 1min, .mode = mode::shared});
    auto longest = w.start(*locks, "stock", {.ttl = 60s, .wait = 1min, .mode = mode::shared});
    auto last = w.start(*locks, "stock", {.ttl = 10s, .wait = 1min, .renew = renewal::automatic, .mode = mode::shared});
    w.run_for(1s);
    alone.held = {};
    w.end_of(early);
    auto writer = start(*second, mode::exclusive);
    BOOST_TEST(w.wins(last));
    w.run_for(1ms);
    BOOST_TEST((read(*locks, {.ttl = 10s}).ec == errc::contended));
    BOOST_TEST(locks->stats().joined == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_does_not_join_a_reader_admitted_before_a_writer, readers_and_writers)
{
    auto alone = write(*third, {.ttl = 30s});
    auto reader = start(*locks, mode::shared);
    w.run_for(100ms);
    auto writer = start(*second, mode::exclusive);
    w.run_for(1s);
    BOOST_TEST(!w.release(alone.held));
    w.end_of(reader);
    if (!writer.done) {
        auto const next = read(*locks, {.wait = 0ms});
        BOOST_TEST((next.ec == errc::contended));
    }
    BOOST_TEST(locks->stats().joined == 0u);
}

// A shutdown goes on with renewals only for handles of running bodies.

BOOST_FIXTURE_TEST_CASE(shutdown_ends_renewals_after_a_joined_body_has_ended, readers_and_writers)
{
    auto plain = read(*locks, {.ttl = 3s, .renew = renewal::automatic});
    bool ran = false;
    auto const body = [&](lock& l) -> asio::awaitable<void> {
        ran = l.token() == plain.held.token();
        co_return;
    };
    spawned joins(w, locks->with_lock("stock", {.ttl = 3s, .renew = renewal::automatic, .mode = mode::shared}, body));
    w.run_for(10s);
    BOOST_TEST(ran);
    BOOST_TEST(plain.held.held());
    auto stopped = w.start_shutdown(*locks);
    w.run_for(4s);
    BOOST_TEST(stopped.ec.has_value());
    BOOST_TEST(!plain.held.held());
}

BOOST_FIXTURE_TEST_CASE(shutdown_renews_a_joined_body_that_still_runs, readers_and_writers)
{
    auto plain = read(*locks, {.ttl = 3s, .renew = renewal::automatic});
    auto const body = [&](lock&) { return uncancellable_work(w, 20s); };
    spawned joins(w, locks->with_lock("stock", {.ttl = 3s, .renew = renewal::automatic, .mode = mode::shared}, body));
    w.run_for(1s);
    plain.held = {};
    locks->async_shutdown([](error_code) {});
    BOOST_TEST(!w.done_after(15s, joins));
    BOOST_TEST((write(*second).ec == errc::contended));
    BOOST_TEST(w.done_after(10s, joins));
    BOOST_TEST(write(*second).held.held());
}

// After the first writer, all readers are admitted together, before or after the next writer.
BOOST_FIXTURE_TEST_CASE(acquire_shared_by_waiting_readers_of_one_manager_is_one_round, readers_and_writers)
{
    auto alone = write(*third, {.ttl = 30s});
    auto readers = w.start_many(5, *locks, "stock", {.wait = 1min, .mode = mode::shared});
    w.run_for(1s);
    auto writer = start(*second, mode::exclusive);
    w.run_for(1s);
    w.release(alone, 1s);
    auto const done =
        static_cast<std::size_t>(std::count_if(readers.begin(), readers.end(), [](auto& r) { return r.done; }));
    BOOST_TEST((writer.done ? done == 0 : done == readers.size()), done);
    if (writer.done) {
        w.release(writer, 1s);
        BOOST_TEST(std::all_of(readers.begin(), readers.end(), [](auto& r) { return r.held.held(); }));
    }
    BOOST_TEST(locks->stats().joined == readers.size() - 1);
}

// New readers do not pass a waiting writer, so writers do not starve. The next writer does not pass readers that came
// while the first one held the lock, so readers do not starve.

BOOST_FIXTURE_TEST_CASE(acquire_shared_does_not_pass_a_waiting_writer, readers_and_writers)
{
    auto const fourth = w.manager();
    using managers = std::array<lock_manager*, 3>;
    for (auto [of_writer, of_late, of_another] :
         {managers{second.get(), third.get(), fourth.get()}, managers{locks.get(), locks.get(), locks.get()}}) {
        auto reader = read(*locks, {.ttl = 30s});
        auto writer = start(*of_writer, mode::exclusive);
        w.run_for(100ms);
        auto late = start(*of_late, mode::shared);
        BOOST_TEST(!w.done_after(5s, writer));
        BOOST_TEST(!late.done);
        BOOST_TEST((read(*of_another).ec == errc::contended));

        w.release(reader, 500ms);
        BOOST_TEST(writer.held.held());
        BOOST_TEST(!late.done);
        w.release(writer, 500ms);
        BOOST_TEST(late.held.held());
        w.release(late, 10ms);
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_that_passes_writers_is_granted_beside_a_waiting_one, readers_and_writers)
{
    auto outer = read(*locks, {.ttl = 30s});
    auto writer = start(*second, mode::exclusive);
    w.run_for(100ms);

    auto nested = read(*third, {.ttl = 30s, .passes_writers = true});
    BOOST_TEST(nested.held.held());
    BOOST_TEST(!writer.done);
    BOOST_TEST(!w.release(nested.held));
    w.release(outer, 1s);
    BOOST_TEST(writer.held.held());
    BOOST_TEST((read(*third, {.passes_writers = true}).ec == errc::contended));  // a reader never passes the holder
}

// The right to upgrade is an exclusive lock of its own. `passes_writers` applies only to the reader's lock.
BOOST_FIXTURE_TEST_CASE(acquire_upgradeable_that_passes_writers_is_granted_once, readers_and_writers)
{
    auto outer = read(*locks, {.ttl = 30s});
    auto writer = start(*second, mode::exclusive);
    w.run_for(100ms);

    auto nested = w.acquire(*third, "stock", {.ttl = 30s, .mode = mode::upgradeable, .passes_writers = true});
    BOOST_TEST(nested.held.held());
    BOOST_TEST(!writer.done);
    auto const fourth = w.manager();
    BOOST_TEST(
        (w.acquire(*fourth, "stock", {.mode = mode::upgradeable, .passes_writers = true}).ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_and_exclusive_behind_a_writer_both_succeed, readers_and_writers)
{
    auto first = write(*locks, {.ttl = 30s});
    auto reader = start(*second, mode::shared);
    w.run_for(100ms);
    auto next = start(*third, mode::exclusive);
    w.run_for(1s);
    w.release(first, 1s);
    // Either may be the first, and the other one follows.
    BOOST_TEST((reader.done || next.done));
    auto& winner = reader.done ? reader : next;
    w.release(winner, 1s);
    BOOST_TEST(reader.done);
    BOOST_TEST(next.done);
}

// Within one manager the queue decides, in phases. First all waiting readers are admitted together. Then all writers
// that wait by then are admitted, one after the other.

namespace {

struct waiting_in_one_manager : connected_to<3> {
    lock_world::outcome first = w.acquire(*locks, "stock", {.ttl = 50s});
    std::deque<lock_world::outcome> all;

    lock_world::outcome& wait_for(mode m, asio::cancellation_slot slot = {})
    {
        auto& o = all.emplace_back();
        w.start_acquire(o, *locks, "stock", {.ttl = 50s, .wait = 1min, .mode = m}, slot);
        w.run_for(10ms);
        return o;
    }
    lock_world::outcome& reader(asio::cancellation_slot slot = {}) { return wait_for(mode::shared, slot); }
    lock_world::outcome& writer(asio::cancellation_slot slot = {}) { return wait_for(mode::exclusive, slot); }

    void leave(lock_world::outcome& o) { w.release(o, 10ms); }

    /// Numbers of the calls that hold the lock now.
    std::vector<std::size_t> inside() const
    {
        std::vector<std::size_t> those;
        for (std::size_t i = 0; i < all.size(); ++i)
            if (all[i].held.held())
                those.push_back(i);
        return those;
    }
};

using numbers = std::vector<std::size_t>;

}  // namespace

BOOST_FIXTURE_TEST_CASE(phases_of_one_manager_are_all_readers_then_all_writers, waiting_in_one_manager)
{
    for (auto m : {mode::shared, mode::exclusive, mode::shared, mode::exclusive, mode::shared})
        wait_for(m);
    BOOST_TEST(inside() == numbers());
    leave(first);
    BOOST_TEST(inside() == numbers({0, 2, 4}), boost::test_tools::per_element());
    leave(all[2]);
    leave(all[0]);
    BOOST_TEST(inside() == numbers({4}), boost::test_tools::per_element());
    leave(all[4]);
    BOOST_TEST(inside() == numbers({1}), boost::test_tools::per_element());
    leave(all[1]);
    BOOST_TEST(inside() == numbers({3}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(phases_admit_only_waiters_that_came_before_they_began, waiting_in_one_manager)
{
    auto& w1 = writer();
    auto& r1 = reader();
    auto& w2 = writer();
    leave(first);
    BOOST_TEST(w1.held.held());
    auto& w3 = writer();
    auto& r2 = reader();
    leave(w1);
    BOOST_TEST(w2.held.held());  // it waited already when the phase of the writers began
    leave(w2);
    BOOST_TEST((r1.held.held() && r2.held.held()));
    BOOST_TEST(!w3.done);
    auto& r3 = reader();
    auto& w4 = writer();
    leave(r1);
    BOOST_TEST(!r3.done);
    leave(r2);
    BOOST_TEST(w3.held.held());
    leave(w3);
    BOOST_TEST(w4.held.held());
    BOOST_TEST(!r3.done);
    leave(w4);
    BOOST_TEST(r3.held.held());
}

BOOST_FIXTURE_TEST_CASE(phases_continue_after_a_waiter_is_cancelled, waiting_in_one_manager)
{
    asio::cancellation_signal writers, readers;
    auto& w1 = writer();
    auto& r1 = reader(readers.slot());
    auto& w2 = writer(writers.slot());
    auto& r2 = reader();
    auto& w3 = writer();
    leave(first);
    BOOST_TEST(w1.held.held());
    writers.emit(asio::cancellation_type::terminal);  // w2 is the next of its phase
    w.run_for(10ms);
    BOOST_TEST((w2.ec == asio::error::operation_aborted));
    leave(w1);
    BOOST_TEST(w3.held.held());
    readers.emit(asio::cancellation_type::terminal);  // r1 is the first of the next phase
    w.run_for(10ms);
    BOOST_TEST((r1.ec == asio::error::operation_aborted));
    leave(w3);
    BOOST_TEST(r2.held.held());
}

BOOST_FIXTURE_TEST_CASE(phases_admit_all_readers_after_the_last_writer_is_cancelled, waiting_in_one_manager)
{
    asio::cancellation_signal last;
    auto& r0 = reader();
    auto& w1 = writer(last.slot());
    auto& r1 = reader();
    leave(first);
    BOOST_TEST((r0.held.held() && r1.held.held()));
    auto& r2 = reader();
    auto& r3 = reader();
    BOOST_TEST(!r2.done);
    last.emit(asio::cancellation_type::terminal);
    w.run_for(10ms);
    BOOST_TEST((w1.ec == asio::error::operation_aborted));
    BOOST_TEST((r2.held.held() && r3.held.held()));
}

// Sets keep their order among each other in all queues, so no two of them wait for each other.
BOOST_FIXTURE_TEST_CASE(phases_keep_the_order_of_sets, waiting_in_one_manager)
{
    auto other = w.acquire(*locks, "tea", {.ttl = 50s});
    auto& r1 = reader();
    auto both = w.start(*locks, {"stock", "tea"}, {.ttl = 50s, .wait = 1min});
    auto& w1 = writer();
    auto tea = w.start(*locks, "tea", {.ttl = 50s, .wait = 1min});
    auto again = w.start(*locks, {"stock", "tea"}, {.ttl = 50s, .wait = 1min});
    auto& r2 = reader();
    leave(first);
    BOOST_TEST((r1.held.held() && r2.held.held()));
    leave(r1);
    leave(r2);
    BOOST_TEST((!both.done && w1.held.held()));  // a single lock passes a set that waits for "tea"
    leave(w1);
    leave(other);
    BOOST_TEST(both.held.held());
    leave(both);
    BOOST_TEST((tea.held.held() && !again.done));
    leave(tea);
    BOOST_TEST(again.held.held());
}

// While another manager waits, `max_handovers` limits the hand-overs in a phase, too.
BOOST_AUTO_TEST_CASE(max_handovers_limits_writers_before_a_reader_of_another_manager)
{
    lock_world w{3};
    auto const many = w.connected({.max_handovers = 2}), one = w.connected();
    auto alone = w.acquire(*many, "stock", {.ttl = 50s, .wait = 1s});
    auto reader = w.start(*one, "stock", {.ttl = 50s, .wait = 1min, .mode = mode::shared});
    auto writers = w.start_many(8, *many, "stock", {.ttl = 50s, .wait = 1min});
    w.run_for(100ms);
    BOOST_TEST(!w.release(alone.held));
    std::size_t before = 0;
    for (; !reader.done && before < writers.size(); ++before) {
        w.run_to([&] { return reader.done || writers[before].done; });
        if (writers[before].done) {
            w.run_for(1ms);
            BOOST_TEST(!w.release(writers[before].held));
        }
    }
    BOOST_TEST(reader.done);
    BOOST_TEST(before <= 4u);
}

BOOST_FIXTURE_TEST_CASE(readers_and_writers_of_eight_managers_do_not_starve, manager_of<3>)
{
    struct regular {
        mode how;
        std::unique_ptr<lock_manager> by;
        clock::duration longest{};
        int times = 0;
    };
    std::deque<regular> all;
    auto const end = w.now + 60s;
    for (int i = 0; i < 8; ++i) {
        all.push_back({i < 6 ? mode::shared : mode::exclusive, w.manager()});
        auto& r = all.back();
        visits const v{"stock", 10ms, 1ms, {.ttl = 2s, .wait = wait_forever, .mode = r.how}};
        acquire_repeatedly(w, *r.by, v, [&, end](auto waited) {
            r.longest = std::max(r.longest, waited);
            ++r.times;
            return w.now < end;
        });
    }
    w.run_until(end);
    for (auto const& r : all) {
        BOOST_TEST_CONTEXT((r.how == mode::shared ? "reader" : "writer")) {
            BOOST_TEST(r.times > 300);
            BOOST_TEST((r.longest < 1s), r.longest / 1ms);
        }
    }
    w.run_for(10s);
}

namespace {

/// 64 clients that acquire again after each release. The share of readers is given in percent.
struct crowd : connected_to<3> {
    static constexpr auto hold = 1ms;

    int cycles = 0;
    clock::duration longest_read{}, longest_write{};
    std::deque<lock> held{64};
    std::minstd_rand random{1};

    void come(std::size_t client, int reads)
    {
        bool const shares = static_cast<int>(random() % 100) < reads;
        auto& longest = shares ? longest_read : longest_write;
        auto const take = [=, this, &longest, asked = w.now](error_code ec, lock l) {
            if (ec)
                return;
            longest = std::max<clock::duration>(longest, w.now - asked);
            held[client] = std::move(l);
            w.at(w.now + hold, [=, this] {
                held[client].async_release([=, this](error_code) {
                    ++cycles;
                    come(client, reads);
                });
            });
        };
        locks->async_acquire("stock", {.wait = wait_forever, .mode = shares ? mode::shared : mode::exclusive}, take);
    }

    int cycles_in(clock::duration d, int reads)
    {
        for (std::size_t i = 0; i < held.size(); ++i)
            come(i, reads);
        w.run_for(d);
        return cycles;
    }
};

}  // namespace

// Rejected: phases of one writer, and the order of the calls. They reach 9 times the exclusive rate, and double the
// longest wait.
BOOST_FIXTURE_TEST_CASE(phases_with_95_percent_readers_have_12_times_the_exclusive_rate, crowd)
{
    auto const one_after_the_other = 2s / (hold + 200us);
    BOOST_TEST(cycles_in(2s, 95) > 12 * one_after_the_other);
    BOOST_TEST((longest_read < 22 * hold), longest_read / 1us);
    BOOST_TEST((longest_write < 22 * hold), longest_write / 1us);
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_waits_a_bounded_time_for_a_crashed_writer, readers_and_writers)
{
    auto reader = read(*locks, {.ttl = 2s});
    auto writer = start(*second, mode::exclusive);
    w.run_for(100ms);
    for (auto& s : w.servers)
        BOOST_TEST_REQUIRE(s->wanted.contains("lock:stock"));
    // The writer crashes, so its wish stays on the nodes.
    auto const wishes = w[0].wanted["lock:stock"];
    second.reset();
    w.run_for(1ms);
    for (auto& s : w.servers)
        s->wanted["lock:stock"] = wishes;
    auto late = start(*third, mode::shared);
    auto const began = w.now;
    BOOST_TEST(w.wins(late));
    BOOST_TEST((w.now - began < 4s));
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_succeeds_after_a_waiting_writer_gives_up, readers_and_writers)
{
    auto reader = read(*locks, {.ttl = 30s});
    asio::cancellation_signal cancel;
    auto gives_up = w.start(*second, "stock", {.wait = 1s});
    auto is_cancelled = w.start(*second, "stock", {.wait = 1min}, cancel.slot());
    w.run_for(500ms);
    BOOST_TEST((read(*third).ec == errc::contended));
    w.run_for(1s);
    BOOST_TEST((gives_up.ec == errc::contended));
    BOOST_TEST((read(*third).ec == errc::contended));  // the other writer still waits
    cancel.emit(asio::cancellation_type::total);
    w.run_for(10ms);
    BOOST_TEST(read(*third).held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_is_notified_when_the_wish_of_a_writer_ends, readers_and_writers)
{
    auto reader = read(*locks, {.ttl = 1min});
    auto writer = start(*second, mode::exclusive);
    w.run_for(100ms);
    auto late = start(*third, mode::shared);
    BOOST_TEST(!w.done_after(1s, late));
    second.reset();
    w.run_for(1s);
    for (auto& s : w.servers) {
        s->wanted.erase("lock:stock");
        s->tell(core::wanted_key("lock:stock"));
    }
    BOOST_TEST(w.held_after(100ms, late));
    BOOST_TEST(reader.held.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_denied_by_a_writer_reports_the_remaining_ttl, readers_and_writers)
{
    auto alone = write(*locks, {.ttl = 10s});
    auto const denied = read(*second, {.wait = 100ms});
    BOOST_TEST((denied.ec == errc::contended));
    BOOST_TEST((denied.report.remaining > 9s));
    BOOST_TEST((denied.report.remaining <= 10s));
}

BOOST_FIXTURE_TEST_CASE(inspect_of_a_shared_lock_reports_mode_shared, readers_and_writers)
{
    auto one = read(*locks), two = read(*second);
    w.run_for(1ms);
    std::optional<lock_info> info;
    third->async_inspect("stock", [&](error_code ec, lock_info i) {
        BOOST_TEST(!ec);
        info = std::move(i);
    });
    w.run_to([&] { return info.has_value(); });
    BOOST_TEST(info->locked);
    BOOST_TEST((info->mode == mode::shared));
    BOOST_TEST(info->owner == "");
    BOOST_TEST((info->nodes[0].mode == mode::shared));
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_with_a_node_without_readers_returns_unsupported, connected_to<3>)
{
    w[1].shares = false;
    auto const manager = w.manager();
    auto const asked = w[0].requests.size();
    auto const refused = w.acquire(*manager, "stock", {.mode = mode::shared});
    BOOST_TEST((refused.ec == errc::unsupported));
    BOOST_TEST(refused.report.message.find("server-1 cannot share locks") != std::string::npos, refused.report.message);
    BOOST_TEST(w[0].requests.size() == asked);
    BOOST_TEST(w.acquire(*manager, "stock").held.held());
    BOOST_TEST((w.acquire(*locks, {"a", "b"}, {.mode = mode::shared}).ec == errc::invalid_argument));
}

// Fencing tokens of readers: not below those of earlier writers, and below those of later writers.

BOOST_FIXTURE_TEST_CASE(fencing_token_of_readers_is_that_of_the_previous_writer, fenced_readers_and_writers)
{
    auto before = write(*locks);
    auto const first = before.held.fencing_token();
    BOOST_TEST(!w.release(before.held));
    auto one = read(*second), two = read(*third);
    BOOST_TEST(one.held.fencing_token() == first);
    BOOST_TEST(two.held.fencing_token() == first);
    BOOST_TEST(!w.release(one.held));
    BOOST_TEST(!w.release(two.held));
    auto const after = write(*third);
    BOOST_TEST(after.held.fencing_token() > first);
}

BOOST_FIXTURE_TEST_CASE(fencing_token_of_a_reader_before_any_writer_is_positive, fenced_readers_and_writers)
{
    auto reader = read(*locks);
    auto const number = reader.held.fencing_token();
    BOOST_TEST(number >= 1u);
    BOOST_TEST(!w.release(reader.held));
    BOOST_TEST(write(*second).held.fencing_token() > number);
}

BOOST_FIXTURE_TEST_CASE(fencing_token_of_a_reader_with_different_counters_raises_them, fenced_readers_and_writers)
{
    w[0].counters["lock:stock"] = 7;
    w[1].counters["lock:stock"] = 5;
    w[2].reachable = false;
    auto const reader = read(*locks);
    auto const number = reader.held.fencing_token();
    BOOST_TEST(number >= 7u);
    BOOST_TEST(w[0].counters["lock:stock"] == number);
    BOOST_TEST(w[1].counters["lock:stock"] == number);
    BOOST_TEST(reader.report.second_rounds == 1u);
}

BOOST_AUTO_TEST_SUITE_END()
