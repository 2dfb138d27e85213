// The meaning of answers and errors, without a server.

#include "stores/mysql/address.hpp"
#include "stores/mysql/decoder.hpp"

#include <redlock/error.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace redlock;

BOOST_AUTO_TEST_SUITE(mysql_decoder)

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

BOOST_AUTO_TEST_CASE(decode_of_a_malformed_answer_returns_unexpected_reply)
{
    std::vector<std::string> const keys{"a"};
    node_command const c{.what = commands::acquire{}, .keys = keys, .value = "v"};
    BOOST_TEST((stores::mysql::decode(c, {}).error == errc::unexpected_reply));
    BOOST_TEST((stores::mysql::decode(c, {.begun = true, .rows = {{"1", "0", "0", "1", ""}, {"1"}}}).error
                == errc::unexpected_reply));
    BOOST_TEST((stores::mysql::decode(c, {.begun = true, .rows = {{"1", "0", "0", "1", ""}}}).vote == vote::granted));
    auto contends = c;
    contends.what = commands::acquire{.contender = "c"};
    // The last columns are missing.
    BOOST_TEST((stores::mysql::decode(contends, {.begun = true, .rows = {{"0"}}}).vote == vote::denied));
}

BOOST_AUTO_TEST_CASE(presentable_replaces_the_password_by_stars)
{
    auto const a = stores::mysql::parse_address("mysql://u:geheim-1@h/db", {});
    BOOST_TEST(stores::mysql::presentable("no\ngeheim-1 here, geheim-1", a) == "no *** here, ***");
    auto const same = stores::mysql::parse_address("mysql://db:db@h/db", {});
    BOOST_TEST(stores::mysql::presentable("Unknown database 'db'", same) == "Unknown database 'db'");
}

BOOST_AUTO_TEST_SUITE_END()
