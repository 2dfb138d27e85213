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

namespace {

// What a Redis Cluster hashes of a key.
std::string slot_of(std::string const& key)
{
    auto const open = key.find('{');
    if (open == key.npos)
        return key;
    auto const close = key.find('}', open);
    return close == key.npos || close == open + 1 ? key : key.substr(open + 1, close - open - 1);
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_belongs_to_a_lock_is_in_its_slot)
{
    BOOST_TEST(fence_key("lock:stock") == "{lock:stock}:fence");
    BOOST_TEST(fence_key("lock:{shop}:stock") == "lock:{shop}:stock:fence");
    BOOST_TEST(tombstone_key("lock:stock", "v") == "lock:stock:gone:{lock:stock}:v");
    BOOST_TEST(tombstone_key("lock:{shop}:stock", "v") == "lock:{shop}:stock:gone:v");
    for (std::string const key : {"a", "lock:a b", "lock:{a}", "{a}b{c}", "a{}b"}) {
        if (slot_of(key) != key || key.find('{') == key.npos) {
            BOOST_TEST(slot_of(fence_key(key)) == slot_of(key));
            BOOST_TEST(slot_of(tombstone_key(key, "v{x}")) == slot_of(key));
        }
        BOOST_TEST(tombstone_key(key, "v").substr(0, key.size()) == key);
    }
}

BOOST_AUTO_TEST_CASE(the_key_of_a_turn_tells_which_lock_it_is_of)
{
    BOOST_TEST(turn_key("lock:stock") == "lock:stock:turn:{lock:stock}");
    BOOST_TEST(turn_key("lock:{shop}:stock") == "lock:{shop}:stock:turn");
    for (std::string const key : {"k", "lock:stock", "lock:{shop}:stock", "lock:a:turn", "lock:a:turn:{lock:b}", "lock:{a}:turn"}) {
        BOOST_TEST(lock_of_turn_key(turn_key(key)) == key);
        BOOST_TEST(slot_of(turn_key(key)) == slot_of(key));
    }
    for (std::string const key : {"lock:{}", "{", "}"})
        BOOST_TEST(lock_of_turn_key(turn_key(key)) == key);
    for (std::string const key : {"", ":turn", "lock:a", "lock:a:turn", "lock:a:turn:{lock:b}", "lock:a:turn:{lock:a", ":turn:{}"})
        BOOST_TEST(lock_of_turn_key(key) == "");
}

BOOST_AUTO_TEST_SUITE_END()
