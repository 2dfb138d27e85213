#pragma once

#include "stores/store.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <string>

namespace redlock::test {

inline std::string address_of(this_store::server const& s, std::string const& user, std::string const& rest = {})
{
    return this_store::url_at(s.port(), user, rest);
}

/// Checks quarantines after a database loses its tables: for a manager that was connected, and for a new one.
inline void check_quarantine_after(real_servers& r, manager_options const& settings,
                                   std::function<void()> const& lose_tables)
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
        }),
                   tried.report.message);
        BOOST_TEST((tried.ec == errc::quarantined), (locks == &late ? "late: " : "connected: ")
                                                        << tried.report.message);
    }
}

/// Starts as a user without permissions, and executes the GRANT of each error message until an acquisition succeeds.
inline void check_grants(real_servers& r, this_store::server const& s, std::string const& url)
{
    auto tried = r.attempt(on(url));
    BOOST_TEST(tried.ec.failed());
    for (int grants = 0; tried.ec && grants < 3; ++grants) {
        auto const& message = tried.report.nodes.at(0).message;
        BOOST_TEST((tried.report.nodes[0].error == errc::permission_denied), message);
        auto const at = message.find("GRANT ");
        BOOST_REQUIRE_MESSAGE(at != message.npos, message);
        BOOST_TEST(ask(s, message.substr(at)) == "", message);
        tried = r.attempt(on(url));
    }
    BOOST_TEST(!tried.ec, tried.report.message);
}

/// Checks that the permissions of this user are enough for all operations of a manager.
inline void check_rights(real_servers& r, std::string const& url)
{
    lock_manager locks(r.context, on(url, {.fencing = true}));
    auto won = r.acquire(locks, "stock", {.ttl = 20s});
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    BOOST_TEST(!r.extend(won.held, 20s));
    BOOST_TEST((r.acquire(locks, "stock", {.ttl = 20s, .wait = 50ms}).ec == errc::contended));
    BOOST_TEST(!r.release(won.held));
    // The server may still remember the denied acquisition above, so this one waits.
    auto shared = r.acquire(locks, "stock", {.ttl = 20s, .wait = 20s, .mode = mode::shared});
    BOOST_TEST(!shared.ec, shared.report.message);
    BOOST_TEST(!r.release(shared.held));
}

}  // namespace redlock::test
