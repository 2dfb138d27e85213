// Every kind of nodes passes the suite that others run over theirs.

#include <redlock/testing/node_suite.hpp>

#include "make_node.hpp"
#include "support/real_servers.hpp"

#include <redlock/memory_server.hpp>

#include <boost/test/unit_test.hpp>

#include <exception>
#include <string>

using namespace redlock;
using namespace redlock::test;
using testing::node_kind;

namespace {

// Nodes as config::nodes names them.
node_kind named(std::string url)
{
    return {.make = [url] { return make_nodes({.nodes = {url}, .fencing = true}).front(); }};
}

void check(node_kind const& kind)
{
    std::size_t played = 0;
    for (auto const& c : testing::node_cases()) {
        if (!c.concerns(kind))
            continue;
        ++played;
        try {
            c.run(kind);
        } catch (std::exception const& e) {
            BOOST_ERROR(std::string(c.name) + ": " + e.what());
        }
    }
    BOOST_TEST(played >= (kind.contends ? 40u : 26u));
}

}  // namespace

BOOST_AUTO_TEST_SUITE(node_suite)

BOOST_AUTO_TEST_CASE(the_memory_server)
{
    auto const keep = memory_server::at("suite");
    check(named("memory://suite"));
}

BOOST_AUTO_TEST_CASE(the_memory_server_with_sessions)
{
    auto const keep = memory_server::at("suite-session");
    keep->set_session(std::chrono::milliseconds(300));
    check(named("memory://suite-session"));
}

BOOST_AUTO_TEST_CASE(a_real_server)
{
    local_server s;
    check(named("redis://127.0.0.1:" + std::to_string(s.port())));
}

BOOST_AUTO_TEST_SUITE_END()
