#include "support/manager_test.hpp"

#include <functional>
#include <random>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(watches)

namespace {

/// One call of `async_watch`.
struct watch {
    template <class What>
    watch(lock_manager& locks, What what)
    {
        locks.async_watch(std::move(what),
                          asio::bind_cancellation_slot(signal.slot(), [this](error_code e, lock_info i) {
                              ec = e;
                              info = std::move(i);
                          }));
    }

    bool ended() const { return ec.has_value(); }

    asio::cancellation_signal signal;
    std::optional<error_code> ec;
    lock_info info;
};

lock_info look(lock_world& w, lock_manager& locks)
{
    std::optional<lock_info> info;
    locks.async_inspect("stock", [&](error_code, lock_info i) { info = std::move(i); });
    w.run_to([&] { return info.has_value(); });
    return *info;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(watch_of_a_free_lock_completes_when_it_is_acquired, manager_of<3>)
{
    auto other = w.manager({.owner = "web-2"});
    watch seen(*other, "stock");
    w.run_for(3s);
    BOOST_TEST(!seen.ended());

    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    w.run_to([&] { return seen.ended(); });

    BOOST_TEST(!*seen.ec);
    BOOST_TEST(seen.info.locked);
}

BOOST_FIXTURE_TEST_CASE(watch_of_a_held_lock_completes_when_it_is_released_or_expires, manager_of<3>)
{
    for (bool const releases : {true, false}) {
        auto won = w.acquire(*locks, "stock", {.ttl = 3s});
        auto other = w.manager();
        watch seen(*other, look(w, *other));
        w.run_for(1s);
        BOOST_TEST(!seen.ended());
        if (releases)
            w.release(won.held);
        w.run_for(releases ? 1s : 2100ms);
        BOOST_TEST_REQUIRE(seen.ended());
        BOOST_TEST(!seen.info.locked);
    }
}

BOOST_FIXTURE_TEST_CASE(watch_ignores_renewals_and_notices_the_next_holder, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 2s, .renew = renewal::automatic});
    auto other = w.manager({.owner = "web-2"});
    watch seen(*other, "stock");
    w.run_for(10s);
    BOOST_TEST(!seen.ended());

    auto const before = look(w, *other);
    w.release(won.held);
    auto next = w.acquire(*other, "stock", {.ttl = 10s});
    w.run_to([&] { return seen.ended(); });
    watch from_before(*other, before);
    w.run_to([&] { return from_before.ended(); });

    BOOST_TEST(from_before.info.owner == "web-2");
}

BOOST_FIXTURE_TEST_CASE(watch_by_the_manager_that_holds_the_lock_sees_its_release, manager_of<3>)
{
    watch first(*locks, "stock");
    w.run_for(100ms);
    auto won = w.acquire(*locks, "stock", {.ttl = 10s});
    w.run_for(100ms);
    BOOST_TEST_REQUIRE(first.ended());
    BOOST_TEST(first.info.locked);

    watch second(*locks, first.info);
    w.run_for(100ms);
    w.release(won.held);
    w.run_for(100ms);
    BOOST_TEST_REQUIRE(second.ended());
    BOOST_TEST(!second.info.locked);
}

BOOST_FIXTURE_TEST_CASE(watch_of_a_shared_lock_notices_each_reader, manager_of<3>)
{
    acquire_options const share{.ttl = 10s, .mode = mode::shared};
    auto one = w.acquire(*locks, "stock", share);
    auto other = w.manager({.owner = "web-2"});
    watch second(*other, "stock");
    w.run_for(100ms);
    auto two = w.acquire(*other, "stock", share);
    w.run_for(2s);
    BOOST_TEST_REQUIRE(second.ended());
    BOOST_TEST(second.info.readers.size() == 2u);

    watch left(*other, second.info);
    w.release(one.held);
    w.run_for(2s);
    BOOST_TEST_REQUIRE(left.ended());
    BOOST_TEST(left.info.readers.size() == 1u);
}

BOOST_FIXTURE_TEST_CASE(watch_waits_while_too_few_nodes_know_the_holder, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 60s});
    BOOST_TEST_REQUIRE(!won.ec);
    w[0].entries.clear();
    auto other = w.manager();
    watch seen(*other, look(w, *other));

    w[1].reachable = false;  // one of three nodes names the holder, and one does not answer
    w.run_for(12s);
    BOOST_TEST(!seen.ended());
    w[2].reachable = false;
    w.run_for(12s);
    BOOST_TEST(!seen.ended());
    w[1].reachable = w[2].reachable = true;
    w.run_for(12s);
    BOOST_TEST(!seen.ended());
    w.release(won.held);
    w.run_to([&] { return seen.ended(); });
    BOOST_TEST(!*seen.ec);
}

