// A server needs time for each request, so it cannot answer thousands of them within the time-out. The manager sends
// only as many as it can, and the others wait.

#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(admissions)

namespace {

constexpr std::size_t crowd = 3'000;

/// A manager that renews a lock. Each server carries out 20,000 requests a second, so it needs 150 ms for the crowd.
struct busy_servers : connected_to<3> {
    explicit busy_servers(manager_options const& settings = {}) : connected_to<3>(settings)
    {
        guard = w.acquire(*locks, "guard", {.ttl = 600ms, .renew = renewal::automatic}).held;
        guard.async_wait_lost([this](error_code ec) { lost = ec == errc::lost; });
        w.run_for(1ms);
        w.each([](auto& s) {
            s.work = 50us;
            s.requests.clear();
        });
    }

    ~busy_servers()
    {
        BOOST_TEST(!lost);
        BOOST_TEST(guard.held());
    }

    void wait_for(std::deque<lock_world::outcome>& all)
    {
        BOOST_TEST(w.run_to([&] { return std::ranges::all_of(all, &lock_world::outcome::done); }));
    }

    static auto count(std::deque<lock_world::outcome> const& all, error_code ec)
    {
        return static_cast<std::size_t>(std::ranges::count(all, ec, &lock_world::outcome::ec));
    }

    std::deque<lock_world::outcome> hold_crowd()
    {
        auto all = w.start_numbered(crowd, *locks, {.ttl = 60s, .wait = 10s});
        wait_for(all);
        BOOST_TEST(count(all, {}) == crowd);
        return all;
    }

    /// The keys of the crowd that exist on any server.
    std::size_t keys_left()
    {
        w.run_for(1s);
        std::size_t left = 0;
        for (std::size_t i = 0; i < crowd; ++i)
            left += w.keys("lock:r" + std::to_string(i));
        return left;
    }

