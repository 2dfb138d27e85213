// Each test makes ten thousand calls of one kind while the same manager renews a lock. The manager must not lose that
// lock. Computation takes virtual time here.

#include "support/manager_test.hpp"

#include <redlock/elect.hpp>

#include <cstddef>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(crowds)

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t crowd = 2'000;  // 10,000 would take minutes
#else
constexpr std::size_t crowd = 10'000;
#endif

std::string name(std::size_t i)
{
    auto const digits = std::to_string(i);
    return "of-crowd-" + std::string(5 - digits.size(), '0') + digits;
}

/// Two managers. The first renews a lock.
struct guarded : and_another<connected_to<3>> {
    guarded()
    {
        w.acquire(*other, "warm-up");
        guard = w.acquire(*locks, "guard", {.ttl = 600ms, .renew = renewal::automatic}).held;
        guard.async_wait_lost([this](error_code ec) { lost = ec == errc::lost; });
        w.run_for(1ms);
        w.computing_takes_time = true;
    }

    ~guarded()
    {
        BOOST_TEST(!lost);
        BOOST_TEST(guard.held());
        w.computing_takes_time = false;
    }

    lock held_by_another(resource_set names, acquire_options options = {.ttl = 60s})
    {
        auto won = w.acquire(*other, std::move(names), options);
        BOOST_TEST(!won.ec);
        return std::move(won.held);
    }

    /// Returns a handler that keeps the lock.
    auto keep_lock()
    {
        return [this](error_code ec, lock l) {
            ++done;
            won += ec ? 0 : 1;
            all.push_back(std::move(l));
        };
    }

    /// Returns a handler that only counts. An acquired lock is released at once.
    auto count_call()
    {
        return [this](auto const& failure, auto&&...) {
            ++done;
            won += failure ? 0 : 1;
        };
    }

    void run_to_all()
    {
        BOOST_TEST(w.run_to([this] { return done == crowd; }));
    }

    /// Calls @p f for each index, all at once.
    template <class F>
    void each(F f)
    {
        for (std::size_t i = 0; i < crowd; ++i)
            f(i);
    }

    /// Calls @p f for each index. All calls must succeed.
    template <class F>
    void each_wins(F f)
    {
        each(f);
        run_to_all();
        BOOST_TEST(won == crowd);
        done = won = 0;
    }

    /// Calls @p f for each index while another manager holds @p names. All calls must succeed after the release.
    template <class F>
    void each_wins_after_another(resource_set names, F f, acquire_options options = {.ttl = 60s})
    {
        auto first = held_by_another(std::move(names), options);
        each(f);
        first = {};
        run_to_all();
        BOOST_TEST(won == crowd);
    }

    /// Acquires and keeps a lock for each index.
    void acquire_all(redlock::mode m)
    {
        each_wins([&](std::size_t i) { locks->async_acquire(name(i), {.ttl = 60s, .mode = m}, keep_lock()); });
    }

    /// Acquires "stock" shared for each index. Readers with a max_hold do not join a lock, so each has its own.
    void read_all()
    {
        acquire_options const how{.ttl = 60s, .max_hold = 10min, .mode = mode::shared};
        each_wins([&](std::size_t) { locks->async_acquire("stock", how, keep_lock()); });
    }

    /// Releases all locks in reverse order.
    void give_back_all()
    {
        each([this](std::size_t) { all.pop_back(); });
    }

    std::deque<lock_ticket> detach_all()
    {
        std::deque<lock_ticket> tickets;
        for (auto& l : all)
            tickets.push_back(l.detach());
        all.clear();
        return tickets;
    }

    acquire_options const waits{.ttl = 60s, .wait = 10min};
    acquire_options const waits_to_read{.ttl = 60s, .wait = 10min, .mode = mode::shared};
    lock guard;
    bool lost = false;
    std::size_t done = 0;
    std::size_t won = 0;
    std::deque<lock> all;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_of_ten_thousand_in_one_scope_keeps_other_locks, guarded)
{
    lock_scope const scope(*locks);

    for (std::size_t i = 0; i < crowd; ++i)
        scope.async_acquire(name(i), {.ttl = 60s}, keep_lock());
    run_to_all();

    BOOST_TEST(won == crowd);
    give_back_all();
    w.run_for(1s);
}

BOOST_FIXTURE_TEST_CASE(acquire_of_a_name_ten_thousand_times_in_a_scope_keeps_other_locks, guarded)
{
    lock_scope const scope(*locks);

    each_wins_after_another("stock", [&](std::size_t) { scope.async_acquire("stock", waits, keep_lock()); });
}

