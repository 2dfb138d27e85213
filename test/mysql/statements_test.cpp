// The statements that are sent, and the meaning of errors, without a server.

#include "stores/mysql/address.hpp"
#include "stores/mysql/statements.hpp"

#include <redlock/error.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace redlock;
using kind = node_command::kind;

BOOST_AUTO_TEST_SUITE(statements_for_mysql)

BOOST_AUTO_TEST_CASE(put_writes_hexadecimal_digits_and_sorted_keys_with_lengths)
{
    std::vector<std::string> const keys{"b'", std::string("a\0", 2)};
    node_command c{.what = commands::release{}, .keys = keys, .value = "v"};
    BOOST_TEST(stores::mysql::put(c, false, "locks")
               == "CALL locks_release(x'303030326100303030326227', x'76', NULL, 0)");
    BOOST_TEST(stores::mysql::put(c, true, "locks")
               // The tombstone is for the first key in the order of preference.
               == "CALL locks_release(x'303030326100303030326227', x'76', x'6227', 0)");
    c = {.what = commands::acquire{.any = true, .contender = "c"},
         .keys = keys,
         .value = "v",
         .ttl = std::chrono::milliseconds(7)};
    BOOST_TEST(
        stores::mysql::put(c, false, "locks")
        == "CALL locks_acquire_any(x'303030326100303030326227', x'303030326227303030326100', x'76', 7, 0, x'63', 0)");
}

BOOST_AUTO_TEST_CASE(put_scan_limits_the_keys_to_those_behind_the_place)
{
    auto const scan = [](std::string const& prefix, std::string_view place) {
        std::vector<std::string> const keys{prefix};
        return stores::mysql::put_scan({.what = commands::scan{.limit = 3}, .keys = keys, .value = place}, "locks");
    };
    constexpr auto end = " AND expires > UTC_TIMESTAMP(6) ORDER BY lock_key LIMIT 3";
    std::string const begin = "SELECT lock_key FROM locks WHERE lock_key >= ";
    BOOST_TEST(scan("a\x7f\xff\xff", "") == begin + "x'617fffff' AND lock_key < x'6180'" + end);
    BOOST_TEST(scan("a", "ab'") == begin + "x'61622700' AND lock_key < x'62'" + end);
    BOOST_TEST(scan("\xff", "") == begin + "x'ff'" + end);
    BOOST_TEST(scan("", "") == begin + "x''" + end);
}

BOOST_AUTO_TEST_CASE(refusal_before_a_result_is_untouched_and_after_it_is_not)
{
    auto const reply = [](unsigned error, bool begun) {
        return stores::mysql::refusal({.error = error, .text = "words", .begun = begun});
    };
    for (unsigned const error : {1205u, 1317u, 1290u, 4711u}) {
        BOOST_TEST(reply(error, false).untouched);
        BOOST_TEST(!reply(error, true).untouched);
    }
    BOOST_TEST(reply(stores::mysql::deadlock, true).untouched);  // a cluster refuses the commit
    for (unsigned const error : {2006u, 2013u, 1053u, 1927u}) {  // the connection has ended
        BOOST_TEST(!reply(error, false).untouched);
        BOOST_TEST((reply(error, false).error == errc::connection_lost));
        BOOST_TEST(stores::mysql::ends_connection(error));
    }
    BOOST_TEST((reply(stores::mysql::deadlock, false).error == errc::node_busy));
    BOOST_TEST((reply(1290, false).error == errc::node_read_only));
    BOOST_TEST((reply(4711, false).error == errc::server_error));
    BOOST_TEST((stores::mysql::why_not({.error = 2003}).error == errc::node_unreachable));
}

BOOST_AUTO_TEST_CASE(interpret_of_a_malformed_answer_returns_unexpected_reply)
{
    std::vector<std::string> const keys{"a"};
    node_command const c{.what = commands::acquire{}, .keys = keys, .value = "v"};
    BOOST_TEST((stores::mysql::interpret(c, {}).error == errc::unexpected_reply));
    BOOST_TEST((stores::mysql::interpret(c, {.begun = true, .rows = {{"1", "0", "0", "1", ""}, {"1"}}}).error
                == errc::unexpected_reply));
    BOOST_TEST(
        (stores::mysql::interpret(c, {.begun = true, .rows = {{"1", "0", "0", "1", ""}}}).vote == vote::granted));
    auto contends = c;
    contends.what = commands::acquire{.contender = "c"};
    // The last columns are missing.
    BOOST_TEST((stores::mysql::interpret(contends, {.begun = true, .rows = {{"0"}}}).vote == vote::denied));
}

BOOST_AUTO_TEST_CASE(presentable_replaces_the_password_by_stars)
{
    auto const a = stores::mysql::parse_address("mysql://u:geheim-1@h/db", {});
    BOOST_TEST(stores::mysql::presentable("no\ngeheim-1 here, geheim-1", a) == "no *** here, ***");
    auto const same = stores::mysql::parse_address("mysql://db:db@h/db", {});
    BOOST_TEST(stores::mysql::presentable("Unknown database 'db'", same) == "Unknown database 'db'");
}

BOOST_AUTO_TEST_SUITE_END()
