// The statements that are sent, without a server.

#include "stores/mysql/encoder.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;

BOOST_AUTO_TEST_SUITE(mysql_encoder)

BOOST_AUTO_TEST_CASE(encode_writes_hexadecimal_digits_and_sorted_keys_with_lengths)
{
    std::vector<std::string> const keys{"b'", std::string("a\0", 2)};
    node_command c{.what = commands::release{}, .keys = keys, .value = "v"};
    BOOST_TEST(stores::mysql::encode(c, false, "locks")
               == "CALL locks_release(x'303030326100303030326227', x'76', NULL, 0)");
    BOOST_TEST(stores::mysql::encode(c, true, "locks")
               // The tombstone is for the first key in the order of preference.
               == "CALL locks_release(x'303030326100303030326227', x'76', x'6227', 0)");
    c = {.what = commands::acquire{.any = true, .contender = "c"},
         .keys = keys,
         .value = "v",
         .ttl = std::chrono::milliseconds(7)};
    BOOST_TEST(
        stores::mysql::encode(c, false, "locks")
        == "CALL locks_acquire_any(x'303030326100303030326227', x'303030326227303030326100', x'76', 7, 0, x'63', 0)");
}

BOOST_AUTO_TEST_CASE(encode_scan_limits_the_keys_to_those_behind_the_place)
{
    auto const scan = [](std::string const& prefix, std::string_view place) {
        std::vector<std::string> const keys{prefix};
        return stores::mysql::encode_scan({.what = commands::scan{.limit = 3}, .keys = keys, .value = place}, "locks");
    };
    constexpr auto end = " AND expires > UTC_TIMESTAMP(6) ORDER BY lock_key LIMIT 3";
    std::string const begin = "SELECT lock_key FROM locks WHERE lock_key >= ";
    BOOST_TEST(scan("a\x7f\xff\xff", "") == begin + "x'617fffff' AND lock_key < x'6180'" + end);
    BOOST_TEST(scan("a", "ab'") == begin + "x'61622700' AND lock_key < x'62'" + end);
    BOOST_TEST(scan("\xff", "") == begin + "x'ff'" + end);
    BOOST_TEST(scan("", "") == begin + "x''" + end);
}

BOOST_AUTO_TEST_SUITE_END()
