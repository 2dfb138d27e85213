// redlock acquire, renew and release: a token passes a lock from process to process.

#include "cli/run/servers.hpp"
#include "bed/etcd_server.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(redlock_tickets)

namespace {

struct one_server : servers {
    std::string token(std::vector<std::string> arguments) const
    {
        arguments.insert(arguments.begin(), {"-o", "json", "acquire"});
        auto const e = tool(std::move(arguments));
        BOOST_REQUIRE_MESSAGE(e.status == 0, e.err);
        return std::string(e.json().at("token").as_string());
    }
    std::string ask(std::vector<std::string> const& command) const { return all[0].ask(command); }
};

struct with_one {
    one_server s;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_renew_and_release_in_a_script_succeed, with_one)
{
    redlock::testbed::process script({"/bin/sh", "-euc",
                                      "held=$(\"$TOOL\" acquire \"it's b\" a --fencing -t 30s) || exit; eval "
                                      "\"$held\"; first=$REDLOCK_FENCE; test $first -gt 0;"
                                      "held=$(\"$TOOL\" renew \"it's b\" a - -t 50s) || exit; eval \"$held\"; test "
                                      "$REDLOCK_FENCE = $first; echo \"$REDLOCK_KEY\"; echo $REDLOCK_TTL_MS;"
                                      "\"$TOOL\" acquire -n a || echo $?; \"$TOOL\" release \"it's b\" a -; \"$TOOL\" "
                                      "release \"it's b\" a - || echo $?"},
                                     {.environment = s.environment(), .piped = true});
    BOOST_TEST(script.read() == "a\nit's b\n50000\n75\n1\n");
    BOOST_TEST(script.wait().code() == 0);
    BOOST_TEST(s.ask({"EXISTS", "lock:a", "lock:it's b"}) == "0");
}

BOOST_FIXTURE_TEST_CASE(acquire_keeps_the_lock_for_its_ttl_only, with_one)
{
    s.token({"x", "-t", "40s"});
    auto const left = std::stol(s.ask({"PTTL", "lock:x"}));
    BOOST_TEST(left > 10'000);
    BOOST_TEST(left <= 40'000);
    auto const short_lived = s.token({"y", "-t", "600ms"});
    BOOST_TEST(comes_true([&] { return s.ask({"EXISTS", "lock:y"}) == "0"; }));
    auto const e = s.tool({"renew", "y", short_lived});
    must_say(e, 1, "lost");
    BOOST_TEST(e.out == "");
}

BOOST_FIXTURE_TEST_CASE(renew_and_release_with_another_token_change_nothing, with_one)
{
    auto const token = s.token({"x"});
    BOOST_TEST(s.tool({"renew", "x", "not this"}).status == 1);
    BOOST_TEST(s.tool({"release", "x", "not this"}).status == 1);
    BOOST_TEST(s.ask({"GET", "lock:x"}) == token);
    BOOST_TEST(s.tool({"release", "x", token}).status == 0);
    BOOST_TEST(s.ask({"GET", "lock:x"}) == "(nil)");
}

BOOST_FIXTURE_TEST_CASE(renew_and_release_of_a_shared_lock_succeed, with_one)
{
    auto const mine = s.token({"x", "--shared"}), yours = s.token({"x", "--shared"});
    BOOST_TEST(s.tool({"acquire", "-n", "x"}).status == 75);
    BOOST_TEST(s.tool({"renew", "--shared", "x", mine}).status == 0);
    BOOST_TEST(s.tool({"release", "--shared", "x", mine}).status == 0);
    BOOST_TEST(s.tool({"acquire", "-n", "x"}).status == 75);
    BOOST_TEST(s.tool({"release", "--shared", "x", yours}).status == 0);
    BOOST_TEST(s.tool({"acquire", "-n", "x"}).status == 0);
}

BOOST_FIXTURE_TEST_CASE(acquire_that_cannot_print_the_token_releases_the_lock, with_one)
{
    must_say(started_tool({"acquire", "x"}, s.environment(), ">/dev/full").wait(), 125, "could not be written");
    BOOST_TEST(s.ask({"EXISTS", "lock:x"}) == "0");
}

BOOST_AUTO_TEST_CASE(acquire_renew_and_release_on_etcd_are_refused_with_a_way_out)
{
    bool const is_known = started_tool({"version", "-v"}).wait().out.find("etcd://") != std::string::npos;
    if (!is_known || redlock::testbed::etcd_program().empty())
        return;
    redlock::testbed::etcd_server const etcd;
    using words = std::vector<std::string>;
    for (auto const& given : {words{"acquire", "x"}, {"renew", "x", "a"}, {"release", "x", "a"}}) {
        auto const e = started_tool(given, {"REDLOCK_URLS=" + etcd.url()}).wait();
        must_print(e, 78, "");
        BOOST_TEST(e.err
                   == "redlock " + given[0] + ": " + etcd.url()
                          + " ends its locks with the session of the process "
                            "that acquired them; use redlock run or redlock hold\n");
    }
}

BOOST_FIXTURE_TEST_CASE(renew_and_release_with_wrong_arguments_are_refused, with_one)
{
    for (auto const* command : {"renew", "release"}) {
        BOOST_TEST(s.tool({command, "x"}).status == 64);
        auto const unset =
            started_tool({command, "x", "-"}, {"REDLOCK_URLS=" + s.all[0].url(), "REDLOCK_TOKEN="}).wait();
        must_say(unset, 64, "$REDLOCK_TOKEN is empty");
        BOOST_TEST(s.tool({command, "x", std::string(600, 'a')}).status == 64);
        BOOST_TEST(s.tool({command, "x", ":=shared"}).status == 64);
        BOOST_TEST(started_tool({command, "-u", "redis://127.0.0.1:1", "x", "a"}).wait().status == 69);
    }
}

BOOST_AUTO_TEST_SUITE_END()
