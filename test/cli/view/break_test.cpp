// redlock break, as a program, on real servers.

#include "cli/terminal.hpp"
#include "cli/view/tool.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <functional>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(break_)

namespace {

std::size_t nodes_with(tool& t, std::string const& key)
{
    std::size_t count = 0;
    for (auto const& s : t.servers)
        count += s->ask({"EXISTS", key}) == "1";
    return count;
}

struct answered {
    int status;
    std::string shown;
};

/// Runs "redlock break" on a terminal, calls @p meanwhile when it asks for confirmation, and then types @p words.
answered answer(
    tool& t, std::string_view words, std::function<void()> const& meanwhile = [] {})
{
    terminal screen({REDLOCK_TOOL, "break", "x", "--force"}, t.environment());
    BOOST_TEST(screen.shows("[y/N]"));
    meanwhile();
    auto const status = screen.end_by(words);
    return {status, screen.shown};
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(break_without_force_or_token_only_shows_the_holder, with_servers<3>)
{
    t.set("lock:x", token_of("web-3:4121"));

    auto const o = t.run({"break", "x"});

    must_say(o, 64, "lock:x is held by web-3:4121 on 3 of 3 nodes");
    BOOST_TEST(o.out == "");
    BOOST_TEST(has(o.err, "--token"), o.err);
    BOOST_TEST(nodes_with(t, "lock:x") == 3u);
}

BOOST_FIXTURE_TEST_CASE(break_shows_the_waiting_processes, with_servers<1>)
{
    t.set("lock:x", token_of("web"));
    t.ask({"HSET", "lock:x:=wanted:{lock:x}", "0123456789abcdef:writer", "1a job", "fedcba9876543210:reader", "r"});

    must_say(t.run({"break", "x"}), 64, "writer  alone     a job\n", "reader  shared\n");
}

BOOST_FIXTURE_TEST_CASE(break_with_force_without_a_terminal_needs_yes, held_by_web<1>)
{
    must_say(t.run({"break", "x", "--force"}), 64, "--yes");
    BOOST_TEST(nodes_with(t, "lock:x") == 1u);
}

BOOST_FIXTURE_TEST_CASE(break_by_force_deletes_the_lock_and_warns, held_by_web<3>)
{
    t.set("lock:y", token_of("web"));

    auto const o = t.run({"break", "x", "--force", "--yes"});

    must_print(o, 0, "lock:x: deleted on 3 of 3 nodes\n");
    BOOST_TEST(has(o.err, "lock:x is held by web"), o.err);
    BOOST_TEST(has(o.err, "continues until it notices"), o.err);
    BOOST_TEST(has(o.err, "fencing"), o.err);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
    BOOST_TEST(nodes_with(t, "lock:y") == 3u);
}

BOOST_FIXTURE_TEST_CASE(break_with_a_token_deletes_only_that_value, with_servers<3>)
{
    t.set("lock:x", token_of("web", 'a'));

    auto const another = t.run({"break", "x", "--token", token_of("web", 'b')});
    auto const left = nodes_with(t, "lock:x");
    auto const this_one = t.run({"break", "x", "--token", token_of("web", 'a')});

    must_say(another, 1, "no holder with this token");
    BOOST_TEST(left == 3u);
    BOOST_TEST(this_one.status == 0);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_FIXTURE_TEST_CASE(break_of_a_free_lock_ends_with_1, with_servers<3>)
{
    BOOST_TEST(t.run({"break", "x"}).status == 1);
    BOOST_TEST(t.run({"break", "x", "--force", "--yes"}).status == 1);
    BOOST_TEST(t.run({"break", "x", "--token", "any"}).status == 1);
}

BOOST_FIXTURE_TEST_CASE(break_of_a_renewed_lock_ends_the_hold, with_servers<3>)
{
    auto holder = t.hold({"x", "--ttl", "6s"});

    BOOST_TEST(t.run({"break", "x", "--force", "--yes"}).status == 0);

    BOOST_TEST(holder.wait().code() == 124);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_FIXTURE_TEST_CASE(break_on_a_terminal_asks_for_confirmation, held_by_web<1>)
{
    for (auto const* const words : {"n\n", "\n", "yesterday\n", "\x04"}) {
        BOOST_TEST(answer(t, words).status == 1);
        BOOST_TEST(nodes_with(t, "lock:x") == 1u);
    }
    auto const o = answer(t, "y\n");
    BOOST_TEST(o.shown.find("lock:x is held by web") < o.shown.find("[y/N]"));
    BOOST_TEST(o.status == 0);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_FIXTURE_TEST_CASE(break_after_another_client_acquired_deletes_nothing, with_servers<3>)
{
    t.set("lock:x", token_of("old", 'a'));

    auto const o = answer(t, "y\n", [&] { t.set("lock:x", token_of("new", 'b')); });

    BOOST_TEST(o.status == 1);
    BOOST_TEST(has(o.shown, "another client holds it now"), o.shown);
    BOOST_TEST(t[0].ask({"GET", "lock:x"}) == token_of("new", 'b'));
    BOOST_TEST(nodes_with(t, "lock:x") == 3u);
}

BOOST_FIXTURE_TEST_CASE(break_after_closed_connections_connects_again, held_by_web<3>)
{
    BOOST_TEST(answer(t, "y\n", [&] { t.ask({"CLIENT", "KILL", "TYPE", "normal"}); }).status == 0);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_FIXTURE_TEST_CASE(break_on_servers_that_went_down_ends_with_69, held_by_web<1>)
{
    auto const o = answer(t, "y\n", [&] { t[0].kill(); });

    BOOST_TEST(o.status == 69);
    BOOST_TEST(!has(o.shown, "another client holds it now"), o.shown);
}

BOOST_FIXTURE_TEST_CASE(break_as_a_refused_user_deletes_nothing_on_that_node, held_by_web<3>)
{
    auto const refused = "redis://nobody:wr0ng@127.0.0.1:" + std::to_string(t[2].port());

    auto const o = t.run({"break", "x", "--force", "--yes", "-u", t[0].url(), "-u", t[1].url(), "-u", refused});

    must_say(o, 0, "WRONGPASS");
    BOOST_TEST(t[2].ask({"GET", "lock:x"}) == token_of("web"));  // the tool did not try again as the default user
}

BOOST_FIXTURE_TEST_CASE(break_with_a_full_error_stream_succeeds, with_servers<1>)
{
    for (auto const* const nowhere : {"2>/dev/full", "2>&-"}) {
        t.set("lock:x", token_of("web"));
        BOOST_TEST(t.run({"break", "x", "--force", "--yes"}, {}, nowhere).status == 0);
        BOOST_TEST(nodes_with(t, "lock:x") == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(break_keeps_the_key_of_another_client, with_servers<3>)
{
    t.set("lock:x", token_of("contender", 'b'));
    t.set("lock:x", token_of("holder", 'a'), 2);

    BOOST_TEST(t.run({"break", "x", "--force", "--yes"}).status == 0);
    BOOST_TEST(nodes_with(t, "lock:x") == 1u);
    BOOST_TEST(t[2].ask({"GET", "lock:x"}) == token_of("contender", 'b'));
}

BOOST_FIXTURE_TEST_CASE(break_of_a_partial_lock_deletes_it, with_servers<3>)
{
    t.set("lock:x", token_of("one", 'a'), 1);

    auto const o = t.run({"break", "x", "--force", "--yes", "-o", "json"});

    BOOST_TEST(o.status == 0);
    must_have(o.json(), {{"state", "partial"}, {"deleted", 1}});
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_FIXTURE_TEST_CASE(break_of_a_shared_lock_ends_all_readers_or_one, with_servers<3>)
{
    auto one = t.hold({"x", "--shared", "--owner", "one", "--ttl", "6s"});
    auto another = t.hold({"x", "--shared", "--owner", "another", "--ttl", "6s"});
    auto const readers = t.run({"status", "x", "--tokens", "-o", "json"}).json().at("readers").as_array();
    auto const& first = readers.at(0).at("owner") == "one" ? readers.at(0) : readers.at(1);

    BOOST_TEST(t.run({"break", "x", "--token", std::string(first.at("token").as_string())}).status == 0);
    BOOST_TEST(one.wait().code() == 124);
    BOOST_TEST(nodes_with(t, "lock:x") == 3u);
    BOOST_TEST(!another.ended());
    must_say(t.run({"break", "x", "--force", "--yes"}), 0, "another");
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
    BOOST_TEST(another.wait().code() == 124);
}

BOOST_FIXTURE_TEST_CASE(break_keeps_a_reader_that_came_before_the_confirmation, with_servers<1>)
{
    auto const one = t.hold({"x", "--shared", "--owner", "one"});

    std::optional<redlock::testbed::process> late;
    BOOST_TEST(answer(t, "y\n", [&] { late = t.hold({"x", "--shared", "--owner", "late"}); }).status == 0);
    auto const told = t.run({"status", "x", "-o", "json"}).json();
    BOOST_TEST(told.at("state") == "shared");
    BOOST_TEST_REQUIRE(told.at("readers").as_array().size() == 1u);
    BOOST_TEST(told.at("readers").at(0).at("owner") == "late");
}

BOOST_FIXTURE_TEST_CASE(break_of_a_shared_lock_without_readers_deletes_it, with_servers<1>)
{
    t.ask({"SET", "lock:x", ":=shared"});

    BOOST_TEST(t.run({"break", "x", "--force", "--yes"}).status == 0);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_FIXTURE_TEST_CASE(break_with_the_permissions_of_a_sharing_client_succeeds, with_servers<1>)
{
    t.set("lock:x", ":=shared");
    auto line = t.run({"acl", "--user", "app", "--shared"}).out;
    std::vector<std::string> words;
    for (std::istringstream all(line); all >> line;)
        words.push_back(line == ">PASSWORD" ? ">secret" : line);
    t.ask(words);

    auto const o =
        t.run({"break", "x", "--force", "--yes", "-u", "redis://app:secret@127.0.0.1:" + std::to_string(t[0].port())});

    must_print(o, 0, "lock:x: deleted on 1 of 1 nodes\n");
}

BOOST_FIXTURE_TEST_CASE(break_of_a_value_of_another_client_deletes_it, with_servers<3>)
{
    t.ask({"SET", "lock:x", std::string(500, 'v')});

    BOOST_TEST(t.run({"break", "x", "--force", "--yes"}).status == 0);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_FIXTURE_TEST_CASE(break_of_a_value_too_long_to_compare_deletes_nothing, with_servers<1>)
{
    t.ask({"SET", "lock:x", std::string(2000, 'v')});

    must_say(t.run({"break", "x", "--force", "--yes"}), 1, "nothing was deleted, because the value is too long", "DEL");
    BOOST_TEST(nodes_with(t, "lock:x") == 1u);
}

BOOST_FIXTURE_TEST_CASE(break_of_more_readers_than_are_listed_deletes_all, with_servers<1>)
{
    constexpr int count = 150;
    t.set("lock:x", ":=shared");
    t.ask({"EVAL",
           "for i = 1, ARGV[1] do redis.call('ZADD', KEYS[1], 9e13, string.rep('a', 32) .. ':' .. i) end return 1", "1",
           "lock:x:=shared:{lock:x}", std::to_string(count)});

    auto const o = t.run({"break", "x", "--force", "--yes"});

    must_print(o, 0, "lock:x: deleted on 1 of 1 nodes\n");
    BOOST_TEST(has(o.err, "64 readers are deleted; there may be more"), o.err);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_FIXTURE_TEST_CASE(break_of_a_lock_on_two_stores_takes_its_token, with_servers<1>)
{
    t.set("lock:x", token_of("web"));

    must_say(t.run({"break", "x", "--token", token_of("web"), "-u", t.urls, "-u", "memory://a"}), 0, "web");
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_FIXTURE_TEST_CASE(break_of_a_shared_lock_whose_readers_are_hidden_refuses, with_servers<1>)
{
    auto const reader = t.hold({"x", "--shared"});
    t.ask({"ACL", "SETUSER", "app", "on", ">secret", "~lock:*", "+@all", "-zrange"});

    must_say(
        t.run({"break", "x", "--force", "--yes", "-u", "redis://app:secret@127.0.0.1:" + std::to_string(t[0].port())}),
        77, "no node lists the readers", "redlock acl --shared");
    BOOST_TEST(nodes_with(t, "lock:x") == 1u);
}

BOOST_FIXTURE_TEST_CASE(break_of_a_key_that_is_no_string_deletes_nothing, with_servers<1>)
{
    t.ask({"LPUSH", "lock:x", "1"});

    must_say(t.run({"break", "x", "--force", "--yes"}), 1, "not a string");
    BOOST_TEST(nodes_with(t, "lock:x") == 1u);
}

BOOST_FIXTURE_TEST_CASE(break_without_the_answers_of_a_majority_ends_with_69, held_by_web<3>)
{
    t.set("lock:y", token_of("web"));
    t[2].kill();

    auto const two = t.run({"break", "x", "--force", "--yes"});
    t[1].kill();
    auto const one = t.run({"break", "y", "--force", "--yes", "-o", "json"});
    t[0].kill();
    auto const none = t.run({"break", "y", "--force", "--yes"});

    must_print(two, 0, "lock:x: deleted on 2 of 3 nodes\n");
    BOOST_TEST(one.status == 69);
    BOOST_TEST(one.json().at("deleted") == 1);
    BOOST_TEST(one.json().at("nodes").at(2).at("result") == "unknown");
    BOOST_TEST(none.status == 69);
}

BOOST_FIXTURE_TEST_CASE(break_with_a_hanging_node_names_it, held_by_web<3>)
{
    t[2].pause();

    auto const o = t.run({"break", "x", "--force", "--yes", "--connect-timeout", "1s"});
    t[2].resume();

    must_print(o, 0, "lock:x: deleted on 2 of 3 nodes\n");
    BOOST_TEST(has(o.err, "redlock break: " + t[2].url() + ": "), o.err);
}

BOOST_FIXTURE_TEST_CASE(break_without_permission_ends_with_77, held_by_web<1>)
{
    t.ask({"ACL", "SETUSER", "reader", "on", ">pw", "~lock:*", "-@all", "+hello", "+get", "+pttl"});
    auto const url = "redis://reader:pw@127.0.0.1:" + std::to_string(t[0].port());

    must_say(t.run({"break", "x", "-u", url, "--force", "--yes"}), 77, "NOPERM");
    BOOST_TEST(nodes_with(t, "lock:x") == 1u);
}

BOOST_FIXTURE_TEST_CASE(break_with_the_permissions_of_a_client_succeeds, held_by_web<1>)
{
    t.ask({"ACL",    "SETUSER",     "redlock",       "reset",        "on",     ">pw",  "~lock:*",  "-@all",
           "+hello", "+set",        "+evalsha",      "+script|load", "+get",   "+del", "+pexpire", "+pttl",
           "+info",  "+config|get", "+command|list", "+ping",        "+select"});
    auto const url = "redis://redlock:pw@127.0.0.1:" + std::to_string(t[0].port());

    BOOST_TEST(t.run({"break", "x", "-u", url, "--force", "--yes"}).status == 0);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_FIXTURE_TEST_CASE(break_with_quiet_prints_no_message, held_by_web<1>)
{
    auto const o = t.run({"break", "x", "-q", "--force", "--yes"});

    BOOST_TEST(o.status == 0);
    BOOST_TEST(o.err == "");
}

BOOST_AUTO_TEST_SUITE_END()
