#pragma once

#include "testbed/etcd_server.hpp"

#include <redlock/config.hpp>
#include <redlock/etcd.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace redlock::test {

using testbed::etcd_server;

/// Tests that need an etcd server are left out, and that is said, where there is none.
inline auto only_with_etcd()
{
    return boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
        boost::test_tools::assertion_result can(!testbed::etcd_program().empty() && !testbed::etcdctl_program().empty());
        can.message() << "skipped: there is no etcd server here (Debian's packages etcd-server and etcd-client)";
        return can;
    });
}

/// A node by itself.
inline std::shared_ptr<node> make_node(std::string const& url, config const& c = {})
{
    return etcd().make(url, c, {.claim = [](std::string const&, std::string const&) { return std::string(); }});
}

/// Of a manager of one node; what is not @p special has patience.
inline config settings(std::string url, config special = {})
{
    special.nodes = {std::move(url)};
    special.stores = {etcd()};
    if (special.node_timeout == config().node_timeout)
        special.node_timeout = std::chrono::seconds(3);
    return special;
}

/// One for all cases that do it no harm.
inline etcd_server& server()
{
    static etcd_server one({"--heartbeat-interval=10", "--election-timeout=50"});
    return one;
}

}  // namespace redlock::test
