// An etcd server passes the suite of all nodes.

#include <redlock/testing/node_suite.hpp>

#include "support/etcd.hpp"

#include <redlock/etcd.hpp>

#include <boost/test/unit_test.hpp>

#include <exception>
#include <string>

using namespace redlock;
using namespace redlock::test;
using testing::node_kind;

BOOST_AUTO_TEST_SUITE(node_suite, *only_with_etcd())

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
    check(server().url("?timeout=10s"));
}

BOOST_AUTO_TEST_CASE(a_long_session_and_a_prefix)
{
    check(server().url("/of mine/?session=300s&timeout=10s"));
}

BOOST_AUTO_TEST_SUITE_END()
