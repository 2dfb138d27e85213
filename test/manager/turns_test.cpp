// While one process hands a lock over to its own waiters, the others wait for the end of its turn. However the lock
// ends, the turn ends, too.

#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(turns)

namespace {

/// A way in which a lock ends. The third manager is that of a process without waiters.
struct way {
    char const* name;
    std::function<void(lock_manager& holder, lock_manager& third, lock&)> end;
};

void break_it(lock_manager& by)
{
    by.async_inspect("stock", [&by](error_code, lock_info seen) {
        by.async_break(std::move(seen), [](error_code, break_info const&) {});
    });
}

void resume_and_release(lock_manager& by, lock_ticket const& ticket)
{
    by.async_resume(ticket, {.ttl = 30s}, [](error_code, lock resumed) { resumed.async_release([](error_code) {}); });
}

std::array const ways{
    way{"release", [](auto&, auto&, lock& l) { l.async_release([](error_code) {}); }},
    way{"destruction of the handle", [](auto&, auto&, lock& l) { l = {}; }},
    way{"release by ticket", [](auto& holder, auto&, lock& l) { holder.async_release(l.detach(), [](error_code) {}); }},
    way{"release by ticket, by another process",
        [](auto&, auto& third, lock& l) { third.async_release(l.detach(), [](error_code) {}); }},
    way{"release of a resumed lock", [](auto&, auto& third, lock& l) { resume_and_release(third, l.detach()); }},
    way{"break by another process", [](auto&, auto& third, lock&) { break_it(third); }},
};

}  // namespace

BOOST_AUTO_TEST_CASE(turn_ends_however_the_lock_ends)
{
    for (auto const& how : ways) {
        lock_world w(3);
        auto locks = w.manager(), other = w.manager(), third = w.manager();
        w.acquire(*third, "warm-up");
        auto held = w.acquire(*other, "stock", {.ttl = 30s});
        auto follower = w.start(*other, "stock", {.ttl = 30s, .wait = 1min});
        auto gives_up = w.start(*other, "stock", {.wait = 20ms});
        auto waiter = w.start(*locks, "stock", {.wait = 1min});
        w.run_for(10ms);
        w.release(held.held);
        w.run_to([&] { return follower.held.held(); });  // the acquisition announced a turn
        w.run_for(20ms);
        BOOST_TEST((gives_up.done && !waiter.done));
        auto const ended = w.now;
        how.end(*other, *third, follower.held);
        BOOST_TEST_CONTEXT(how.name) {
            BOOST_TEST(w.wins(waiter));
            BOOST_TEST((waiter.when - ended < 5ms), (waiter.when - ended) / 1ms << " ms");
        }
    }
}

BOOST_AUTO_TEST_CASE(turn_of_a_process_that_dies_ends_within_a_second)
{
    lock_world w(3);
    auto locks = w.manager(), other = w.manager();
    auto held = w.acquire(*other, "stock", {.ttl = 2s});
    auto follower = w.start(*other, "stock", {.ttl = 200ms, .wait = 1min, .renew = renewal::none});
    w.release(held.held);
    w.run_to([&] { return follower.held.held(); });
    auto const begun = w.now;
    auto waiter = w.start(*locks, "stock", {.wait = 1min});
    auto const kept = follower.held.detach();  // the lock stays on the servers
    BOOST_TEST(w.wins(waiter));
    BOOST_TEST((waiter.when - begun < 1s + 50ms), (waiter.when - begun) / 1ms << " ms");
}

BOOST_AUTO_TEST_CASE(turn_is_shared_by_two_processes_however_the_locks_end)
{
    for (auto const& how : ways) {
        lock_world w(3);
        std::unique_ptr<lock_manager> managers[] = {w.manager(), w.manager()};
        auto third = w.manager();
        w.acquire(*third, "warm-up");
        int counts[] = {0, 0};
        clock::duration longest{};
        auto const begun = w.now;
        for (int i = 0; i < 12; ++i) {
            auto& m = *managers[i % 2];
            auto const won = [&, i](clock::duration waited) {
                ++counts[i % 2];
                if (w.now > begun + 1s)  // at first the managers do not know of each other
                    longest = std::max(longest, waited);
                return true;
            };
            acquire_repeatedly(
                w, m,
                {.resources = "stock", .hold = 2ms, .pause = 10ms, .end = [&](lock& l) { how.end(m, *third, l); }},
                won);
        }
        w.run_for(10s);
        BOOST_TEST_CONTEXT(how.name << ": " << counts[0] << " and " << counts[1] << ", longest wait " << longest / 1ms
                                    << " ms") {
            for (int const n : counts)
                BOOST_TEST(n > (counts[0] + counts[1]) / 3);
            BOOST_TEST(counts[0] + counts[1] > 10s / 15ms);
            BOOST_TEST((longest < 500ms));
        }
        for (auto& m : managers)
            w.shutdown(*m);
    }
}

BOOST_AUTO_TEST_SUITE_END()
