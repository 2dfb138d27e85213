// Compares the transactions of a store with the lock table in memory, in random steps.

#include "stores/store.hpp"
#include "support/random_steps.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(steps, *only_with_server())

BOOST_AUTO_TEST_CASE(transactions_in_random_order_behave_like_lock_table)
{
    auto const url = server().url(this_store::apart + std::string("?session=600s&timeout=10s"));
    do_random_steps([&] { return make_node(url); }, {}, repertoire::session);
}

BOOST_AUTO_TEST_SUITE_END()
