// The transactions do what the double in memory does.

#include "stores/store.hpp"
#include "support/random_steps.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(steps, *only_with_server())

BOOST_AUTO_TEST_CASE(the_server_does_what_the_double_in_memory_does_in_any_order)
{
    auto const url = server().url(this_store::apart + std::string("?session=600s&timeout=10s"));
    do_random_steps([&] { return make_node(url); }, {}, repertoire::session);
}

BOOST_AUTO_TEST_SUITE_END()
