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
