#pragma once

#include "support/real_servers.hpp"
#include "support/virtual_clock.hpp"

#include <string>
#include <utility>

namespace redlock::test {

/// The manager has nothing under way, which would time out.
inline void skip_idle_time(real_servers& r, lock_manager& locks, clock::duration d)
{
    r.run_to([&] { return locks.stats().cleaning == 0; }, 5s);
    skip_time(d);
}

/// Skips time until an acquisition is not refused because of a quarantine any more. With @ref acquire_options::wait, it
/// does not count that somebody else has the lock. A connection that is lost meanwhile may begin another quarantine.
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
        bool const is_known = tried.report.quarantine > 0ms;  // a cluster tells of no time
        skip_idle_time(r, locks, is_known ? tried.report.quarantine + 10ms : 1s);
        BOOST_TEST(r.run_to(answered), tried.report.message);
    }
    return tried;
}

/// The first outcome that is a quarantine.
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

/// Does not wait for what servers that are away may still carry out.
inline void shut_down_without_patience(real_servers& r, lock_manager& locks)
{
    bool done = false;
    locks.async_shutdown([&](error_code) { done = true; });
    r.run_to([&] { return done; }, 50ms);
    skip_time(1min);
    BOOST_TEST(r.run_to([&] { return done; }));
}

}  // namespace redlock::test
