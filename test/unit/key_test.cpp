#include "core/key.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::core;

BOOST_AUTO_TEST_SUITE(key)

BOOST_AUTO_TEST_CASE(a_token_is_128_bits_and_the_owner)
{
    BOOST_TEST(make_token(0x0123456789abcdef, 0xf, "web:1") == "0123456789abcdef000000000000000f:web:1");
}

BOOST_AUTO_TEST_CASE(the_owner_is_found_again)
{
    BOOST_TEST(owner_in(make_token(1, 2, "host:42")) == "host:42");
    BOOST_TEST(owner_in(make_token(1, 2, "")) == "");
}

BOOST_AUTO_TEST_CASE(foreign_values_have_no_owner)
{
    BOOST_TEST(owner_in("") == "");
    BOOST_TEST(owner_in("some-uuid-of-another-client-0123:456") == "");
    BOOST_TEST(owner_in(std::string(32, '0')) == "");
    BOOST_TEST(owner_in(std::string(32, 'G') + ":x") == "");
}

BOOST_AUTO_TEST_SUITE_END()
