#pragma once

#include "testbed/zookeeper_server.hpp"

#include <redlock/config.hpp>
#include <redlock/zookeeper.hpp>

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace redlock::test {

using testbed::zookeeper_server;

/// Tests that need a ZooKeeper server are left out, and that is said, where there is none.
inline auto only_with_zookeeper()
{
    return boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
        boost::test_tools::assertion_result can(!testbed::zookeeper_class_path().empty());
        can.message() << "skipped: there is no ZooKeeper server here (Debian's packages zookeeper and default-jre-headless)";
        return can;
    });
}

/// A node by itself.
inline std::shared_ptr<node> make_node(std::string const& url, config const& c = {})
{
    return zookeeper().make(url, c, {.claim = [](std::string const&, std::string const&) { return std::string(); }});
}

/// Of a manager of one node; what is not @p special has patience.
inline config settings(std::string url, config special = {})
{
    special.nodes = {std::move(url)};
    special.stores = {zookeeper()};
    if (special.node_timeout == config().node_timeout)
        special.node_timeout = std::chrono::seconds(3);
    return special;
}

/// One for all cases that do it no harm.
inline zookeeper_server& server()
{
    static zookeeper_server one;
    return one;
}

}  // namespace redlock::test
