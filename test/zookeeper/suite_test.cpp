// A ZooKeeper server passes the suite of all nodes.

#include <redlock/testing/node_suite.hpp>

#include "support/zookeeper.hpp"

#include <redlock/zookeeper.hpp>

#include <boost/test/unit_test.hpp>

#include <exception>
#include <string>

using namespace redlock;
using namespace redlock::test;
using testing::node_kind;

BOOST_AUTO_TEST_SUITE(node_suite, *only_with_zookeeper())

namespace {

void check(std::string const& url)
{
    node_kind const kind{.make = [url] { return make_node(url); }, .heals = false, .locks_any = false, .shares = false};
    for (auto const& c : testing::node_cases()) {
        if (!c.concerns(kind))
            continue;
        try {
            c.run(kind);
        } catch (std::exception const& e) {
            BOOST_ERROR(std::string(c.name) + ": " + e.what());
        }
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_real_server)
{
    check(server().url("?session=1s&timeout=10s"));
}

BOOST_AUTO_TEST_CASE(a_long_session_and_a_user)
{
    zookeeper_server s;
    check("zookeeper://app:pass-word@127.0.0.1:" + std::to_string(s.port()) + "?session=15s&timeout=10s");
}

BOOST_AUTO_TEST_SUITE_END()
