// redlock break, driven from outside.

#include "cli/terminal.hpp"
#include "cli/view/tool.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <sstream>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(break_)

namespace {

bool has(std::string const& text, std::string_view part)
{
    return text.find(part) != text.npos;
}

std::size_t nodes_with(tool& t, std::string const& key)
{
    std::size_t count = 0;
    for (auto const& s : t.servers)
        count += s->ask({"EXISTS", key}) == "1";
    return count;
}

}  // namespace

BOOST_AUTO_TEST_CASE(without_a_word_that_it_is_meant_it_only_shows_the_holder)
{
    tool t(3);
    t.set("lock:x", token_of("web-3:4121"));

    auto const o = t.run({"break", "x"});

    BOOST_TEST(o.status == 64);
    BOOST_TEST(o.out == "");
    BOOST_TEST(has(o.err, "lock:x is held by web-3:4121 on 3 of 3 nodes"), o.err);
    BOOST_TEST(has(o.err, "--token"), o.err);
    BOOST_TEST(nodes_with(t, "lock:x") == 3u);
}

BOOST_AUTO_TEST_CASE(where_nobody_can_be_asked_force_alone_is_not_enough)
{
    tool t(1);
    t.set("lock:x", token_of("web"));

    auto const o = t.run({"break", "x", "--force"});

    BOOST_TEST(o.status == 64);
    BOOST_TEST(has(o.err, "--yes"), o.err);
    BOOST_TEST(nodes_with(t, "lock:x") == 1u);
}

BOOST_AUTO_TEST_CASE(by_force_it_deletes_what_it_has_shown_and_says_what_follows)
{
    tool t(3);
    t.set("lock:x", token_of("web"));
    t.set("lock:y", token_of("web"));

    auto const o = t.run({"break", "x", "--force", "--yes"});

    BOOST_TEST(o.status == 0);
    BOOST_TEST(o.out == "lock:x: deleted on 3 of 3 nodes\n");
    BOOST_TEST(has(o.err, "lock:x is held by web"), o.err);
    BOOST_TEST(has(o.err, "goes on until it notices"), o.err);
    BOOST_TEST(has(o.err, "fencing"), o.err);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
    BOOST_TEST(nodes_with(t, "lock:y") == 3u);
}

