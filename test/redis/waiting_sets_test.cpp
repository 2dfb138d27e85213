// Waiting for several locks at once, on real servers: the cost for the servers, and the notifications.

#include "core/key.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(waiting_for_sets_on_real_servers)

namespace {

std::vector<std::string> names(std::size_t count, std::size_t length)
{
    std::vector<std::string> all;
    for (std::size_t i = 0; i < count; ++i) {
        all.push_back(fmt::format("account:{:03}", i));
        all.back().resize(std::max(length, all.back().size()), 'x');
    }
    return all;
}

// The time that the server has spent on commands of clients, in microseconds. The time of EVALSHA includes the commands
// of the script.
long worked(local_server const& s)
{
    auto const statistics = s.ask({"INFO", "commandstats"});
    long sum = 0;
    for (std::string const command : {"evalsha", "exists"}) {
        auto const at = statistics.find("cmdstat_" + command + ":calls=");
        auto const usec = at == std::string::npos ? at : statistics.find("usec=", at);
        sum += usec == std::string::npos ? 0 : std::stol(statistics.substr(usec + 5));
    }
    return sum;
}

struct two_managers : connected_to<1> {
    two_managers() { r.connect(other); }
    void teardown()
    {
        r.shutdown(other);
        connected_to<1>::teardown();
    }

    real_servers::outcome acquire(lock_manager& by, bool any, std::vector<std::string> const& wanted,
                                  acquire_options options)
    {
        real_servers::outcome o;
        std::tie(o.ec, o.held) = r.wait_for<lock>([&](auto done) {
            if (any)
                by.async_acquire_any(wanted, options, std::move(done));
            else
                by.async_acquire(wanted, options, std::move(done));
        });
        return o;
    }

    // The server's time for a round, in microseconds. A denied acquisition has two rounds, of which the second is
    // tracked. The result is the minimum of some measurements, because the machine may be busy.
    long cost(bool any, std::vector<std::string> const& wanted, bool is_free)
    {
        long least = std::numeric_limits<long>::max();
        for (int tries = 0, measured = 0; measured < 5 && tries < 20; ++tries) {
            auto const before = worked(r[0]);
            auto const rounds_before = locks.stats().rounds;
            auto got = acquire(locks, any, wanted, {.ttl = 60s, .wait = is_free ? 5s : 50ms});
            auto const rounds = static_cast<long>(locks.stats().rounds - rounds_before);
            BOOST_TEST(got.held.held() == is_free);
            if (rounds >= (is_free ? 1 : 2)) {
                least = std::min(least, (worked(r[0]) - before) / rounds);
                ++measured;
            }
            r.release(got.held);
        }
        return least;
    }

    lock_manager other{r.context, r.settings()};
};

}  // namespace

// With tracking, Redis up to 7.0 stores all keys of a script once for each read in it.
BOOST_FIXTURE_TEST_CASE(acquire_of_256_taken_names_costs_the_server_little, two_managers)
{
    auto const many = names(256, 200), some = names(64, 200);  // 64: the maximum of async_acquire_any
    auto const many_free = cost(false, many, true), some_free = cost(false, some, true);
    auto const held = acquire(other, false, many, {.ttl = 60s});
    BOOST_TEST(held.held.held());
    BOOST_TEST(cost(false, many, false) < 20 * many_free);
    BOOST_TEST(cost(true, some, false) < 20 * some_free);
}

BOOST_FIXTURE_TEST_CASE(acquire_of_a_set_is_woken_by_each_of_its_holders, two_managers)
{
    auto const wanted = names(8, 20);
    for (int i = 0; i < 10; ++i) {
        auto first = r.acquire(other, wanted[1], {.ttl = 60s}), second = r.acquire(other, wanted[6], {.ttl = 60s});
        BOOST_TEST((first.held.held() && second.held.held()));
        real_servers::outcome waiter;
        auto const before = locks.stats().rounds;
        locks.async_acquire(wanted, {.ttl = 60s, .wait = 30s}, [&](error_code ec, lock l) {
            waiter.done = true, waiter.ec = ec, waiter.held = std::move(l);
        });
        BOOST_TEST(r.run_to([&] { return locks.stats().rounds >= before + 2; }));
        BOOST_TEST(!r.release(i % 2 == 0 ? first.held : second.held));
        BOOST_TEST(!r.release(i % 2 == 0 ? second.held : first.held));
        BOOST_TEST(r.run_to([&] { return waiter.done; }));
        BOOST_TEST(waiter.held.held());
        BOOST_TEST(!r.release(waiter.held));
    }
}

// The lock is handed over within a process: the key of the lock changes, and later the key of the hand-overs.
BOOST_FIXTURE_TEST_CASE(acquire_of_a_set_is_woken_by_the_end_of_hand_overs, two_managers)
{
    auto held = r.acquire(other, "a", {.ttl = 60s, .wait = 5s});
    real_servers::outcome waiter, follower;
    locks.async_acquire(std::vector<std::string>{"a", "b"}, {.ttl = 60s, .wait = 30s},
                        [&](error_code ec, lock l) { waiter.done = true, waiter.ec = ec, waiter.held = std::move(l); });
    BOOST_TEST(r.run_to([&] { return locks.stats().rounds >= 2; }));
    r.start_acquire(follower, other, "a", {.ttl = 60s, .wait = 30s});
    BOOST_TEST(r.run_to([&] { return other.stats().waiting == 1; }));
    BOOST_TEST(!r.release(held.held));
    BOOST_TEST(r.run_to([&] { return follower.done || waiter.done; }));
    BOOST_TEST(!r.release(follower.done ? follower.held : waiter.held));
    BOOST_TEST(r.run_to([&] { return follower.done && waiter.done; }));
    BOOST_TEST(!r.release(follower.held.held() ? follower.held : waiter.held));
}

BOOST_AUTO_TEST_SUITE_END()
