#include "support/virtual_world.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <functional>

using namespace redlock;
using namespace redlock::test;
using kind = node_operation::kind;

BOOST_AUTO_TEST_SUITE(waiting)

namespace {

// Another process has the lock, and one of ours waits for it.
struct queue_at_a_lock {
    explicit queue_at_a_lock(std::size_t nodes = 5, std::chrono::milliseconds ttl = 60s) : w(nodes)
    {
        held = w.acquire(*other, "stock", {.ttl = ttl});
        w.acquire(*locks, "warm-up");
        begun = w.now;
        w.start_acquire(waiter, *locks, "stock", {.wait = 10min});
    }

    std::size_t asked() { return w[0].count(kind::acquire); }

    // How long after the release by the other the waiter has it.
    clock::duration release_to_win()
    {
        auto const released = w.now;
        w.release(held.held);
        w.run_to([&] { return waiter.done; });
        BOOST_TEST(waiter.held.held());
        return waiter.when - released;
    }

    lock_world w;
    std::unique_ptr<lock_manager> other = w.manager({.max_ttl = 5min}), locks = w.manager();
    lock_world::outcome held, waiter;
    clock::time_point begun;
};

}  // namespace

BOOST_AUTO_TEST_CASE(the_release_by_another_process_wakes)
{
    queue_at_a_lock q;
    q.w.run_for(30s);
    BOOST_TEST(!q.waiter.done);
    BOOST_TEST((q.release_to_win() < 5ms));
}

BOOST_AUTO_TEST_CASE(who_waits_for_a_lock_that_nobody_touches_asks_twice)
{
    queue_at_a_lock q(5, 3min);
    auto const before = q.asked();
    q.w.run_for(1min);
    BOOST_TEST(!q.waiter.done);
    BOOST_TEST(q.locks->stats().waiting == 1u);
    BOOST_TEST(q.asked() - before == 2u);
}

BOOST_AUTO_TEST_CASE(a_holder_that_dies_is_followed_when_its_ttl_is_over)
{
    for (std::chrono::milliseconds const ttl : {100ms, 10'000ms, 60'000ms}) {
        queue_at_a_lock q(5, ttl);
        for (auto& s : q.w.servers)
            s->watchers.clear();  // nobody tells of an end that came by itself
        q.w.run_to([&] { return q.waiter.done; });
        BOOST_TEST(q.waiter.held.held());
        BOOST_TEST((q.waiter.when - q.begun <= ttl + 50ms));
    }
}

BOOST_AUTO_TEST_CASE(what_is_never_told_is_found_out_when_the_ttl_is_over)
{
    queue_at_a_lock q(5, 20s);
    q.w.run_for(1s);
    for (auto& s : q.w.servers)
        s->watchers.clear();
    q.w.release(q.held.held);
    q.w.run_to([&] { return q.waiter.done; });
    BOOST_TEST(q.waiter.held.held());
    BOOST_TEST((q.waiter.when - q.begun <= 20s + 50ms));
}

BOOST_AUTO_TEST_CASE(where_nodes_do_not_tell_they_are_asked_now_and_then)
{
    queue_at_a_lock q;
    for (auto& s : q.w.servers)
        s->tells = false;
    BOOST_TEST(!q.locks->stats().nodes[0].tells);
    q.w.run_for(10s);
    BOOST_TEST((q.release_to_win() < 300ms));
    BOOST_TEST(q.asked() < 150u);
}

BOOST_AUTO_TEST_CASE(the_nodes_that_are_well_tell_for_those_that_are_away)
{
    queue_at_a_lock q;
    q.w[3].reachable = false;
    q.w[4].hung = true;
    q.w.run_for(10s);
    BOOST_TEST((q.release_to_win() < 5ms));
}

BOOST_AUTO_TEST_CASE(fewer_than_a_quorum_wake_nobody)
{
    queue_at_a_lock q;
    q.w.run_for(1s);
    auto const before = q.asked();
    for (std::size_t i = 0; i < 2; ++i) {
        q.w[i].entries.erase("lock:stock");
        q.w[i].tell("lock:stock");
    }
    q.w.run_for(10s);
    BOOST_TEST(!q.waiter.done);
    BOOST_TEST(q.asked() == before);
    q.w[2].entries.erase("lock:stock");  // by whatever client
    q.w[2].tell("lock:stock");
    q.w.run_for(10ms);
    BOOST_TEST(q.waiter.held.held());
}

BOOST_AUTO_TEST_CASE(an_extension_wakes_for_one_round_only)
{
    queue_at_a_lock q;
    q.w.run_for(1s);
    auto const before = q.asked();
    q.w.extend(q.held.held, 2min);
    q.w.run_for(1min);
    BOOST_TEST(!q.waiter.done);
    BOOST_TEST(q.asked() == before + 1);
}

