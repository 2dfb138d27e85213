// redlock status, driven from outside.

#include "cli/view/tool.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(status)

namespace {

bool has(std::string const& text, std::string_view part)
{
    return text.find(part) != text.npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_lock_that_is_held_names_its_holder_and_its_ttl_on_each_node)
{
    tool t(3);
    auto const holder = t.hold({"jobs/42", "--owner", "web-3:4121"});

    auto const people = t.run({"status", "jobs/42"});
    auto const programs = t.run({"status", "jobs/42", "-o", "json"});

    BOOST_TEST(people.status == 0);
    BOOST_TEST(people.err == "");
    BOOST_TEST(has(people.out, "lock:jobs/42 is held by web-3:4121 on 3 of 3 nodes, ttl "), people.out);
    BOOST_TEST(has(people.out, "nobody waits for it"), people.out);
    BOOST_TEST(programs.status == 0);
    auto const told = programs.json();
    BOOST_TEST(told.at("schema") == 1);
    BOOST_TEST(told.at("key") == "jobs/42");
    BOOST_TEST(told.at("state") == "held");
    BOOST_TEST(told.at("owner") == "web-3:4121");
    BOOST_TEST(told.at("votes") == 3);
    BOOST_TEST(told.at("of") == 3);
    BOOST_TEST(told.at("nodes").as_array().size() == 3u);
    for (auto const& n : told.at("nodes").as_array()) {
        BOOST_TEST(n.at("state") == "held");
        BOOST_TEST(n.at("owner") == "web-3:4121");
        BOOST_TEST(n.at("ttl_ms").as_int64() > 0);
        BOOST_TEST(n.at("ttl_ms").as_int64() <= 60'000);
    }
    BOOST_TEST(told.at("ttl_ms").as_int64() <= 60'000);
    BOOST_TEST(!has(people.out + programs.out, t[0].ask({"GET", "lock:jobs/42"})), "the token is shown unasked");
}

BOOST_AUTO_TEST_CASE(tokens_are_shown_to_who_asks_for_them)
{
    tool t(1);
    t.set("lock:x", token_of("web"));

    BOOST_TEST(has(t.run({"status", "x", "--tokens"}).out, token_of("web")));
    BOOST_TEST(t.run({"status", "x", "--tokens", "-o", "json"}).json().at("token").as_string() == token_of("web"));
}

BOOST_AUTO_TEST_CASE(a_lock_that_nobody_has_is_free)
{
    tool t(3);

    auto const people = t.run({"status", "x"});
    auto const told = t.run({"status", "x", "-o", "json"}).json();

    BOOST_TEST(people.status == 1);
    BOOST_TEST(has(people.out, "lock:x is free\n"), people.out);
    BOOST_TEST(told.at("state") == "free");
    BOOST_TEST(told.at("owner").is_null());
    BOOST_TEST(told.at("ttl_ms").is_null());
    BOOST_TEST(told.at("votes") == 0);
}

BOOST_AUTO_TEST_CASE(who_shares_a_lock_is_told)
{
    tool t(3);
    auto const one = t.hold({"x", "--shared", "--owner", "reader-1"});
    auto const another = t.hold({"x", "--shared", "--owner", "reader-2"});

    auto const people = t.run({"status", "x"});
    auto const told = t.run({"status", "x", "-o", "json"}).json();

    BOOST_TEST(people.status == 0);
    BOOST_TEST(has(people.out, "lock:x is shared on 3 of 3 nodes"), people.out);
    BOOST_TEST((has(people.out, "reader-1") && has(people.out, "reader-2")), people.out);
    BOOST_TEST(told.at("state") == "shared");
    BOOST_TEST(told.at("owner").is_null());
    auto const& readers = told.at("readers").as_array();
    BOOST_TEST_REQUIRE(readers.size() == 2u);
    for (auto const& r : readers) {
        BOOST_TEST((r.at("owner") == "reader-1" || r.at("owner") == "reader-2"));
        BOOST_TEST(r.at("votes") == 3);
        BOOST_TEST(r.at("ttl_ms").as_int64() > 0);
    }
}

BOOST_AUTO_TEST_CASE(processes_that_wait_are_counted_once_each)
{
    tool t(3);
    auto const holder = t.hold({"x"});
    auto const writer = t.start({"hold", "x"});
    auto const reader = t.start({"hold", "x", "--shared"});

    BOOST_TEST(comes_true([&] {
        auto const told = t.run({"status", "x", "-o", "json"}).json();
        return told.at("waiting") == boost::json::value{{"alone", 1}, {"shared", 1}};
    }));
    BOOST_TEST(has(t.run({"status", "x"}).out, "2 processes wait for it: 1 to have it alone, 1 to share it"));
}

BOOST_AUTO_TEST_CASE(what_a_minority_has_is_held_by_nobody)
{
    tool t(3);
    t.set("lock:x", token_of("late"), 1);

    auto const people = t.run({"status", "x"});

    BOOST_TEST(people.status == 1);
    BOOST_TEST(has(people.out, "lock:x is held by nobody: late is on 1 of 3 nodes, which is no majority"), people.out);
    BOOST_TEST(t.run({"status", "x", "-o", "json"}).json().at("state") == "partial");
}

BOOST_AUTO_TEST_CASE(different_holders_on_each_node_are_no_majority)
{
    tool t(3);
    for (std::size_t i = 0; i < 3; ++i)
        t[i].ask({"SET", "lock:x", token_of("same label", static_cast<char>('a' + i)), "PX", "60000"});

    BOOST_TEST(t.run({"status", "x", "-o", "json"}).json().at("state") == "partial");
}

BOOST_AUTO_TEST_CASE(another_kind_of_client_holds_a_lock_as_well)
{
    tool t(3);
    t.ask({"SET", "lock:x", "some-uuid"});

    auto const people = t.run({"status", "x"});
    auto const told = t.run({"status", "x", "-o", "json"}).json();

    BOOST_TEST(people.status == 0);
    BOOST_TEST(has(people.out, "lock:x is held by another kind of client on 3 of 3 nodes, without an end"), people.out);
    BOOST_TEST(told.at("state") == "foreign");
    BOOST_TEST(told.at("ttl_ms").is_null());
}

BOOST_AUTO_TEST_CASE(a_key_that_is_no_string_keeps_the_lock_and_is_told)
{
    tool t(1);
    t.ask({"LPUSH", "lock:x", "1"});

    auto const told = t.run({"status", "x", "-o", "json"}).json();

    BOOST_TEST(told.at("state") == "foreign");
    BOOST_TEST(has(std::string(told.at("nodes").at(0).at("error").as_string()), "WRONGTYPE"));
}

BOOST_AUTO_TEST_CASE(one_node_that_is_away_does_not_hide_the_holder)
{
    tool t(3);
    t.set("lock:x", token_of("web"));
    t[2].kill();

    auto const o = t.run({"status", "x", "-o", "json"});

    BOOST_TEST(o.status == 0);
    auto const told = o.json();
    BOOST_TEST(told.at("votes") == 2);
    auto const& away = told.at("nodes").at(2);
    BOOST_TEST(away.at("state") == "unknown");
    BOOST_TEST(!away.at("error").as_string().empty());
}

BOOST_AUTO_TEST_CASE(status_leaves_out_a_node_that_hangs_and_says_so)
{
    tool t(3);
    t.set("lock:x", token_of("web"));
    t[2].pause();

    auto const o = t.run({"status", "x", "--connect-timeout", "1s"});
    t[2].resume();

    BOOST_TEST(o.status == 0);
    BOOST_TEST(has(o.out, "lock:x is held by web on 2 of 3 nodes"), o.out);
    BOOST_TEST(has(o.out, t[2].url() + "  unknown: it has not answered within 1.0 s"), o.out);
}

BOOST_AUTO_TEST_CASE(nodes_that_are_away_could_make_the_majority)
{
    tool t(3);
    t.set("lock:x", token_of("web"), 1);
    t[2].kill();

    auto const o = t.run({"status", "x", "-o", "json"});

    BOOST_TEST(o.status == 69);
    BOOST_TEST(o.json().at("state") == "unknown");
    BOOST_TEST(o.json().at("owner") == "web");
}

BOOST_AUTO_TEST_CASE(without_an_answer_nothing_is_known)
{
    tool t(3);
    for (std::size_t i = 0; i < 3; ++i)
        t[i].kill();

    auto const o = t.run({"status", "x"});

    BOOST_TEST(o.status == 69);
    BOOST_TEST(has(o.out, "too few nodes answer"), o.out);
}

BOOST_AUTO_TEST_CASE(servers_that_refuse_the_password_are_told_from_those_that_are_away)
{
    tool t(1, {"--requirepass", "secret"});
    auto const url = "redis://:wr0ng@127.0.0.1:" + std::to_string(t[0].port());

    auto const without = t.run({"status", "x"});
    auto const wrong = t.run({"status", "x", "-u", url});

    BOOST_TEST(without.status == 77);
    BOOST_TEST(wrong.status == 77);
    BOOST_TEST(!has(wrong.out + wrong.err, "wr0ng"));
}

BOOST_AUTO_TEST_CASE(a_user_that_is_refused_is_told_so_where_others_need_no_password)
{
    tool t(1);

    auto const o = t.run({"status", "x", "-u", "redis://nobody:wr0ng@127.0.0.1:" + std::to_string(t[0].port())});

    BOOST_TEST(o.status == 77);
    BOOST_TEST(has(o.out, "WRONGPASS"), o.out);
}

BOOST_AUTO_TEST_CASE(a_reader_without_an_end_is_told_with_a_number)
{
    tool t(1);
    t.set("lock:x", ":=shared");
    t.ask({"ZADD", "lock:x:=shared:{lock:x}", "inf", "somebody"});

    auto const readers = t.run({"status", "x", "-o", "json"}).json().at("readers").as_array();

    BOOST_TEST_REQUIRE(readers.size() == 1u);
    BOOST_TEST(readers[0].at("ttl_ms").as_int64() < 1'000'000'000'000'000);
}

BOOST_AUTO_TEST_CASE(a_password_may_come_from_a_file)
{
    tool t(1, {"--requirepass", "pass word/@"});
    redlock::testbed::temporary_folder const folder;
    for (std::string const end : {"", "\n", "\r\n", "\nmore\n"}) {
        std::ofstream(folder.path + "/password") << "pass word/@" << end;
        BOOST_TEST(t.run({"status", "x", "--password-file", folder.path + "/password"}).status == 1);
    }
    BOOST_TEST(t.run({"status", "x", "--password-file", folder.path + "/none"}).status == 78);
}

BOOST_AUTO_TEST_CASE(what_others_have_written_does_nothing_to_the_terminal)
{
    tool t(1);
    t.set("lock:x", token_of("\033[31mred\x9b\x32J\xc2\x9b\xe2\x80\xae"));

    auto const people = t.run({"status", "x", "--tokens"});
    auto const told = t.run({"status", "x", "-o", "json"});

    BOOST_TEST(!has(people.out, "\033"));
    BOOST_TEST(!has(people.out, "\x9b"));
    BOOST_TEST(!has(people.out, "\xe2\x80\xae"));
    BOOST_TEST(has(people.out, "\\x1b[31mred\\x9b2J\\xc2\\x9b\\xe2\\x80\\xae"), people.out);
    BOOST_TEST(told.json().at("owner") == "\033[31mred\xef\xbf\xbd\x32J\xc2\x9b\xe2\x80\xae");
}

BOOST_AUTO_TEST_CASE(a_status_changes_nothing_on_the_servers)
{
    tool t(1);

    BOOST_TEST(t.run({"status", "x"}).status == 1);
    BOOST_TEST(t[0].ask({"DBSIZE"}) == "0");
    BOOST_TEST(has(t[0].ask({"INFO", "persistence"}), "rdb_changes_since_last_save:0"));
}

BOOST_AUTO_TEST_CASE(stores_that_are_no_servers_are_inspected)
{
    tool t(0);
    auto const o = t.run({"status", "x", "-u", "memory://a", "-o", "json"});

    BOOST_TEST(o.status == 1);
    BOOST_TEST(o.json().at("state") == "free");
    BOOST_TEST(o.json().at("waiting").is_null());
}

BOOST_AUTO_TEST_CASE(wrong_words_are_refused_before_anybody_is_asked)
{
    tool t(1);

    BOOST_TEST(t.run({"status"}).status == 64);
    BOOST_TEST(t.run({"status", ""}).status == 64);
    BOOST_TEST(t.run({"status", "x", "y"}).status == 64);
    BOOST_TEST(t.run({"status", "x", "--nonsense"}).status == 64);
    BOOST_TEST(t.run({"status", "a:=fence"}).status == 64);
    BOOST_TEST(t.run({"status", std::string(513, 'x')}).status == 64);
    BOOST_TEST(t.run({"status", "x", "-o", "yaml"}).status == 64);
    BOOST_TEST(t.run({"status", "x"}, {"REDLOCK_URLS="}).status == 78);
    BOOST_TEST(t.run({"status", "x", "--config", "/nonexistent"}).status == 78);
    BOOST_TEST(t.run({"statuss", "x"}).status == 64);
    BOOST_TEST(t.run({"status", "--help"}).status == 0);
    BOOST_TEST(has(t[0].ask({"INFO", "stats"}), "total_connections_received:1"), "the server was asked");
}

BOOST_AUTO_TEST_SUITE_END()
