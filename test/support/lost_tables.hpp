#pragma once

#include "support/real_servers.hpp"

#include <functional>

namespace redlock::test {

/// A database loses its tables while locks may be held: a manager that comes afterwards is quarantined, and so is one that was connected.
inline void check_quarantine_after(real_servers& r, config const& settings, std::function<void()> const& lose_tables)
{
    lock_manager connected(r.context, settings);
    BOOST_TEST(!r.release(r.acquire(connected, "stock").held));
    lose_tables();
    lock_manager late(r.context, settings);
    for (auto* const locks : {&late, &connected}) {
        real_servers::outcome tried;
        BOOST_TEST(r.run_to([&] {
            tried = r.acquire(*locks, "stock", {.ttl = 20s});
            return !tried.ec || tried.ec == errc::quarantined;
        }), tried.report.message);
        BOOST_TEST((tried.ec == errc::quarantined), (locks == &late ? "late: " : "connected: ") << tried.report.message);
    }
}

}  // namespace redlock::test