BOOST_AUTO_TEST_CASE(a_waiter_that_is_cancelled_as_it_wins_leaves_nothing)
{
    for (auto after = 0us; after < 2ms; after += 50us) {
        queue_at_a_lock q(3);
        asio::cancellation_signal cancel;
        lock_world::outcome second;
        q.locks->async_acquire("stock", {.wait = 1min}, asio::bind_cancellation_slot(cancel.slot(), [&](error_code ec, lock l) {
                                   second.done = true;
                                   second.ec = ec;
                                   second.held = std::move(l);
                               }));
        q.w.release(q.held.held);
        q.w.run_to([&] { return q.waiter.done; });
        q.waiter.held.async_release([](error_code) {});
        q.w.run_for(after);
        cancel.emit(asio::cancellation_type::terminal);
        q.w.run_to([&] { return second.done; });
        BOOST_TEST((second.held.held() == !second.ec));
        second.held = {};
        q.w.run_for(1s);
        BOOST_TEST(q.w.keys("lock:stock") == 0u);
    }
}

BOOST_AUTO_TEST_CASE(who_waits_when_the_manager_goes_is_told)
{
    lock_world w(3);
    auto other = w.manager();
    auto locks = w.manager();
    auto held = w.acquire(*other, "stock", {.ttl = 60s});
    std::deque<lock_world::outcome> waiters(10);
    for (auto& o : waiters)
        w.start_acquire(o, *locks, "stock", {.wait = wait_forever});
    w.run_for(1s);
    locks.reset();
    w.run_for(1s);
    for (auto& o : waiters) {
        BOOST_TEST(o.calls == 1);
        BOOST_TEST((o.ec == asio::error::operation_aborted));
    }
}

BOOST_AUTO_TEST_CASE(thousands_of_resources_are_waited_for_at_once)
{
    lock_world w(3);
    auto other = w.manager(), locks = w.manager();
    std::deque<lock_world::outcome> held(3000), waiters(3000);
    for (std::size_t i = 0; i < held.size(); ++i)
        w.start_acquire(held[i], *other, "r" + std::to_string(i), {.ttl = 60s});
    w.run_for(1s);
    for (std::size_t i = 0; i < held.size(); ++i)
        w.start_acquire(waiters[i], *locks, "r" + std::to_string(i), {.wait = 10min});
    w.run_for(1s);
    BOOST_TEST(locks->stats().waiting == 3000u);
    for (auto& h : held)
        h.held = {};
    w.run_for(1s);
    BOOST_TEST(std::all_of(waiters.begin(), waiters.end(), [](auto& o) { return o.held.held(); }));
    BOOST_TEST(locks->stats().waiting == 0u);
}

BOOST_AUTO_TEST_CASE(split_votes_are_resolved_within_a_few_rounds)
{
    std::uint64_t rounds = 0;
    for (int i = 0; i < 200; ++i) {
        lock_world w(5);
        std::unique_ptr<lock_manager> managers[] = {w.manager(), w.manager(), w.manager()};
        for (auto& m : managers)
            w.acquire(*m, "warm-up");
        for (std::size_t n = 0; n < 5; ++n)
            w[n].request_delay = 100us + 10us * static_cast<int>((n + static_cast<std::size_t>(i)) % 5);
        std::deque<lock_world::outcome> waiters(3);
        for (std::size_t m = 0; m < 3; ++m) {
            w.start_acquire(waiters[m], *managers[m], "stock", {.wait = 1min});
            std::rotate(w.servers.begin(), w.servers.begin() + 1, w.servers.end());
        }
        w.run_to([&] { return std::any_of(waiters.begin(), waiters.end(), [](auto& o) { return o.done; }); });
        for (auto& m : managers)
            rounds += m->stats().rounds - 1;
    }
    BOOST_TEST(rounds < 200u * 12u);
}

// Turns

