#pragma once

#include "support/long_proof.hpp"
#include "support/real_servers.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <ctime>
#include <string>
#include <utility>
#include <vector>

namespace redlock::test {

/// Processor time of this thread, so that other processes on a busy machine do not count.
inline std::chrono::nanoseconds worked()
{
    timespec t{};
    ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return std::chrono::seconds(t.tv_sec) + std::chrono::nanoseconds(t.tv_nsec);
}

/// The cost of losing thousands of locks of one manager when their server stops.
struct cost_of_losses {
    std::chrono::nanoseconds work{};          ///< from the stop until all locks are lost
    std::chrono::nanoseconds longest_turn{};  ///< longest handler; it delays all others, such as renewals
};

/// Holds @p count locks with automatic renewal, and stops the server until all are lost.
template <class Server>
cost_of_losses lose_all(Server& s, manager_options const& settings, std::size_t count)
{
    real_servers r(0);
    lock_manager locks(r.context, settings);
    std::vector<lock> held;
    std::size_t lost = 0;
    cost_of_losses cost;
    auto const turn_until = [&](auto const& done) {
        return r.run_to(
            [&, before = worked()]() mutable {
                cost.longest_turn = std::max(cost.longest_turn, worked() - std::exchange(before, worked()));
                return done();
            },
            300s);
    };
    for (std::size_t next = 0; next < count;) {  // in groups, so that requests do not wait in a queue
        auto const end = std::min(count, next + 200);
        for (; next < end; ++next) {
            acquire_options const o{.ttl = 10s, .wait = 60s, .renew = renewal::automatic};
            locks.async_acquire("item:" + std::to_string(next), o, [&](error_code ec, lock l) {
                BOOST_TEST(!ec);
                held.push_back(std::move(l));
                held.back().async_wait_lost([&](error_code why) { lost += why == errc::lost; });
            });
        }
        BOOST_TEST_REQUIRE(turn_until([&] { return held.size() == end; }));
    }
    auto const before = worked();
    s.pause();
    BOOST_TEST(turn_until([&] { return lost == count; }));
    cost.work = worked() - before;
    s.resume();
    held.clear();
    r.shutdown(locks);
    return cost;
}

/// Checks that no handler of the event loop takes long. In a long proof, it checks that the work grows linearly with
/// the number of locks: about 5 times for 4 times the locks. With ZooKeeper, it was once 8 times.
template <class Server>
void lose_thousands(Server& s, manager_options const& settings)
{
    auto const many = lose_all(s, settings, pick(4'000, 10'000));
    BOOST_TEST((many.longest_turn < 300ms));
    if (long_proof())
        BOOST_TEST(many.work.count() < lose_all(s, settings, 2'500).work.count() * 13 / 2);
}

}  // namespace redlock::test
