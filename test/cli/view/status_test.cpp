// redlock status, as a program, on real servers.

#include "cli/view/tool.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(status)

BOOST_FIXTURE_TEST_CASE(status_of_a_held_lock_names_the_holder_and_the_ttl_of_each_node, with_servers<3>)
{
    auto const holder = t.hold({"jobs/42", "--owner", "web-3:4121"});

    auto const people = t.run({"status", "jobs/42"});
    auto const programs = t.run({"status", "jobs/42", "-o", "json"});

    BOOST_TEST(people.status == 0);
    BOOST_TEST(people.err == "");
    BOOST_TEST(has(people.out, "lock:jobs/42 is held by web-3:4121 since "), people.out);
    BOOST_TEST(has(people.out, ") on 3 of 3 nodes, ttl "), people.out);
    BOOST_TEST(has(people.out, "nobody waits for it"), people.out);
    BOOST_TEST(programs.status == 0);
    auto const told = programs.json();
    must_have(told,
              {{"schema", 1}, {"key", "jobs/42"}, {"state", "held"}, {"owner", "web-3:4121"}, {"votes", 3}, {"of", 3}});
    BOOST_TEST(told.at("nodes").as_array().size() == 3u);
    for (auto const& n : told.at("nodes").as_array()) {
        must_have(n.as_object(), {{"state", "held"}, {"owner", "web-3:4121"}});
        BOOST_TEST(n.at("ttl_ms").as_int64() > 0);
        BOOST_TEST(n.at("ttl_ms").as_int64() <= 60'000);
    }
    BOOST_TEST(told.at("ttl_ms").as_int64() <= 60'000);
    BOOST_TEST(!has(people.out + programs.out, t[0].ask({"GET", "lock:jobs/42"})), "shows the token without --tokens");
}

BOOST_FIXTURE_TEST_CASE(status_with_tokens_shows_the_tokens, held_by_web<1>)
{
    BOOST_TEST(has(t.run({"status", "x", "--tokens"}).out, token_of("web")));
    BOOST_TEST(t.run({"status", "x", "--tokens", "-o", "json"}).json().at("token").as_string() == token_of("web"));
}

BOOST_FIXTURE_TEST_CASE(status_of_a_free_lock_says_free, with_servers<3>)
{
    auto const people = t.run({"status", "x"});
    auto const told = t.run({"status", "x", "-o", "json"}).json();

    must_show(people, 1, "lock:x is free\n");
    must_have(told, {{"state", "free"}, {"owner", nullptr}, {"ttl_ms", nullptr}, {"votes", 0}});
}

BOOST_FIXTURE_TEST_CASE(status_of_a_shared_lock_names_the_readers, with_servers<3>)
{
    auto const one = t.hold({"x", "--shared", "--owner", "reader-1"});
    auto const another = t.hold({"x", "--shared", "--owner", "reader-2"});

    auto const people = t.run({"status", "x"});
    auto const told = t.run({"status", "x", "-o", "json"}).json();

    must_show(people, 0, "lock:x is shared on 3 of 3 nodes");
    BOOST_TEST((has(people.out, "reader-1") && has(people.out, "reader-2")), people.out);
    must_have(told, {{"state", "shared"}, {"owner", nullptr}});
    auto const& readers = told.at("readers").as_array();
    BOOST_TEST_REQUIRE(readers.size() == 2u);
    for (auto const& r : readers) {
        BOOST_TEST((r.at("owner") == "reader-1" || r.at("owner") == "reader-2"));
        BOOST_TEST(r.at("votes") == 3);
        BOOST_TEST(r.at("ttl_ms").as_int64() > 0);
    }
}

BOOST_FIXTURE_TEST_CASE(status_counts_each_waiting_process_once, with_servers<3>)
{
    auto const holder = t.hold({"x"});
    auto const writer = t.start({"hold", "x"});
    auto const reader = t.start({"hold", "x", "--shared"});

    BOOST_TEST(comes_true([&] {
        auto const told = t.run({"status", "x", "-o", "json"}).json();
        return told.at("waiting") == boost::json::value{{"alone", 1}, {"shared", 1}};
    }));
    BOOST_TEST(has(t.run({"status", "x"}).out, "2 processes wait for it: 1 to have it alone, 1 to share it"));
}

BOOST_FIXTURE_TEST_CASE(status_names_the_waiting_processes, with_servers<3>)
{
    auto const holder = t.hold({"x"});
    auto const writer = t.start({"hold", "x", "--owner", "writer", "--note", "a job"});
    auto const reader = t.start({"hold", "x", "--shared", "--owner", "reader"});
    t.ask({"HSET", "lock:x:=wanted:{lock:x}", "0123456789abcdef", "1"});  // a client of an older version

    boost::json::array waiters;
    BOOST_TEST(comes_true([&] {
        waiters = t.run({"status", "x", "-o", "json"}).json().at("waiters").as_array();
        return waiters.size() == 3;
    }));

    auto const is_there = [&](boost::json::value const& w) { return std::ranges::count(waiters, w) == 1; };
    BOOST_TEST(is_there({{"owner", "writer"}, {"note", "a job"}, {"mode", "exclusive"}}));
    BOOST_TEST(is_there({{"owner", "reader"}, {"note", nullptr}, {"mode", "shared"}}));
    BOOST_TEST(is_there({{"owner", nullptr}, {"note", nullptr}, {"mode", "exclusive"}}));
    must_show(t.run({"status", "x"}), 0, "WAITS", "a client without a name  alone", "reader ", "a job\n");
}

BOOST_FIXTURE_TEST_CASE(status_of_a_lock_on_a_minority_reports_no_holder, with_servers<3>)
{
    t.set("lock:x", token_of("late"), 1);

    must_show(t.run({"status", "x"}), 1, "lock:x is held by nobody: late is on 1 of 3 nodes, which is no majority");
    BOOST_TEST(t.run({"status", "x", "-o", "json"}).json().at("state") == "partial");
}

BOOST_FIXTURE_TEST_CASE(status_with_another_holder_on_each_node_says_partial, with_servers<3>)
{
    for (std::size_t i = 0; i < 3; ++i)
        t[i].ask({"SET", "lock:x", token_of("same label", static_cast<char>('a' + i)), "PX", "60000"});

    BOOST_TEST(t.run({"status", "x", "-o", "json"}).json().at("state") == "partial");
}

BOOST_FIXTURE_TEST_CASE(status_of_a_value_of_another_client_says_held, with_servers<3>)
{
    t.ask({"SET", "lock:x", "some-uuid"});

    auto const people = t.run({"status", "x"});
    auto const told = t.run({"status", "x", "-o", "json"}).json();

    must_show(people, 0, "lock:x is held by another kind of client on 3 of 3 nodes, without an end");
    must_have(told, {{"state", "foreign"}, {"ttl_ms", nullptr}});
}

BOOST_FIXTURE_TEST_CASE(status_of_a_key_that_is_no_string_says_foreign, with_servers<1>)
{
    t.ask({"LPUSH", "lock:x", "1"});

    auto const told = t.run({"status", "x", "-o", "json"}).json();

    BOOST_TEST(told.at("state") == "foreign");
    BOOST_TEST(has(std::string(told.at("nodes").at(0).at("error").as_string()), "WRONGTYPE"));
}

BOOST_FIXTURE_TEST_CASE(status_with_one_node_down_names_the_holder, held_by_web<3>)
{
    t[2].kill();

    auto const o = t.run({"status", "x", "-o", "json"});

    BOOST_TEST(o.status == 0);
    auto const told = o.json();
    BOOST_TEST(told.at("votes") == 2);
    auto const& away = told.at("nodes").at(2);
    BOOST_TEST(away.at("state") == "unknown");
    BOOST_TEST(!away.at("error").as_string().empty());
}

BOOST_FIXTURE_TEST_CASE(status_with_a_hanging_node_leaves_it_out_and_names_it, held_by_web<3>)
{
    t[2].pause();

    auto const o = t.run({"status", "x", "--connect-timeout", "1s"});
    t[2].resume();

    must_show(o, 0, "lock:x is held by web on 2 of 3 nodes");
    BOOST_TEST(has(o.out, t[2].url() + "  unknown: "), o.out);
}

BOOST_FIXTURE_TEST_CASE(status_with_a_possible_majority_down_says_unknown, with_servers<3>)
{
    t.set("lock:x", token_of("web"), 1);
    t[2].kill();

    auto const o = t.run({"status", "x", "-o", "json"});

    BOOST_TEST(o.status == 69);
    must_have(o.json(), {{"state", "unknown"}, {"owner", "web"}});
}

BOOST_FIXTURE_TEST_CASE(status_without_an_answer_ends_with_69, with_servers<3>)
{
    for (std::size_t i = 0; i < 3; ++i)
        t[i].kill();

    must_show(t.run({"status", "x"}), 69, "too few nodes answer");
}

BOOST_AUTO_TEST_CASE(status_with_a_refused_password_ends_with_77)
{
    tool t(1, {"--requirepass", "secret"});
    auto const url = "redis://:wr0ng@127.0.0.1:" + std::to_string(t[0].port());

    auto const without = t.run({"status", "x"});
    auto const wrong = t.run({"status", "x", "-u", url});

    BOOST_TEST(without.status == 77);
    BOOST_TEST(wrong.status == 77);
    BOOST_TEST(!has(wrong.out + wrong.err, "wr0ng"));
}

BOOST_FIXTURE_TEST_CASE(status_as_a_refused_user_ends_with_77, with_servers<1>)
{
    auto const o = t.run({"status", "x", "-u", "redis://nobody:wr0ng@127.0.0.1:" + std::to_string(t[0].port())});

    must_show(o, 77, "WRONGPASS");
}

BOOST_FIXTURE_TEST_CASE(status_with_the_permissions_of_a_client_names_holder, held_by_web<1>)
{
    std::vector<std::string> words;
    std::istringstream line(t.run({"acl", "--user", "app"}).out);
    for (std::string word; line >> word;)
        words.push_back(word == ">PASSWORD" ? ">secret" : word);
    t.ask(words);

    auto const o = t.run({"status", "x", "-u", "redis://app:secret@127.0.0.1:" + std::to_string(t[0].port())});

    must_show(o, 0, "lock:x is held by web on 1 of 1 nodes");
}

BOOST_FIXTURE_TEST_CASE(status_and_list_of_a_replica_show_the_lock, held_by_web<1>)
{
    local_server const replica({"--replicaof", "127.0.0.1 " + std::to_string(t[0].port())});

    BOOST_TEST(comes_true([&] { return t.run({"status", "x", "-u", replica.url()}).status == 0; }));
    must_show(t.run({"list", "-u", replica.url()}), 0, "web");
}

BOOST_FIXTURE_TEST_CASE(status_of_a_reader_without_an_expiry_prints_a_finite_ttl, with_servers<1>)
{
    t.set("lock:x", ":=shared");
    t.ask({"ZADD", "lock:x:=shared:{lock:x}", "inf", "somebody"});

    auto const readers = t.run({"status", "x", "-o", "json"}).json().at("readers").as_array();

    BOOST_TEST_REQUIRE(readers.size() == 1u);
    BOOST_TEST(readers[0].at("ttl_ms").as_int64() < 1'000'000'000'000'000);
}

BOOST_AUTO_TEST_CASE(status_with_a_password_file_reads_its_first_line)
{
    tool t(1, {"--requirepass", "pass word/@"});
    redlock::testbed::temporary_folder const folder;
    auto const file = folder.path + "/password";
    for (std::string const end : {"", "\n", "\r\n", "\nmore\n"}) {
        for (auto const* const mark : {"", "\xef\xbb\xbf"}) {
            std::ofstream(file) << mark << "pass word/@" << end;
            BOOST_TEST(t.run({"status", "x", "--password-file", file}).status == 1);
        }
    }
    for (auto const* const empty : {"\npass word/@\n", "\r\n"}) {
        std::ofstream(file) << empty;
        must_say(t.run({"status", "x", "--password-file", file}), 78, "the first line of ", "/password is empty");
    }
    BOOST_TEST(t.run({"status", "x", "--password-file", folder.path + "/none"}).status == 78);
}

BOOST_FIXTURE_TEST_CASE(status_of_hostile_bytes_escapes_them, with_servers<1>)
{
    t.set("lock:x", token_of("\033[31mred\x9b\x32J\xc2\x9b\xe2\x80\xae"));

    auto const people = t.run({"status", "x", "--tokens"});
    auto const told = t.run({"status", "x", "-o", "json"});

    BOOST_TEST(!has(people.out, "\033"));
    BOOST_TEST(!has(people.out, "\x9b"));
    BOOST_TEST(!has(people.out, "\xe2\x80\xae"));
    BOOST_TEST(has(people.out, "\\x1b[31mred\\x9b2J\\xc2\\x9b\\xe2\\x80\\xae"), people.out);
    BOOST_TEST(told.json().at("owner") == "\033[31mred\xef\xbf\xbd\x32J\xc2\x9b\xe2\x80\xae");
}

BOOST_FIXTURE_TEST_CASE(status_changes_nothing_on_the_servers, with_servers<1>)
{
    BOOST_TEST(t.run({"status", "x"}).status == 1);
    BOOST_TEST(t[0].ask({"DBSIZE"}) == "0");
    BOOST_TEST(has(t[0].ask({"INFO", "persistence"}), "rdb_changes_since_last_save:0"));
}

BOOST_FIXTURE_TEST_CASE(status_of_another_store_prints_the_same_fields, with_servers<0>)
{
    auto const o = t.run({"status", "x", "-u", "memory://a", "-o", "json"});

    BOOST_TEST(o.status == 1);
    must_have(o.json(), {{"state", "free"}, {"note", nullptr}, {"since", nullptr}});
    BOOST_TEST(o.json().contains("waiting"));
    BOOST_TEST(o.json().at("waiters").as_array().empty());
}

BOOST_FIXTURE_TEST_CASE(status_with_wrong_arguments_asks_no_server, with_servers<1>)
{
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
