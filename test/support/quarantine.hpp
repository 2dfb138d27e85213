#pragma once

#include "support/real_servers.hpp"
#include "support/virtual_clock.hpp"

#include <string>
#include <utility>

namespace redlock::test {

/// Waits until the manager has cleaned up, then skips time. Pending operations would time out.
inline void skip_idle_time(real_servers& r, lock_manager& locks, clock::duration d)
{
    r.run_to([&] { return locks.stats().cleaning == 0; }, 5s);
    skip_time(d);
}

/// Skips time until no quarantine refuses the acquisition. If @ref acquire_options::wait is set, it also waits while
/// another client holds the lock. A lost connection may begin another quarantine.
inline real_servers::outcome acquire_after_quarantine(real_servers& r, lock_manager& locks, std::string const& name,
                                                      acquire_options o)
{
    bool const may_be_contended = std::exchange(o.wait, 0ms) == 0ms;
    real_servers::outcome tried;
    auto const answered = [&] {
        tried = r.acquire(locks, name, o);
        return tried.ec != errc::no_quorum && (may_be_contended || tried.ec != errc::contended);
    };
    BOOST_TEST(r.run_to(answered), tried.report.message);
    for (int i = 0; i < 100 && tried.ec == errc::quarantined; ++i) {
        bool const is_known = tried.report.quarantine > 0ms;  // a cluster does not report the time
        skip_idle_time(r, locks, is_known ? tried.report.quarantine + 10ms : 1s);
        BOOST_TEST(r.run_to(answered), tried.report.message);
    }
    return tried;
}

/// Acquires until a quarantine refuses, and returns that outcome.
inline real_servers::outcome wait_for_quarantine(real_servers& r, lock_manager& locks, std::string const& name,
                                                 acquire_options const& o)
{
    real_servers::outcome tried;
    BOOST_TEST(r.run_to([&] {
        tried = r.acquire(locks, name, o);
        return tried.ec == errc::quarantined;
    }),
               tried.report.message);
    return tried;
}

/// Shuts down, and skips the time in which unreachable servers may still carry out requests.
inline void shut_down_and_skip_time(real_servers& r, lock_manager& locks)
{
    bool done = false;
    locks.async_shutdown([&](error_code) { done = true; });
    r.run_to([&] { return done; }, 50ms);
    skip_time(1min);
    BOOST_TEST(r.run_to([&] { return done; }));
}

}  // namespace redlock::test