BOOST_AUTO_TEST_CASE(the_holder_of_a_token_loses_the_lock_and_nobody_else)
{
    tool t(3);
    t.set("lock:x", token_of("web", 'a'));

    auto const another = t.run({"break", "x", "--token", token_of("web", 'b')});
    auto const left = nodes_with(t, "lock:x");
    auto const this_one = t.run({"break", "x", "--token", token_of("web", 'a')});

    BOOST_TEST(another.status == 1);
    BOOST_TEST(left == 3u);
    BOOST_TEST(this_one.status == 0);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_AUTO_TEST_CASE(of_a_free_lock_there_is_nothing_to_break)
{
    tool t(3);

    BOOST_TEST(t.run({"break", "x"}).status == 1);
    BOOST_TEST(t.run({"break", "x", "--force", "--yes"}).status == 1);
    BOOST_TEST(t.run({"break", "x", "--token", "any"}).status == 1);
}

BOOST_AUTO_TEST_CASE(a_living_holder_is_told_at_its_next_renewal_and_does_not_set_the_key_again)
{
    tool t(3);
    auto holder = t.hold({"x", "--ttl", "6s"});

    BOOST_TEST(t.run({"break", "x", "--force", "--yes"}).status == 0);

    BOOST_TEST(holder.wait().code() == 124);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_AUTO_TEST_CASE(who_sits_at_a_terminal_is_asked)
{
    tool t(1);
    t.set("lock:x", token_of("web"));

    for (auto const* const answer : {"n\n", "\n", "yesterday\n", "\x04"}) {
        terminal screen({REDLOCK_TOOL, "break", "x", "--force"}, t.environment());
        BOOST_TEST(screen.shows("[y/N]"));
        screen.type(answer);
        BOOST_TEST(screen.wait() == 1);
        BOOST_TEST(nodes_with(t, "lock:x") == 1u);
    }
    terminal screen({REDLOCK_TOOL, "break", "x", "--force"}, t.environment());
    BOOST_TEST(screen.shows("lock:x is held by web"));
    BOOST_TEST(screen.shows("[y/N]"));
    screen.type("y\n");
    BOOST_TEST(screen.wait() == 0);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_AUTO_TEST_CASE(who_has_the_lock_by_the_time_of_the_answer_keeps_it)
{
    tool t(3);
    t.set("lock:x", token_of("old", 'a'));

    terminal screen({REDLOCK_TOOL, "break", "x", "--force"}, t.environment());
    BOOST_TEST(screen.shows("[y/N]"));
    t.set("lock:x", token_of("new", 'b'));
    screen.type("y\n");

    BOOST_TEST(screen.wait() == 1);
    BOOST_TEST(has(screen.shown, "has changed hands"), screen.shown);
    BOOST_TEST(t[0].ask({"GET", "lock:x"}) == token_of("new", 'b'));
    BOOST_TEST(nodes_with(t, "lock:x") == 3u);
}

BOOST_AUTO_TEST_CASE(connections_that_end_while_the_answer_is_thought_about_are_opened_again)
{
    tool t(3);
    t.set("lock:x", token_of("web"));

    terminal screen({REDLOCK_TOOL, "break", "x", "--force"}, t.environment());
    BOOST_TEST(screen.shows("[y/N]"));
    t.ask({"CLIENT", "KILL", "TYPE", "normal"});
    screen.type("y\n");

    BOOST_TEST(screen.wait() == 0);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_AUTO_TEST_CASE(of_servers_that_have_gone_meanwhile_nothing_is_claimed)
{
    tool t(1);
    t.set("lock:x", token_of("web"));

    terminal screen({REDLOCK_TOOL, "break", "x", "--force"}, t.environment());
    BOOST_TEST(screen.shows("[y/N]"));
    t[0].kill();
    screen.type("y\n");

    BOOST_TEST(screen.wait() == 69);
    BOOST_TEST(!has(screen.shown, "has changed hands"), screen.shown);
}

BOOST_AUTO_TEST_CASE(nothing_is_deleted_where_the_user_is_refused)
{
    tool t(3);
    t.set("lock:x", token_of("web"));
    auto const refused = "redis://nobody:wr0ng@127.0.0.1:" + std::to_string(t[2].port());

    auto const o = t.run({"break", "x", "--force", "--yes", "-u", t[0].url(), "-u", t[1].url(), "-u", refused});

    BOOST_TEST(o.status == 0);
    BOOST_TEST(has(o.err, "WRONGPASS"), o.err);
    BOOST_TEST(t[2].ask({"GET", "lock:x"}) == token_of("web"));  // and not as the user who needs no password
}

BOOST_AUTO_TEST_CASE(what_nobody_can_hear_does_not_keep_it_from_breaking)
{
    tool t(1);
    for (auto const* const nowhere : {"2>/dev/full", "2>&-"}) {
        t.set("lock:x", token_of("web"));
        BOOST_TEST(t.run({"break", "x", "--force", "--yes"}, {}, nowhere).status == 0);
        BOOST_TEST(nodes_with(t, "lock:x") == 0u);
    }
}

BOOST_AUTO_TEST_CASE(a_contender_that_has_a_node_beside_the_holder_keeps_it)
{
    tool t(3);
    t.set("lock:x", token_of("contender", 'b'));
    t.set("lock:x", token_of("holder", 'a'), 2);

    BOOST_TEST(t.run({"break", "x", "--force", "--yes"}).status == 0);
    BOOST_TEST(nodes_with(t, "lock:x") == 1u);
    BOOST_TEST(t[2].ask({"GET", "lock:x"}) == token_of("contender", 'b'));
}

BOOST_AUTO_TEST_CASE(what_is_on_no_majority_can_be_swept_away)
{
    tool t(3);
    t.set("lock:x", token_of("one", 'a'), 1);

    auto const o = t.run({"break", "x", "--force", "--yes", "-o", "json"});

    BOOST_TEST(o.status == 0);
    BOOST_TEST(o.json().at("state") == "partial");
    BOOST_TEST(o.json().at("deleted") == 1);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_AUTO_TEST_CASE(all_readers_lose_a_shared_lock_or_one_of_them)
{
    tool t(3);
    auto one = t.hold({"x", "--shared", "--owner", "one", "--ttl", "6s"});
    auto another = t.hold({"x", "--shared", "--owner", "another", "--ttl", "6s"});
    auto const readers = t.run({"status", "x", "--tokens", "-o", "json"}).json().at("readers").as_array();
    auto const& first = readers.at(0).at("owner") == "one" ? readers.at(0) : readers.at(1);

    auto const of_one = t.run({"break", "x", "--token", std::string(first.at("token").as_string())});

    BOOST_TEST(of_one.status == 0);
    BOOST_TEST(one.wait().code() == 124);
    BOOST_TEST(nodes_with(t, "lock:x") == 3u);
    BOOST_TEST(!another.ended());
    auto const of_all = t.run({"break", "x", "--force", "--yes"});
    BOOST_TEST(of_all.status == 0);
    BOOST_TEST(has(of_all.err, "another"), of_all.err);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
    BOOST_TEST(another.wait().code() == 124);
}

BOOST_AUTO_TEST_CASE(a_reader_that_comes_before_the_answer_keeps_the_lock_shared)
{
    tool t(1);
    auto const one = t.hold({"x", "--shared", "--owner", "one"});

    terminal screen({REDLOCK_TOOL, "break", "x", "--force"}, t.environment());
    BOOST_TEST(screen.shows("[y/N]"));
    auto const late = t.hold({"x", "--shared", "--owner", "late"});
    screen.type("y\n");

    BOOST_TEST(screen.wait() == 0);
    auto const told = t.run({"status", "x", "-o", "json"}).json();
    BOOST_TEST(told.at("state") == "shared");
    BOOST_TEST_REQUIRE(told.at("readers").as_array().size() == 1u);
    BOOST_TEST(told.at("readers").at(0).at("owner") == "late");
}

BOOST_AUTO_TEST_CASE(a_lock_that_is_shared_by_nobody_goes)
{
    tool t(1);
    t.ask({"SET", "lock:x", ":=shared"});

    BOOST_TEST(t.run({"break", "x", "--force", "--yes"}).status == 0);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_AUTO_TEST_CASE(it_goes_by_the_rights_of_a_client_that_shares_as_well)
{
    tool t(1);
    t.set("lock:x", ":=shared");
    auto line = t.run({"acl", "--user", "app", "--shared"}).out;
    std::vector<std::string> words;
    for (std::istringstream all(line); all >> line;)
        words.push_back(line == ">PASSWORD" ? ">secret" : line);
    words.emplace_back("+zrange");
    t.ask(words);

    auto const o = t.run({"break", "x", "--force", "--yes", "-u", "redis://app:secret@127.0.0.1:" + std::to_string(t[0].port())});

    BOOST_TEST(o.status == 0);
    BOOST_TEST(o.out == "lock:x: deleted on 1 of 1 nodes\n");
}

BOOST_AUTO_TEST_CASE(another_kind_of_client_loses_its_lock_as_well)
{
    tool t(3);
    t.ask({"SET", "lock:x", std::string(2000, 'v')});

    BOOST_TEST(t.run({"break", "x", "--force", "--yes"}).status == 0);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_no_string_is_left_alone)
{
    tool t(1);
    t.ask({"LPUSH", "lock:x", "1"});

    auto const o = t.run({"break", "x", "--force", "--yes"});

    BOOST_TEST(o.status == 1);
    BOOST_TEST(has(o.err, "no string"), o.err);
    BOOST_TEST(nodes_with(t, "lock:x") == 1u);
}

BOOST_AUTO_TEST_CASE(a_majority_is_enough_and_less_is_not)
{
    tool t(3);
    t.set("lock:x", token_of("web"));
    t.set("lock:y", token_of("web"));
    t[2].kill();

    auto const two = t.run({"break", "x", "--force", "--yes"});
    t[1].kill();
    auto const one = t.run({"break", "y", "--force", "--yes", "-o", "json"});
    t[0].kill();
    auto const none = t.run({"break", "y", "--force", "--yes"});

    BOOST_TEST(two.status == 0);
    BOOST_TEST(two.out == "lock:x: deleted on 2 of 3 nodes\n");
    BOOST_TEST(one.status == 69);
    BOOST_TEST(one.json().at("deleted") == 1);
    BOOST_TEST(one.json().at("nodes").at(2).at("result") == "unknown");
    BOOST_TEST(none.status == 69);
}

BOOST_AUTO_TEST_CASE(break_leaves_out_a_node_that_hangs_and_asks_it_once)
{
    tool t(3);
    t.set("lock:x", token_of("web"));
    t[2].pause();

    auto const o = t.run({"break", "x", "--force", "--yes", "--connect-timeout", "1s"});
    t[2].resume();

    BOOST_TEST(o.status == 0);
    BOOST_TEST(o.out == "lock:x: deleted on 2 of 3 nodes\n");
    BOOST_TEST(has(o.err, "redlock break: " + t[2].url() + ": it has not answered within 1.0 s"), o.err);
    BOOST_TEST(has(t[2].ask({"INFO", "commandstats"}), "cmdstat_hello:calls=1,"), "it was asked again");
}

BOOST_AUTO_TEST_CASE(who_may_not_is_told_so)
{
    tool t(1);
    t.set("lock:x", token_of("web"));
    t.ask({"ACL", "SETUSER", "reader", "on", ">pw", "~lock:*", "-@all", "+hello", "+get", "+pttl"});
    auto const url = "redis://reader:pw@127.0.0.1:" + std::to_string(t[0].port());

    auto const o = t.run({"break", "x", "-u", url, "--force", "--yes"});

    BOOST_TEST(o.status == 77);
    BOOST_TEST(has(o.err, "NOPERM"), o.err);
    BOOST_TEST(nodes_with(t, "lock:x") == 1u);
}

BOOST_AUTO_TEST_CASE(the_rights_of_a_client_of_the_library_are_enough)
{
    tool t(1);
    t.set("lock:x", token_of("web"));
    t.ask({"ACL", "SETUSER", "redlock", "reset", "on", ">pw", "~lock:*", "-@all", "+hello", "+set", "+evalsha", "+script|load", "+get", "+del", "+pexpire", "+pttl", "+info",
           "+config|get", "+command|list", "+ping", "+select"});
    auto const url = "redis://redlock:pw@127.0.0.1:" + std::to_string(t[0].port());

    BOOST_TEST(t.run({"break", "x", "-u", url, "--force", "--yes"}).status == 0);
    BOOST_TEST(nodes_with(t, "lock:x") == 0u);
}

BOOST_AUTO_TEST_CASE(quietly_it_says_nothing)
{
    tool t(1);
    t.set("lock:x", token_of("web"));

    auto const o = t.run({"break", "x", "-q", "--force", "--yes"});

    BOOST_TEST(o.status == 0);
    BOOST_TEST(o.err == "");
}

BOOST_AUTO_TEST_SUITE_END()
