// Ten thousand calls of one kind run beside a renewed lock, which must not be lost. Computing takes virtual time here.

#include "support/virtual_world.hpp"

#include <redlock/elect.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/test/unit_test.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(crowds)

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr std::size_t crowd = 2'000;  // ten thousand take minutes
#else
constexpr std::size_t crowd = 10'000;
#endif

std::string name(std::size_t i)
{
    auto const digits = std::to_string(i);
    return "of-crowd-" + std::string(5 - digits.size(), '0') + digits;
}

/// Two managers, and a renewed lock of the first.
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

    /// A handler that keeps the lock.
    auto kept()
    {
        return [this](error_code ec, lock l) {
            ++done;
            won += ec ? 0 : 1;
            all.push_back(std::move(l));
        };
    }

    /// A handler that releases the lock at once.
    auto given_back()
    {
        return [this](error_code ec, lock) {
            ++done;
            won += ec ? 0 : 1;
        };
    }

    /// A handler of an operation on a lock.
    auto told()
    {
        return [this](error_code ec) {
            ++done;
            won += ec ? 0 : 1;
        };
    }

    /// Acquires a lock for each, and keeps it.
    void acquire_all(redlock::mode m)
    {
        each([&](std::size_t i) { locks->async_acquire(name(i), {.ttl = 60s, .mode = m}, kept()); });
        run_to_all();
        BOOST_TEST(won == crowd);
        done = won = 0;
    }

    void run_to_all() { BOOST_TEST(w.run_to([this] { return done == crowd; })); }

    /// Calls @p f for each, in portions: ten thousand calls at once take long even if each takes little.
    template <class F>
    void each(F f)
    {
        for (std::size_t i = 0; i < crowd; ++i) {
            f(i);
            if (i % 500 == 499)
                w.run_for(1ms);
        }
    }

    /// Releases all, the last one first.
    void give_back_all()
    {
        for (std::size_t i = 0; !all.empty(); ++i) {
            all.pop_back();
            if (i % 500 == 499)
                w.run_for(1ms);
        }
    }

    lock guard;
    bool lost = false;
    std::size_t done = 0;
    std::size_t won = 0;
    std::deque<lock> all;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_of_ten_thousand_in_one_scope_keeps_others, guarded)
{
    lock_scope const scope(*locks);

    for (std::size_t i = 0; i < crowd; ++i)
        scope.async_acquire(name(i), {.ttl = 60s}, kept());
    run_to_all();

    BOOST_TEST(won == crowd);
    give_back_all();
    w.run_for(1s);
}

