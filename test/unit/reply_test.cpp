#include "redis/reply.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using redis::interpret;
using redis::interpret_error;
using boost::redis::resp3::type;
using kind = node_operation::kind;

BOOST_AUTO_TEST_SUITE(replies)

namespace {

redis::reply make(type t, std::string text, std::vector<std::string> elements = {})
{
    return {t, std::move(text), std::move(elements)};
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_servers_answer_becomes_a_vote)
{
    BOOST_TEST((interpret(kind::acquire, make(type::simple_string, "OK")).vote == vote::granted));
    BOOST_TEST((interpret(kind::acquire, make(type::null, "")).vote == vote::denied));
    for (auto k : {kind::extend, kind::release}) {
        BOOST_TEST((interpret(k, make(type::number, "1")).vote == vote::granted));
        BOOST_TEST((interpret(k, make(type::number, "0")).vote == vote::denied));
    }
    auto const r = interpret(kind::inspect, make(type::array, "", {"value", "1234"}));
    BOOST_TEST((r.vote == vote::granted));
    BOOST_TEST(r.text == "value");
    BOOST_TEST(r.remaining.count() == 1234);
    BOOST_TEST((interpret(kind::inspect, make(type::null, "")).vote == vote::denied));
}

BOOST_AUTO_TEST_CASE(anything_else_is_unknown_and_cleaned_up)
{
    redis::reply const odd[] = {make(type::simple_string, "PONG"), make(type::number, "2"), make(type::blob_string, "OK"),
                                make(type::array, "", {"a", "b", "c"}), make(type::map, "", {"a", "b"}),
                                make(type::array, "", {"value", "soon"})};
    for (auto const& o : odd) {
        for (auto k : {kind::acquire, kind::extend, kind::release, kind::inspect}) {
            auto const r = interpret(k, o);
            BOOST_TEST((r.vote == vote::unknown));
            BOOST_TEST((r.error == errc::unexpected_reply));
            BOOST_TEST(!r.untouched);
        }
    }
}

BOOST_AUTO_TEST_CASE(rule_13_each_refusal_has_an_error_of_its_own_and_leaves_nothing_behind)
{
    std::pair<char const*, errc> const refusals[] = {
        {"LOADING Redis is loading the dataset in memory", errc::node_loading},
        {"READONLY You can't write against a read only replica.", errc::node_read_only},
        {"MASTERDOWN Link with MASTER is down", errc::node_read_only},
        {"BUSY Redis is busy running a script.", errc::node_busy},
        {"OOM command not allowed when used memory > 'maxmemory'.", errc::node_out_of_memory},
        {"OOM command not allowed when used memory > 'maxmemory'. script: 4ca2, on @user_script:7.", errc::node_out_of_memory},
        {"NOAUTH Authentication required.", errc::authentication_failed},
        {"WRONGPASS invalid username-password pair or user is disabled.", errc::authentication_failed},
        {"NOPERM this user has no permissions to run the 'set' command", errc::permission_denied},
        {"NOSCRIPT No matching script. Please use EVAL.", errc::script_missing},
        {"MOVED 3999 127.0.0.1:6381", errc::wrong_cluster_node},
        {"ASK 3999 127.0.0.1:6381", errc::wrong_cluster_node},
        {"TRYAGAIN Multiple keys request during rehashing of slot", errc::wrong_cluster_node},
        {"CLUSTERDOWN The cluster is down", errc::wrong_cluster_node},
        {"WRONGTYPE Operation against a key holding the wrong kind of value", errc::wrong_type},
        {"MISCONF Redis is configured to save RDB snapshots", errc::node_refuses_writes},
        {"NOREPLICAS Not enough good replicas to write.", errc::node_refuses_writes},
        {"ERR Error running script (call to f_1): @user_script:1: -OOM command not allowed", errc::node_out_of_memory},
    };
    for (auto const& [text, error] : refusals) {
        auto const r = interpret_error(text);
        BOOST_TEST((r.vote == vote::unknown));
        BOOST_TEST((r.error == error), text);
        BOOST_TEST(r.untouched, text);
    }
}

BOOST_AUTO_TEST_CASE(an_error_that_is_not_understood_may_have_left_a_key)
{
    auto const r = interpret_error("ERR something new");
    BOOST_TEST((r.error == errc::server_error));
    BOOST_TEST(!r.untouched);
    BOOST_TEST(r.text == "ERR something new");
}

BOOST_AUTO_TEST_CASE(rule_14_what_a_server_quotes_of_our_command_is_not_repeated)
{
    auto const r = interpret_error("ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' 'default' 'hunter2' ");
    BOOST_TEST(r.text.find("hunter2") == std::string::npos);
    BOOST_TEST(r.text == "ERR unknown command 'HELLO'");
    BOOST_TEST(r.untouched);
    BOOST_TEST(interpret_error("ERR \x1b[31m\r\n" + std::string(1000, 'x')).text.size() <= 160u);
    BOOST_TEST(interpret_error("ERR \x1b[31m\r\n").text == "ERR ?[31m??");
}

BOOST_AUTO_TEST_SUITE_END()
