#pragma once

#include "support/only_if.hpp"
#include "support/real_servers.hpp"
#include "this_store.hpp"  // of the folder of each store: the cases in test/stores are compiled for each of them

#include <redlock/config.hpp>

#include <boost/test/unit_test.hpp>

#include <memory>
#include <string>
#include <utility>

namespace redlock::test {

inline auto only_with_server() { return only_if(this_store::is_here(), this_store::missing); }

/// One for all cases that do it no harm. What is committed need not last.
inline this_store::server& server()
{
    static this_store::server one(this_store::quick);
    return one;
}

/// What most cases begin with.
struct event_loop {
    real_servers r{0};
};

/// A node by itself.
inline std::shared_ptr<node> make_node(std::string const& url, config const& c = {})
{
    auto const claim = [](std::string const&, std::string const&) { return std::string(); };
    return this_store::make().make(url, c, {.claim = claim});
}

/// Of a manager of one more node; what is not @p special has patience.
inline config on(std::string url, config special = {})
{
    special.nodes.push_back(std::move(url));
    special.stores = {this_store::make()};
    if (special.node_timeout == config().node_timeout)
        special.node_timeout = patience;
    return special;
}

/// A lock that is granted.
inline lock hold(real_servers& r, lock_manager& locks, std::string const& name, acquire_options const& o = {})
{
    auto won = r.acquire(locks, name, o);
    BOOST_REQUIRE_MESSAGE(!won.ec, won.report.message);
    return std::move(won.held);
}

/// What is said of the only node, which has no vote. Passwords are not.
inline node_report trouble_of(real_servers::outcome const& tried)
{
    BOOST_TEST(tried.ec.failed());
    BOOST_TEST_REQUIRE(tried.report.nodes.size() == 1u);
    BOOST_TEST(tried.report.message.find("geheim") == std::string::npos);
    return tried.report.nodes[0];
}

}  // namespace redlock::test