// The watcher looks at each change that it shows. After the last change, it must show the last state.
// All watches of a name share its looks, and the looks have a pause.
BOOST_FIXTURE_TEST_CASE(watch_by_a_thousand_of_a_busy_lock_looks_at_times, and_another<connected_to<3>>)
{
    std::size_t told = 0;
    bool is_over = false;
    std::function<void(error_code, lock_info)> again = [&](error_code ec, lock_info seen) {
        told += ec ? 0 : 1;
        if (!ec && !is_over)
            locks->async_watch(std::move(seen), again);
    };
    for (int i = 0; i < 1000; ++i)
        locks->async_watch("stock", again);
    visits const v{.resources = "stock", .hold = 3ms, .pause = 1ms};
    acquire_repeatedly(w, *other, v, [&](auto) { return !is_over; });
    w.run_for(100ms);
    w.each([](auto& s) { s.requests.clear(); });
    told = 0;
    w.run_for(1s);
    for (auto const& s : w.servers) {
        BOOST_TEST(s->count(kind::inspect) > 50u);
        BOOST_TEST(s->count(kind::inspect) <= 101u);
    }
    BOOST_TEST(told > 20'000u);
    is_over = true;
    BOOST_TEST(!w.shutdown(*locks));
}

// The look of the first watch began before the lock changed, and ends after the second watch has begun.
BOOST_FIXTURE_TEST_CASE(watch_that_begins_during_an_older_look_is_not_told_of_it, and_another<connected_to<3>>)
{
    w.acquire(*other, "warm-up");
    w.each([](auto& s) { s.reply_delay = 20ms; });
    watch first(*locks, "stock");
    w.run_for(1ms);  // the servers have answered: the lock is free
    w.each([](auto& s) { s.reply_delay = 100us; });
    auto held = w.acquire(*other, "stock", {.ttl = 30s});
    auto const seen = look(w, *other);
    BOOST_TEST(seen.locked);
    watch second(*locks, seen);
    w.run_for(100ms);
    BOOST_TEST(first.ended());
    BOOST_TEST(!second.ended());
    w.release(held.held);
    w.run_for(100ms);
    BOOST_TEST((second.ended() && !second.info.locked));
}

BOOST_FIXTURE_TEST_CASE(watch_that_is_cancelled_leaves_the_looks_to_others, connected_to<3>)
{
    auto first = std::make_unique<watch>(*locks, "stock"), second = std::make_unique<watch>(*locks, "stock");
    w.run_for(1ms);
    first->signal.emit(asio::cancellation_type::terminal);
    w.run_for(1ms);
    BOOST_TEST((first->ended() && *first->ec == asio::error::operation_aborted));
    w.each([](auto& s) { s.requests.clear(); });
    w.run_for(25s);
    BOOST_TEST(w[0].count(kind::inspect) >= 2u);
    second->signal.emit(asio::cancellation_type::terminal);
    w.run_for(20ms);
    BOOST_TEST(second->ended());
    BOOST_TEST(locks->stats().running == 0u);
    w.each([](auto& s) { s.requests.clear(); });
    watch third(*locks, "stock");
    w.run_for(1ms);
    BOOST_TEST(w[0].count(kind::inspect) == 1u);
    auto const held = w.acquire(*locks, "stock", {.ttl = 60s});
    w.run_for(100ms);
    BOOST_TEST(third.ended());
    w.run_for(25s);
    BOOST_TEST(w[0].count(kind::inspect) == 2u);
}

BOOST_AUTO_TEST_CASE(watch_during_random_changes_ends_with_the_latest_holder)
{
    for (unsigned seed = 0; seed < 40; ++seed) {
        std::minstd_rand random(seed + 1);
        auto const below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
        lock_world w(3);
        for (std::size_t i = 0; i < 3; ++i)
            w[i].notifies = below(2) == 0;
        auto one = w.manager({.owner = "one"}), two = w.manager({.owner = "two"}), eye = w.manager({.owner = "eye"});
        lock_info shown = look(w, *eye);
        std::function<void()> keep_watching = [&] {
            eye->async_watch(shown, [&](error_code ec, lock_info i) {
                if (ec)
                    return;
                BOOST_TEST(i.owner + (i.locked ? "+" : "-") + i.note
                           != shown.owner + (shown.locked ? "+" : "-") + shown.note);
                shown = std::move(i);
                keep_watching();
            });
        };
        keep_watching();

        lock held;
        for (int step = 0; step < 60; ++step) {
            auto& by = below(2) == 0 ? *one : *two;
            auto& server = w[below(3)];
            switch (below(6)) {
            case 0:
            case 1:
                if (auto won = w.acquire(by, "stock", {.ttl = 2s, .note = std::to_string(step)}); !won.ec)
                    held = std::move(won.held);
                break;
            case 2:
                held = {};
                break;
            case 3:
                server.reachable = !server.reachable;
                break;
            case 4:
                server.hung = !server.hung;
                break;
            default:
                w.run_for(std::chrono::milliseconds(below(900)));
            }
        }
        for (std::size_t i = 0; i < 3; ++i) {
            w[i].reachable = true;
            w[i].hung = false;
        }
        w.run_for(30s);
        auto won = w.acquire(*one, "stock", {.ttl = 60s, .note = "last"});
        BOOST_TEST(!won.ec);
        w.run_for(11s);
        BOOST_TEST(shown.note == "last", "seed " << seed);
    }
}

BOOST_FIXTURE_TEST_CASE(watch_that_ends_early_completes_with_operation_aborted, manager_of<3>)
{
    watch cancelled(*locks, "stock"), stopped(*locks, "stock"), bad(*locks, "");
    w.run_for(2s);
    BOOST_TEST_REQUIRE(bad.ended());
    BOOST_TEST((*bad.ec == errc::invalid_argument));

    cancelled.signal.emit(asio::cancellation_type::total);
    w.run_to([&] { return cancelled.ended(); });
    BOOST_TEST((*cancelled.ec == asio::error::operation_aborted));
    locks.reset();
    w.run_to([&] { return stopped.ended(); });
    BOOST_TEST((*stopped.ec == asio::error::operation_aborted));
}

BOOST_AUTO_TEST_SUITE_END()
