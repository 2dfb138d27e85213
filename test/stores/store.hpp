#pragma once

#include "support/only_if.hpp"
#include "support/real_servers.hpp"
#include "this_store.hpp"  // each store has its own; the cases in test/stores are compiled for each store

#include <redlock/manager_options.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <utility>

namespace redlock::test {

inline auto only_with_server() { return only_if(this_store::is_here(), this_store::missing); }

/// One server for all cases that leave it intact. It need not be durable.
inline this_store::server& server()
{
    static this_store::server one(this_store::quick);
    return one;
}

/// The fixture of most cases.
struct event_loop {
    real_servers r{0};
};

/// A node without a manager.
inline std::shared_ptr<node> make_node(std::string const& url, manager_options const& c = {})
{
    auto const claim = [](std::string const&, std::string const&) { return std::string(); };
    return this_store::make().make(url, c, {.claim = claim});
}

/// The settings @p special with one more node, and a long node_timeout unless it is set.
inline manager_options on(std::string url, manager_options special = {})
{
    special.nodes.push_back(std::move(url));
    special.stores = {this_store::make()};
    if (special.node_timeout == manager_options().node_timeout)
        special.node_timeout = busy_timeout;
    return special;
}

/// Acquires a lock, which must succeed.
inline lock hold(real_servers& r, lock_manager& locks, std::string const& name, acquire_options const& o = {})
{
    auto won = r.acquire(locks, name, o);
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    return std::move(won.held);
}

/// The report about the only node of a failed acquisition. The message must not contain the password.
inline node_report trouble_of(real_servers::outcome const& tried)
{
    BOOST_TEST(tried.ec.failed());
    BOOST_TEST_REQUIRE(tried.report.nodes.size() == 1u);
    BOOST_TEST(tried.report.message.find("geheim") == std::string::npos);
    return tried.report.nodes[0];
}

/// A lock is held, waited for, extended, and released. Between these, nothing is sent for @p pause.
inline void check_locks(real_servers& r, manager_options const& settings, std::chrono::milliseconds pause = {})
{
    lock_manager mine(r.context, settings), others(r.context, settings);
    auto won = r.acquire(mine, "stock", {.ttl = 30s, .wait = 20s});
    BOOST_TEST(!won.ec, won.report.message);
    real_servers::outcome waiter;
    r.start_acquire(waiter, others, "stock", {.ttl = 30s, .wait = 30s, .explain = true});
    BOOST_TEST(r.run_to([&] { return others.stats().rounds > 0; }));
    if (pause.count() > 0)
        r.run_to([] { return false; }, pause);
    BOOST_TEST(r.run_to([&] { return !r.extend(won.held, 30s) || !won.held.held(); }));
    BOOST_TEST(won.held.held());
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(r.run_to([&] { return waiter.done; }));
    BOOST_TEST(!waiter.ec, waiter.report.message);
    BOOST_TEST(!r.release(waiter.held));
    r.shutdown(mine);
    r.shutdown(others);
}

}  // namespace redlock::test