BOOST_AUTO_TEST_CASE(each_process_has_its_turn)
{
    for (std::size_t const limit : {0u, 2u, 16u}) {
        lock_world w(5);
        config const settings{.max_handovers = limit};
        std::unique_ptr<lock_manager> managers[] = {w.manager(settings), w.manager(settings), w.manager(settings)};
        auto const begun = w.now;
        int counts[] = {0, 0, 0}, streak = 0, longest = 0, last = -1;
        clock::duration longest_wait{};
        std::function<void(int)> work = [&](int i) {
            managers[i]->async_acquire("stock", {.ttl = 5s, .wait = 1min}, [&, i, asked = w.now](error_code ec, lock l) {
                if (w.now > begun + 1s)
                    longest_wait = std::max(longest_wait, w.now - asked);
                if (ec == asio::error::operation_aborted)
                    return;
                BOOST_TEST_REQUIRE((!ec));
                ++counts[i];
                streak = std::exchange(last, i) == i ? streak + 1 : 1;
                if (w.now > begun + 1s)  // it takes a while to learn of each other
                    longest = std::max(longest, streak);
                auto held = std::make_shared<lock>(std::move(l));
                w.at(w.now + 1ms, [&, i, held] {
                    held->async_release([](error_code) {});
                    work(i);
                });
            });
        };
        for (int i = 0; i < 3; ++i) {
            for (int k = 0; k < 8; ++k)
                work(i);
        }
        w.run_for(20s);
        auto const all = counts[0] + counts[1] + counts[2];
        BOOST_TEST_CONTEXT("limit " << limit << ": " << counts[0] << ", " << counts[1] << ", " << counts[2] << ", longest " << longest)
        {
            for (int const n : counts)
                BOOST_TEST(n > all / 5);
            BOOST_TEST(longest <= 3 * static_cast<int>(std::min<std::size_t>(limit, 8) + 2));  // turns may meet
            BOOST_TEST((longest_wait < 500ms), longest_wait / 1ms << " ms");
        }
        for (auto& m : managers)
            w.shutdown(*m);
    }
}

BOOST_AUTO_TEST_CASE(who_waits_elsewhere_is_told_of_the_end_of_a_turn_and_not_of_each_lock_in_it)
{
    for (bool const told : {true, false}) {
        lock_world w(5);
        auto locks = w.manager(), other = w.manager({.max_handovers = 4});
        auto held = w.acquire(*other, "stock", {.ttl = 30s});
        std::deque<lock_world::outcome> followers(4);
        for (auto& f : followers)
            w.start_acquire(f, *other, "stock", {.ttl = 30s, .wait = 1min});
        lock_world::outcome waiter;
        w.start_acquire(waiter, *locks, "stock", {.wait = 1min});
        w.run_for(20ms);
        // The first hand-over is told: before it nobody knew of a turn.
        w.release(held.held);
        w.run_to([&] { return followers[0].done; });
        w.run_for(20ms);
        auto const asked = locks->stats().rounds;
        for (std::size_t i = 1; i < 4; ++i) {
            followers[i - 1].held = {};
            w.run_to([&] { return followers[i].done; });
            BOOST_TEST(followers[i].held.held());
            w.run_for(20ms);
        }
        BOOST_TEST(locks->stats().rounds == asked);
        BOOST_TEST(!waiter.done);
        if (!told) {
            for (auto& s : w.servers)
                s->watchers.clear();
        }
        auto const released = w.now;
        followers[3].held = {};
        w.run_to([&] { return waiter.done; });
        BOOST_TEST(waiter.held.held());
        BOOST_TEST((waiter.when - released < (told ? 5ms : 1s + 5ms)));
    }
}

BOOST_AUTO_TEST_CASE(a_turn_ends_with_its_queue)
{
    lock_world w(3);
    auto locks = w.manager(), other = w.manager();
    auto held = w.acquire(*other, "stock", {.ttl = 30s});
    lock_world::outcome follower, waiter;
    asio::cancellation_signal cancel;
    other->async_acquire("stock", {.wait = 1min}, asio::bind_cancellation_slot(cancel.slot(), [&](error_code, lock l) { follower.held = std::move(l); }));
    w.release(held.held);
    w.run_to([&] { return follower.held.held(); });  // it announced that more would follow
    w.start_acquire(waiter, *locks, "stock", {.wait = 1min});
    w.run_for(20ms);
    auto const released = w.now;
    follower.held = {};
    w.run_to([&] { return waiter.done; });
    BOOST_TEST(waiter.held.held());
    BOOST_TEST((waiter.when - released < 5ms));
}

BOOST_AUTO_TEST_CASE(who_is_alone_is_never_kept_waiting_for_others)
{
    lock_world w(3);
    auto locks = w.manager({.max_handovers = 2});
    int count = 0;
    std::function<void()> work = [&] {
        locks->async_acquire("stock", {.wait = 1min}, [&](error_code ec, lock l) {
            if (ec)
                return;
            ++count;
            auto held = std::make_shared<lock>(std::move(l));
            w.at(w.now + 1ms, [&, held] {
                held->async_release([](error_code) {});
                work();
            });
        });
    };
    for (int i = 0; i < 4; ++i)
        work();
    w.run_for(1200ms);
    BOOST_TEST(count >= 990);  // 1 ms, and a round trip of 200 µs
    w.shutdown(*locks);
}

BOOST_AUTO_TEST_SUITE_END()
