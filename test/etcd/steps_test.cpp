// The transactions do what the double in memory does.

#include "support/etcd.hpp"
#include "support/session_steps.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(steps, *only_with_etcd())

BOOST_AUTO_TEST_CASE(the_server_does_what_the_double_in_memory_does_in_any_order)
{
    auto const url = server().url("/steps/?session=600s&timeout=10s");
    compare_with_the_double_in_memory([&] { return make_node(url); });
}

BOOST_AUTO_TEST_SUITE_END()