BOOST_FIXTURE_TEST_CASE(acquire_in_ten_thousand_scopes_that_hold_keeps_other_locks, guarded)
{
    auto first = held_by_another("stock");
    std::deque<lock_scope> scopes;
    each_wins([&](std::size_t i) { scopes.emplace_back(*locks).async_acquire(name(i), {.ttl = 60s}, keep_lock()); });
    bool had_set = false;
    locks->async_acquire({"of-crowd", "stock"}, waits, [&](error_code ec, lock) { had_set = !ec; });
    w.run_for(1ms);

    each([&](std::size_t i) { scopes[i].async_acquire("stock", waits, count_call()); });
    first = {};
    run_to_all();

    BOOST_TEST(won == crowd);
    BOOST_TEST(w.run_to([&] { return had_set; }));
}

BOOST_FIXTURE_TEST_CASE(acquire_by_ten_thousand_readers_that_join_keeps_other_locks, guarded)
{
    each_wins_after_another("stock", [&](std::size_t) { locks->async_acquire("stock", waits_to_read, keep_lock()); });

    BOOST_TEST(locks->stats().joined == crowd - 1);
    give_back_all();
    w.run_for(1s);
}

BOOST_FIXTURE_TEST_CASE(acquire_by_ten_thousand_readers_with_own_locks_keeps_other_locks, guarded)
{
    read_all();
    bool writer = false;
    locks->async_acquire("stock", waits, [&](error_code ec, lock) { writer = !ec; });
    w.run_for(1ms);

    give_back_all();
    BOOST_TEST(w.run_to([&] { return writer; }));
}

BOOST_FIXTURE_TEST_CASE(acquire_by_readers_and_writers_in_turns_keeps_other_locks, guarded)
{
    each_wins_after_another("stock", [&](std::size_t i) {
        locks->async_acquire("stock", i % 2 == 0 ? waits_to_read : waits, count_call());
    });
}