    lock guard;
    bool lost = false;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_by_a_crowd_asks_only_once_for_each, busy_servers)
{
    auto const begun = w.now;
    auto const all = hold_crowd();
    BOOST_TEST((w.now - begun < 250ms));
    for (auto const& s : w.servers) {
        BOOST_TEST(s->count(kind::acquire) == crowd);
        BOOST_TEST(s->count(kind::release) == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(release_and_resume_by_a_crowd_succeed, busy_servers)
{
    auto all = hold_crowd();
    std::size_t resumed = 0, released = 0, good = 0;
    std::deque<lock> again;
    for (auto& o : all) {
        locks->async_resume(o.held.detach(), {.ttl = 60s}, [&](error_code ec, lock l) {
            resumed += ec ? 0 : 1;
            again.push_back(std::move(l));
        });
    }
    BOOST_TEST(w.run_to([&] { return again.size() == crowd; }));
    BOOST_TEST(resumed == crowd);
    for (auto& l : again) {
        l.async_release([&](error_code ec) {
            ++released;
            good += ec ? 0 : 1;
        });
    }
    BOOST_TEST(w.run_to([&] { return released == crowd; }));
    BOOST_TEST(good == crowd);
    BOOST_TEST(keys_left() == 0u);
}

BOOST_FIXTURE_TEST_CASE(destruction_of_a_crowd_of_locks_releases_all_of_them, busy_servers)
{
    {
        auto const all = hold_crowd();
        w.each([](auto& s) { s.requests.clear(); });
    }
    BOOST_TEST(keys_left() == 0u);
    for (auto const& s : w.servers)
        BOOST_TEST(s->count(kind::release) == crowd);
}

// Each lock is renewed every 200 ms, so the servers, which answer 20,000 requests a second, can renew 4,000 locks. If
// the manager took more, it would lose all of them.
BOOST_FIXTURE_TEST_CASE(acquire_of_more_locks_than_can_be_renewed_is_overloaded, busy_servers)
{
    w.each([](auto& s) { s.work = 1ms; });
    std::deque<lock_world::outcome> all(400);
    for (std::size_t i = 0; i < all.size(); ++i) {
        w.start_acquire(all[i], *locks, "r" + std::to_string(i), {.ttl = 600ms, .renew = renewal::automatic});
        if (i % 20 == 0)
            w.run_for(100ms);
    }
    wait_for(all);
    auto const held = count(all, {});
    BOOST_TEST(held > 50u);
    BOOST_TEST(count(all, errc::overloaded) > 50u);
    bool seen = false;
    locks->async_inspect("r0", [&](error_code, lock_info) { seen = true; });
    w.run_for(1s);
    BOOST_TEST(seen);  // inspections go on
    w.run_for(5s);
    BOOST_TEST(std::ranges::count_if(all, [](auto& o) { return o.held.held(); }) == held);
}

BOOST_FIXTURE_TEST_CASE(acquire_of_a_crowd_that_cannot_be_asked_in_time_is_overloaded, busy_servers)
{
    w.each([](auto& s) { s.work = 2ms; });
    auto const begun = w.now;
    auto all = w.start_numbered(crowd, *locks, {.ttl = 60s});
    lock_world::outcome last;
    acquire_options how{.ttl = 60s, .explain = true};
    w.start_acquire(last, *locks, "last", how);
    wait_for(all);
    BOOST_TEST((w.now - begun >= manager_options().connect_timeout
                && w.now - begun < manager_options().connect_timeout + 200ms));
    BOOST_TEST(count(all, {}) > 300u);
    BOOST_TEST(count(all, errc::overloaded) > crowd / 2);
    BOOST_TEST(count(all, {}) + count(all, errc::overloaded) + count(all, errc::no_quorum) == crowd);
    BOOST_TEST((last.ec == errc::overloaded));
    BOOST_TEST(last.report.message
               == "redlock: cannot hold \"last\": too many calls were under way, so no node was asked in time");
    auto const held = count(all, {});
    BOOST_TEST(keys_left() == 3 * held);
    BOOST_TEST(locks->stats().failed == count(all, errc::overloaded) + 1);
}

// All ask for the last time at one moment, and there is a place for some of them only.
BOOST_FIXTURE_TEST_CASE(acquire_of_held_locks_whose_waits_end_together_is_contended, busy_servers)
{
    w.each([](auto& s) { s.work = 0ms; });
    constexpr std::size_t held = 500;
    auto other = w.connected();
    auto const holders = w.start_numbered(held, *other, {.ttl = 60s, .wait = 10s});
    w.run_for(1s);
    std::deque<lock_world::outcome> all(held);
    auto const end = w.now + 2s;
    for (std::size_t i = 0; i < held; ++i) {  // one after the other, so that the limit stays low
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(end - w.now);
        w.start_acquire(all[i], *locks, "r" + std::to_string(i), {.ttl = 60s, .wait = left});
        w.run_for(1ms);
    }
    wait_for(all);
    BOOST_TEST(count(all, errc::contended) == held);
}

BOOST_FIXTURE_TEST_CASE(cancel_before_the_nodes_are_asked_sends_nothing, busy_servers)
{
    auto all = w.start_numbered(crowd, *locks, {.ttl = 60s, .wait = 10s});
    asio::cancellation_signal stop;
    auto last = w.start(*locks, "last", {.ttl = 60s, .wait = 10s}, stop.slot());
    w.run_for(10ms);
    stop.emit(asio::cancellation_type::terminal);
    BOOST_TEST(w.done_after(1ms, last));
    BOOST_TEST((last.ec == asio::error::operation_aborted));
    wait_for(all);
    w.run_for(1s);
    for (auto const& s : w.servers) {
        auto const of_last = [](auto& r) { return r.key == "lock:last" && r.what == kind::acquire; };
        BOOST_TEST(std::ranges::none_of(s->requests, of_last));
    }
}

BOOST_FIXTURE_TEST_CASE(cancel_of_a_release_that_waits_releases_all_the_same, busy_servers)
{
    auto all = hold_crowd();
    std::deque<asio::cancellation_signal> signals;
    std::size_t ended = 0;
    for (auto& o : all) {
        auto const slot = signals.emplace_back().slot();
        o.held.async_release(asio::bind_cancellation_slot(slot, [&](error_code) { ++ended; }));
    }
    w.run_for(5ms);
    for (auto& s : signals)
        s.emit(asio::cancellation_type::terminal);
    w.run_for(1ms);
    BOOST_TEST(ended == crowd);
    BOOST_TEST(keys_left() == 0u);
}

BOOST_FIXTURE_TEST_CASE(shutdown_waits_for_releases_that_wait, busy_servers)
{
    auto all = hold_crowd();
    lock_world::outcome other;
    w.each([](auto& s) { s.work = 1ms; });  // 3 s for the crowd, longer than a shutdown waits for silent nodes
    auto down = w.start_shutdown(*locks);
    guard = {};
    all.clear();
    BOOST_TEST(!down.end());
    BOOST_TEST(keys_left() == 0u);
    lost = false;
    locks = w.connected();
    guard = w.acquire(*locks, "guard").held;
}

BOOST_FIXTURE_TEST_CASE(acquire_after_servers_were_silent_goes_on, busy_servers)
{
    w.servers[0]->mute = w.servers[1]->mute = true;
    auto all = w.start_numbered(crowd, *locks, {.ttl = 60s, .wait = 10s});
    w.run_for(300ms);
    w.servers[0]->mute = w.servers[1]->mute = false;
    wait_for(all);
    BOOST_TEST(count(all, {}) == crowd);
}

BOOST_AUTO_TEST_CASE(acquire_by_a_crowd_of_distant_servers_is_not_held_up)
{
    connected_to<3> far;
    far.w.each([](auto& s) { s.request_delay = s.reply_delay = 20ms; });  // 40 of 50 ms
    auto const begun = far.w.now;
    auto all = far.w.start_numbered(crowd, *far.locks, {.ttl = 60s, .wait = 10s});
    BOOST_TEST(far.w.run_to([&] { return std::ranges::all_of(all, &lock_world::outcome::done); }));
    BOOST_TEST(std::ranges::all_of(all, [](auto& o) { return !o.ec; }));
    BOOST_TEST((far.w.now - begun < 400ms));
}

// The clean-up of a denied acquisition asks only the server that has set the key: less than a majority. If such a
// release kept its place, no round would be sent any more as soon as slow servers have lowered the limit.
BOOST_FIXTURE_TEST_CASE(release_on_less_than_a_majority_frees_its_place, connected_to<3>)
{
    for (bool const is_mute : {false, true}) {
        w[0].entries["lock:stock"] = w[1].entries["lock:stock"] = {"foreign", w.now + 24h};
        w[2].mute = is_mute;
        for (int i = 0; i < 500; ++i) {
            auto const denied = w.acquire(*locks, "stock", {.ttl = 1s});
            BOOST_TEST_REQUIRE((denied.ec == errc::contended), denied.ec.message());
        }
        w.each([](auto& s) { s.mute = true; });
        auto const unheard = w.start_many(100, *locks, "other", {.ttl = 1s});
        w.run_for(10s);
        w.each([](auto& s) { s.mute = false; });
        w[0].entries.erase("lock:stock");
        w[1].entries.erase("lock:stock");
        BOOST_TEST(w.acquire(*locks, "stock", {.ttl = 1s, .wait = 5s}).held.held());
        w.run_for(1s);
    }
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

// Three fast servers decide, or one of them is silent, and a slow one takes part.
BOOST_AUTO_TEST_CASE(acquire_by_a_crowd_in_a_mixed_quorum_succeeds)
{
    for (bool const is_one_mute : {false, true}) {
        lock_world w(5);
        w[3].limits.timeout = w[4].limits.timeout = 1s;
        auto locks = w.connected();
        w[3].reply_delay = w[4].reply_delay = 300ms;
        w.each([](auto& s) { s.work = 50us; });
        w[0].mute = is_one_mute;
        auto const begun = w.now;
        auto all = w.start_numbered(crowd, *locks, {.ttl = 60s, .wait = 30s});
        BOOST_TEST(w.run_to([&] { return std::ranges::all_of(all, &lock_world::outcome::done); }));
        BOOST_TEST(std::ranges::all_of(all, [](auto& o) { return !o.ec; }));
        BOOST_TEST((w.now - begun < (is_one_mute ? 20s : 1s)));
        BOOST_TEST_MESSAGE("took " << (w.now - begun) / 1ms << " ms");
    }
}

BOOST_AUTO_TEST_SUITE_END()