BOOST_FIXTURE_TEST_CASE(acquire_of_a_name_ten_thousand_times_in_a_scope_keeps_others, guarded)
{
    auto first = held_by_another("stock");
    lock_scope const scope(*locks);

    each([&](std::size_t) { scope.async_acquire("stock", {.ttl = 60s, .wait = 10min}, kept()); });
    first = {};
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(acquire_in_ten_thousand_scopes_that_hold_keeps_others, guarded)
{
    auto first = held_by_another("stock");
    std::deque<lock_scope> scopes;
    each([&](std::size_t i) { scopes.emplace_back(*locks).async_acquire(name(i), {.ttl = 60s}, kept()); });
    run_to_all();
    done = won = 0;
    bool had_set = false;
    locks->async_acquire({"of-crowd", "stock"}, {.ttl = 60s, .wait = 10min}, [&](error_code ec, lock) { had_set = !ec; });
    w.run_for(1ms);

    each([&](std::size_t i) { scopes[i].async_acquire("stock", {.ttl = 60s, .wait = 10min}, given_back()); });
    first = {};
    run_to_all();

    BOOST_TEST(won == crowd);
    BOOST_TEST(w.run_to([&] { return had_set; }));
}

BOOST_FIXTURE_TEST_CASE(acquire_by_ten_thousand_readers_that_join_keeps_others, guarded)
{
    auto first = held_by_another("stock");

    each([&](std::size_t) { locks->async_acquire("stock", {.ttl = 60s, .wait = 10min, .mode = mode::shared}, kept()); });
    first = {};
    run_to_all();

    BOOST_TEST(won == crowd);
    BOOST_TEST(locks->stats().joined == crowd - 1);
    give_back_all();
    w.run_for(1s);
}

// Locks with a max_hold are not joined.
BOOST_FIXTURE_TEST_CASE(acquire_by_ten_thousand_readers_with_own_locks_keeps_others, guarded)
{
    each([&](std::size_t) { locks->async_acquire("stock", {.ttl = 60s, .max_hold = 10min, .mode = mode::shared}, kept()); });
    run_to_all();
    bool writer = false;
    locks->async_acquire("stock", {.ttl = 60s, .wait = 10min}, [&](error_code ec, lock) { writer = !ec; });
    w.run_for(1ms);

    BOOST_TEST(won == crowd);
    give_back_all();
    BOOST_TEST(w.run_to([&] { return writer; }));
}

BOOST_FIXTURE_TEST_CASE(acquire_by_readers_and_writers_in_turns_keeps_others, guarded)
{
    auto first = held_by_another("stock");

    each([&](std::size_t i) {
        locks->async_acquire("stock", {.ttl = 60s, .wait = 10min, .mode = i % 2 == 0 ? mode::shared : mode::exclusive}, given_back());
    });
    first = {};
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(acquire_without_wait_beside_ten_thousand_readers_keeps_others, guarded)
{
    auto first = held_by_another("stock");
    each([&](std::size_t) { locks->async_acquire("stock", {.ttl = 60s, .wait = 10min, .mode = mode::shared}, kept()); });
    std::size_t tried = 0;

    for (std::size_t i = 0; i < crowd; ++i) {
        locks->async_acquire("stock", {.ttl = 60s, .mode = mode::shared}, [&](error_code, lock) { ++tried; });
        if (i % 500 == 499)
            w.run_for(1ms);
    }
    BOOST_TEST(w.run_to([&] { return tried == crowd; }));
    first = {};
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(wait_lost_by_ten_thousand_handles_keeps_others, guarded)
{
    lock const one = w.acquire(*locks, "stock", {.ttl = 60s}).held;

    each([&](std::size_t) {
        all.push_back(one.share());
        all.back().async_wait_lost([this](error_code) { ++done; });
    });
    give_back_all();
    run_to_all();

    BOOST_TEST(one.held());
}

BOOST_FIXTURE_TEST_CASE(wait_lost_by_ten_thousand_waits_of_one_handle_keeps_others, guarded)
{
    lock one = w.acquire(*locks, "stock", {.ttl = 60s}).held;
    lock const another = one.share();
    std::deque<asio::cancellation_signal> signals;

    each([&](std::size_t) { one.async_wait_lost(asio::bind_cancellation_slot(signals.emplace_back().slot(), [this](error_code) { ++done; })); });
    for (std::size_t i = 0; i < crowd; i += 2)
        signals[i].emit(asio::cancellation_type::terminal);
    w.run_for(1ms);
    BOOST_TEST(done == crowd / 2);
    one = {};
    run_to_all();

    BOOST_TEST(another.held());
}

BOOST_FIXTURE_TEST_CASE(acquire_any_by_ten_thousand_keeps_others, guarded)
{
    auto first = held_by_another(slots("pool", 8));

    each([&](std::size_t) { locks->async_acquire_any(slots("pool", 8), acquire_options{.ttl = 60s, .wait = 10min}, given_back()); });
    first = {};
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(acquire_of_ten_thousand_sets_keeps_others, guarded)
{
    auto first = held_by_another("stock");

    each([&](std::size_t i) { locks->async_acquire({name(i), "stock"}, {.ttl = 60s, .wait = 10min}, given_back()); });
    first = {};
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(acquire_of_one_name_by_ten_thousand_keeps_others, guarded)
{
    auto first = held_by_another("stock");

    each([&](std::size_t) { locks->async_acquire("stock", {.ttl = 60s, .wait = 10min}, given_back()); });
    first = {};
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(acquire_of_one_name_cancelled_ten_thousand_times_keeps_others, guarded)
{
    auto const first = held_by_another("stock");
    std::deque<asio::cancellation_signal> signals;

    each([&](std::size_t) {
        locks->async_acquire("stock", {.ttl = 60s, .wait = 10min}, asio::bind_cancellation_slot(signals.emplace_back().slot(), given_back()));
    });
    each([&](std::size_t i) { signals[i].emit(asio::cancellation_type::terminal); });
    run_to_all();

    BOOST_TEST(won == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_of_one_name_in_vain_ten_thousand_times_keeps_others, guarded)
{
    auto const first = held_by_another("stock");

    each([&](std::size_t) { locks->async_acquire("stock", {.ttl = 60s, .wait = 1s}, given_back()); });
    run_to_all();

    BOOST_TEST(won == 0u);
}

BOOST_FIXTURE_TEST_CASE(elect_with_ten_thousand_candidates_keeps_others, guarded)
{
    auto first = held_by_another("leader");
    auto const lead = [](lock&) -> asio::awaitable<elected> { co_return elected::done; };

    each([&](std::size_t) {
        elect_options options;
        options.observe = [](election_event) {};
        asio::co_spawn(w.context, elect(*locks, "leader", std::move(options), lead), [this](std::exception_ptr e) {
            ++done;
            won += e ? 0 : 1;
        });
    });
    first = {};
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(resume_of_ten_thousand_tickets_keeps_others, guarded)
{
    std::deque<lock_ticket> tickets;
    each([&](std::size_t i) { locks->async_acquire(name(i), {.ttl = 60s}, kept()); });
    run_to_all();
    for (auto& l : all) {
        error_code ec;
        tickets.push_back(l.detach(ec));
    }
    all.clear();
    done = won = 0;

    each([&](std::size_t i) { locks->async_resume(tickets[i], {.ttl = 60s}, kept()); });
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(upgrade_by_ten_thousand_readers_of_one_name_keeps_others, guarded)
{
    each([&](std::size_t) { locks->async_acquire("stock", {.ttl = 60s, .max_hold = 10min, .mode = mode::shared}, kept()); });
    run_to_all();
    done = 0;

    each([&](std::size_t i) { all[i].async_upgrade([this](error_code) { ++done; }); });
    run_to_all();
}

BOOST_FIXTURE_TEST_CASE(upgrade_of_ten_thousand_names_that_waits_keeps_others, guarded)
{
    lock_scope const scope(*other);
    std::deque<lock> readers;
    std::size_t read = 0;
    each([&](std::size_t i) {
        scope.async_acquire(name(i), {.ttl = 60s, .mode = mode::shared}, [&](error_code, lock l) {
            ++read;
            readers.push_back(std::move(l));
        });
    });
    BOOST_TEST(w.run_to([&] { return read == crowd; }));
    each([&](std::size_t i) { locks->async_acquire(name(i), {.ttl = 60s, .mode = mode::upgradeable}, kept()); });
    run_to_all();
    done = 0;

    each([&](std::size_t i) { all[i].async_upgrade(10min, [this](error_code ec) { ++done; won -= ec ? 0 : 1; }); });
    for (std::size_t i = 0; !readers.empty(); ++i) {
        readers.pop_front();
        if (i % 500 == 499)
            w.run_for(1ms);
    }
    run_to_all();

    BOOST_TEST(won == 0u);
}

BOOST_FIXTURE_TEST_CASE(acquire_upgradeable_by_ten_thousand_keeps_others, guarded)
{
    auto first = held_by_another("stock", {.ttl = 60s, .mode = mode::upgradeable});

    each([&](std::size_t) { locks->async_acquire("stock", {.ttl = 60s, .wait = 10min, .mode = mode::upgradeable}, given_back()); });
    first = {};
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(extend_and_release_of_ten_thousand_locks_keeps_others, guarded)
{
    acquire_all(mode::exclusive);

    each([&](std::size_t i) { all[i].async_extend(60s, told()); });
    run_to_all();
    BOOST_TEST(won == crowd);
    done = won = 0;

    each([&](std::size_t i) { all[i].async_release(told()); });
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(downgrade_of_ten_thousand_locks_keeps_others, guarded)
{
    acquire_all(mode::shared);
    each([&](std::size_t i) { all[i].async_upgrade(told()); });
    run_to_all();
    BOOST_TEST(won == crowd);
    done = won = 0;

    each([&](std::size_t i) { all[i].async_downgrade(told()); });
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(inspect_ten_thousand_times_keeps_others, guarded)
{
    auto const first = held_by_another("stock");

    each([&](std::size_t) {
        locks->async_inspect("stock", [this](error_code ec, lock_info) {
            ++done;
            won += ec ? 0 : 1;
        });
    });
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(release_of_ten_thousand_tickets_keeps_others, guarded)
{
    acquire_all(mode::exclusive);
    std::deque<lock_ticket> tickets;
    for (auto& l : all) {
        error_code ec;
        tickets.push_back(l.detach(ec));
    }
    all.clear();

    each([&](std::size_t i) { locks->async_release(tickets[i], told()); });
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_FIXTURE_TEST_CASE(with_lock_by_ten_thousand_keeps_others, guarded)
{
    auto first = held_by_another("stock");
    auto const body = [](lock&) -> asio::awaitable<void> { co_return; };

    each([&](std::size_t) {
        auto run = locks->with_lock("stock", {.ttl = 60s, .wait = 10min}, body);
        asio::co_spawn(w.context, std::move(run), [this](std::exception_ptr e) {
            ++done;
            won += e ? 0 : 1;
        });
    });
    first = {};
    run_to_all();

    BOOST_TEST(won == crowd);
}

BOOST_AUTO_TEST_SUITE_END()