BOOST_FIXTURE_TEST_CASE(acquire_without_wait_beside_ten_thousand_readers_keeps_other_locks, guarded)
{
    auto first = held_by_another("stock");
    each([&](std::size_t) { locks->async_acquire("stock", waits_to_read, keep_lock()); });
    std::size_t tried = 0;

    each([&](std::size_t) {
        locks->async_acquire("stock", {.ttl = 60s, .mode = mode::shared}, [&](error_code, lock) { ++tried; });
    });
    BOOST_TEST(w.run_to([&] { return tried == crowd; }));
    first = {};
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(wait_lost_by_ten_thousand_handles_keeps_other_locks, guarded)
{
    lock const one = w.acquire(*locks, "stock", {.ttl = 60s}).held;

    each([&](std::size_t) {
        all.push_back(one.share());
        all.back().async_wait_lost(count_call());
    });
    give_back_all();
    run_to_all();

    BOOST_TEST(one.held());
}

BOOST_FIXTURE_TEST_CASE(wait_lost_by_ten_thousand_waits_of_one_handle_keeps_other_locks, guarded)
{
    lock one = w.acquire(*locks, "stock", {.ttl = 60s}).held;
    lock const another = one.share();
    std::deque<asio::cancellation_signal> signals;

    each([&](std::size_t) {
        one.async_wait_lost(asio::bind_cancellation_slot(signals.emplace_back().slot(), count_call()));
    });
    for (std::size_t i = 0; i < crowd; i += 2)
        signals[i].emit(asio::cancellation_type::terminal);
    w.run_for(1ms);
    BOOST_TEST(done == crowd / 2);
    one = {};
    run_to_all();

    BOOST_TEST(another.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_any_by_ten_thousand_keeps_other_locks, guarded)
{
    auto const pool = slots("pool", 8);

    each_wins_after_another(pool, [&](std::size_t) { locks->async_acquire_any(pool, waits, count_call()); });
}

BOOST_FIXTURE_TEST_CASE(acquire_of_ten_thousand_sets_keeps_other_locks, guarded)
{
    each_wins_after_another("stock", [&](std::size_t i) {
        locks->async_acquire({name(i), "stock"}, waits, count_call());
    });
}

BOOST_FIXTURE_TEST_CASE(acquire_of_one_name_by_ten_thousand_keeps_other_locks, guarded)
{
    each_wins_after_another("stock", [&](std::size_t) { locks->async_acquire("stock", waits, count_call()); });
}

BOOST_FIXTURE_TEST_CASE(acquire_of_one_name_cancelled_ten_thousand_times_keeps_other_locks, guarded)
{
    auto const first = held_by_another("stock");
    std::deque<asio::cancellation_signal> signals;

    each([&](std::size_t) {
        locks->async_acquire("stock", waits, asio::bind_cancellation_slot(signals.emplace_back().slot(), count_call()));
    });
    each([&](std::size_t i) { signals[i].emit(asio::cancellation_type::terminal); });
    run_to_all();

    BOOST_TEST(won == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_of_one_name_in_vain_ten_thousand_times_keeps_other_locks, guarded)
{
    auto const first = held_by_another("stock");

    each([&](std::size_t) { locks->async_acquire("stock", {.ttl = 60s, .wait = 1s}, count_call()); });
    run_to_all();

    BOOST_TEST(won == 0u);
}

BOOST_FIXTURE_TEST_CASE(elect_with_ten_thousand_candidates_keeps_other_locks, guarded)
{
    auto const lead = [](lock&) -> asio::awaitable<elected> { co_return elected::done; };
    auto const tell = [](election_event) {};

    each_wins_after_another("leader", [&](std::size_t) {
        asio::co_spawn(w.context, elect(*locks, "leader", {.observe = tell}, lead), count_call());
    });
}

BOOST_FIXTURE_TEST_CASE(resume_of_ten_thousand_tickets_keeps_other_locks, guarded)
{
    acquire_all(mode::exclusive);
    auto const tickets = detach_all();

    each_wins([&](std::size_t i) { locks->async_resume(tickets[i], {.ttl = 60s}, keep_lock()); });
}

BOOST_FIXTURE_TEST_CASE(upgrade_by_ten_thousand_readers_of_one_name_keeps_other_locks, guarded)
{
    read_all();

    each([&](std::size_t i) { all[i].async_upgrade(count_call()); });
    run_to_all();
}

BOOST_FIXTURE_TEST_CASE(upgrade_of_ten_thousand_names_that_waits_keeps_other_locks, guarded)
{
    lock_scope const scope(*other);
    std::deque<lock> readers;
    each([&](std::size_t i) {
        auto const keep = [&](error_code, lock l) { readers.push_back(std::move(l)); };
        scope.async_acquire(name(i), {.ttl = 60s, .mode = mode::shared}, keep);
    });
    BOOST_TEST(w.run_to([&] { return readers.size() == crowd; }));
    acquire_all(mode::upgradeable);

    each([&](std::size_t i) { all[i].async_upgrade(10min, count_call()); });
    each([&](std::size_t) { readers.pop_front(); });
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(acquire_upgradeable_by_ten_thousand_keeps_other_locks, guarded)
{
    acquire_options const how{.ttl = 60s, .wait = 10min, .mode = mode::upgradeable};

    each_wins_after_another(
        "stock", [&](std::size_t) { locks->async_acquire("stock", how, count_call()); }, how);
}

BOOST_FIXTURE_TEST_CASE(extend_and_release_of_ten_thousand_locks_keeps_other_locks, guarded)
{
    acquire_all(mode::exclusive);

    each_wins([&](std::size_t i) { all[i].async_extend(60s, count_call()); });
    each_wins([&](std::size_t i) { all[i].async_release(count_call()); });
}

BOOST_FIXTURE_TEST_CASE(downgrade_of_ten_thousand_locks_keeps_other_locks, guarded)
{
    acquire_all(mode::shared);

    each_wins([&](std::size_t i) { all[i].async_upgrade(count_call()); });
    each_wins([&](std::size_t i) { all[i].async_downgrade(count_call()); });
}

BOOST_FIXTURE_TEST_CASE(inspect_ten_thousand_times_keeps_other_locks, guarded)
{
    auto const first = held_by_another("stock");

    each_wins([&](std::size_t) { locks->async_inspect("stock", count_call()); });
}

BOOST_FIXTURE_TEST_CASE(release_of_ten_thousand_tickets_keeps_other_locks, guarded)
{
    acquire_all(mode::exclusive);
    auto const tickets = detach_all();

    each_wins([&](std::size_t i) { locks->async_release(tickets[i], count_call()); });
}

BOOST_FIXTURE_TEST_CASE(with_lock_by_ten_thousand_keeps_other_locks, guarded)
{
    auto const body = [](lock&) -> asio::awaitable<void> { co_return; };

    each_wins_after_another(
        "stock", [&](std::size_t) { asio::co_spawn(w.context, locks->with_lock("stock", waits, body), count_call()); });
}

BOOST_AUTO_TEST_SUITE_END()
