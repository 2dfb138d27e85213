#pragma once

#include "support/real_servers.hpp"

#include <chrono>
#include <cstddef>
#include <deque>
#include <string>
#include <vector>

namespace redlock::test {

/// Stops the leader of a cluster for longer than sessions of two seconds last, and resumes it. Managers that start
/// before, meanwhile and afterwards wait for held locks. No manager may get a lock before the holder's validity is
/// over, because a paused holder relies on it until then.
template <class Server>
void take_over_while_stopped(Server& leader, manager_options const& settings)
{
    constexpr std::size_t count = 9;
    real_servers r(0);
    std::deque<lock_manager> holders, others;
    std::vector<lock> held;
    std::vector<clock::time_point> valid_until(count);
    for (std::size_t i = 0; i < count; ++i) {
        holders.emplace_back(r.context, settings);
        acquire_options const o{.ttl = 10s, .wait = 20s, .renew = renewal::automatic};
        held.push_back(r.acquire(holders.back(), std::to_string(i), o).held);
        BOOST_REQUIRE(held.back().held());
    }
    std::size_t too_early = 0;
    auto const take = [&](std::size_t first) {  // every third lock
        for (auto i = first; i < count; i += 3) {
            others.emplace_back(r.context, settings);
            others.back().async_acquire(std::to_string(i), {.ttl = 10s, .wait = 60s}, [&, i](error_code ec, lock) {
                too_early += !ec && clock::now() < valid_until[i] ? 1 : 0;
            });
        }
    };
    auto const run_for = [&](clock::duration d) {
        auto const end = clock::now() + d;
        r.run_to([&] {
            for (std::size_t i = 0; i < count; ++i) {
                if (held[i].held())
                    valid_until[i] = held[i].valid_until();
                else if (valid_until[i] - clock::now() < 500ms)
                    valid_until[i] = {};  // the manager gave up the lock in time
            }
            return clock::now() >= end;
        });
    };
    take(0);
    run_for(300ms);

    leader.pause();
    run_for(1500ms);
    take(1);
    run_for(1s);
    leader.resume();
    take(2);
    run_for(1500ms);

    BOOST_TEST(too_early == 0u);
    for (auto* const some : {&others, &holders}) {
        for (auto& m : *some)
            r.shutdown(m);
    }
}

}  // namespace redlock::test
