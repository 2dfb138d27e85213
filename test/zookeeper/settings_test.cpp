// Settings of servers that people change: each must not matter, or be named.

#include "stores/store.hpp"

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(settings_of_zookeeper, event_loop, *only_with_server())

// Each manager has one connection, so two managers fit.
BOOST_AUTO_TEST_CASE(acquire_with_two_connections_for_each_client_succeeds)
{
    zookeeper_server s({"maxClientCnxns=2"});
    check_locks(r, on(s.url()));
    lock_manager one(r.context, on(s.url())), two(r.context, on(s.url()));
    auto held = hold(r, one, "stock", {.ttl = 20s, .wait = 20s});
    BOOST_TEST((r.acquire(two, "stock").ec == errc::contended));
    auto const third = r.attempt(on(s.url()), {.wait = 300ms});
    BOOST_TEST((third.ec == errc::no_quorum));
    BOOST_TEST(third.report.nodes.at(0).message.find("127.0.0.1") != std::string::npos, third.report.nodes[0].message);
    BOOST_TEST(!r.release(held));
    r.shutdown(one);
    r.shutdown(two);
}

BOOST_AUTO_TEST_CASE(acquire_on_a_server_with_read_only_mode_succeeds)
{
    zookeeper_server s({"readonlymode.enabled=true"}, {"-Dreadonlymode.enabled=true"});
    check_locks(r, on(s.url()));
}

BOOST_AUTO_TEST_SUITE_END()
