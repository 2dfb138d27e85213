// The note and the start of a hold: who leaves them, and which commands show them.

#include "cli/view/tool.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <string>
#include <vector>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(note)

namespace {

/// A token as the library writes it, of a hold that began in 2025.
std::string token_with_note(std::string_view owner, std::string_view note)
{
    return token_of(owner).append("\x1fsince=1764238452000\x1f").append(note);
}

/// Runs a command under the lock x, which asks `redlock status` for it. @return what that prints
boost::json::object status_inside(tool const& t, std::vector<std::string> options)
{
    options.insert(options.begin(), "run");
    options.insert(options.end(), {"x", "-c", "exec \"$TOOL\" status x -o json"});
    auto const o = t.run(options, {"TOOL=" REDLOCK_TOOL});
    BOOST_TEST_REQUIRE(o.status == 0, o.err);
    return o.json();
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(hold_with_a_note_is_shown_by_all_views, with_servers<3>)
{
    auto const holder = t.hold({"x", "--owner", "web-3:4121", "--note", "nightly report"});

    auto const people = t.run({"status", "x"});
    auto const told = t.run({"status", "x", "-o", "json"}).json();

    must_show(people, 0, "lock:x is held by web-3:4121 for \"nightly report\" since ", "SINCE", "FOR");
    must_have(told, {{"owner", "web-3:4121"}, {"note", "nightly report"}});
    BOOST_TEST(told.at("since").as_string().ends_with("Z"));
    BOOST_TEST(told.at("age_ms").as_int64() >= 0);
    must_have(told.at("nodes").at(2).as_object(), {{"note", "nightly report"}, {"since", told.at("since")}});
    for (auto const* const command : {"list", "top"})
        must_show(t.run({command}), 0, "nightly report");
    must_have(t.run({"list", "-o", "jsonl"}).json(), {{"note", "nightly report"}, {"since", told.at("since")}});
    must_have(t.run({"top", "-o", "json"}).json().at("first").at(0).as_object(), {{"note", "nightly report"}});
    must_say(t.run({"break", "x"}), 64, "held by web-3:4121 for \"nightly report\" since ");
    must_say(t.run({"run", "-n", "x", "true"}), 75, "x is held by web-3:4121 for \"nightly report\" since ");
}

BOOST_FIXTURE_TEST_CASE(status_of_readers_shows_their_notes, with_servers<1>)
{
    auto const one = t.hold({"x", "--shared", "--owner", "reader-1", "--note", "backup"});

    must_show(t.run({"status", "x"}), 0, "reader-1", "backup");
    must_have(t.run({"status", "x", "-o", "json"}).json().at("readers").at(0).as_object(),
              {{"owner", "reader-1"}, {"note", "backup"}});
}

BOOST_FIXTURE_TEST_CASE(run_without_a_note_leaves_its_command, with_servers<1>)
{
    must_have(status_inside(t, {}), {{"note", "exec \"$TOOL\" status x -o json"}});
    must_have(status_inside(t, {"--note", "a job"}), {{"note", "a job"}});
    auto const none = status_inside(t, {"--no-note"});
    BOOST_TEST(none.at("note").is_null());
    BOOST_TEST(none.at("since").is_string());
}

BOOST_FIXTURE_TEST_CASE(acquire_with_a_note_leaves_it, with_servers<1>)
{
    BOOST_TEST(t.run({"acquire", "x", "--note", "a job"}).status == 0);
    must_have(t.run({"status", "x", "-o", "json"}).json(), {{"note", "a job"}});
}

BOOST_FIXTURE_TEST_CASE(run_with_a_note_tells_its_command_only_the_label, with_servers<1>)
{
    must_print(t.run({"run", "--owner", "web-3:4121", "--note", "a job", "x", "sh", "-c", "echo $REDLOCK_OWNER"}), 0,
               "web-3:4121\n");
}

BOOST_FIXTURE_TEST_CASE(note_that_is_refused_names_the_option_and_asks_no_server, with_servers<1>)
{
    for (std::vector<std::string> const& words :
         {std::vector<std::string>{"hold", "x"}, {"acquire", "x"}, {"run", "x", "true"}}) {
        auto const refusal = [&](std::string const& text) {
            auto all = words;
            all.insert(all.begin() + 1, {"--note", text});
            return t.run(all);
        };
        must_say(refusal(std::string(201, 'x')), 64,
                 "redlock " + words[0] + ": --note has more than 200 bytes, but must have 0 to 200");
        must_say(refusal("a\x1f"), 64, "--note has the byte 0x1f at index 1, but must be UTF-8");
        must_say(refusal(""), 64, "--note needs a value");
    }
    must_say(t.run({"run", "--note", "a", "--no-note", "x", "true"}), 64, "--no-note");
    BOOST_TEST(has(t[0].ask({"INFO", "stats"}), "total_connections_received:1"), "the server was asked");
}

BOOST_FIXTURE_TEST_CASE(values_without_a_note_are_shown_as_they_are, with_servers<1>)
{
    t.set("lock:old", token_of("web:3:x"));
    t.set("lock:uuid", "a:b");
    t.set("lock:wrong", token_of("a\x1fsince=soon\x1f").append("b"));
    t.set("lock:far", token_of("far\x1fsince=18446744073709551615\x1fthat"));

    auto const told = [&](char const* key) { return t.run({"status", key, "-o", "json"}).json(); };

    boost::json::object const nothing{{"note", nullptr}, {"since", nullptr}, {"age_ms", nullptr}};
    for (auto const* const key : {"old", "uuid", "wrong"})
        must_have(told(key), nothing);
    must_have(told("old"), {{"state", "held"}, {"owner", "web:3:x"}});
    must_have(told("uuid"), {{"state", "foreign"}, {"owner", nullptr}});
    must_have(told("wrong"), {{"state", "held"},
                              {"owner", "a\x1fsince=soon\x1f"
                                        "b"}});
    must_have(told("far"), {{"owner", "far"}, {"note", "that"}, {"since", nullptr}, {"age_ms", nullptr}});
    must_show(t.run({"status", "old"}), 0, "lock:old is held by web:3:x on 1 of 1 nodes");
    must_show(t.run({"status", "wrong"}), 0,
              "a\\x1fsince=soon\\x1f"
              "b");
}

BOOST_FIXTURE_TEST_CASE(note_of_hostile_bytes_is_escaped, with_servers<1>)
{
    t.set("lock:x", token_with_note("web", "\033[31m\xff"));

    for (auto const* const command : {"status", "list", "top"}) {
        std::vector<std::string> words{command};
        if (words.front() == "status")
            words.emplace_back("x");
        must_show(t.run(words), 0, "\\x1b[31m\\xff");
    }
    auto const told = t.run({"status", "x", "-o", "json"}).json();
    must_have(told, {{"note", "\033[31m\xef\xbf\xbd"}, {"since", "2025-11-27T10:14:12Z"}});
    must_show(t.run({"status", "x"}), 0, "since 2025-11-27T10:14:12Z (");
}

BOOST_FIXTURE_TEST_CASE(break_takes_a_token_as_status_prints_it, with_servers<1>)
{
    t.set("lock:x", token_with_note("web", "a job"));
    auto const shown = token_of("web").append("\\x1fsince=1764238452000\\x1f").append("a job");

    must_show(t.run({"status", "x", "--tokens"}), 0, shown);
    BOOST_TEST(t.run({"break", "x", "--token", shown + "x"}).status == 1);
    BOOST_TEST(t.run({"break", "x", "--token", shown}).status == 0);
    BOOST_TEST(t[0].ask({"EXISTS", "lock:x"}) == "0");
}

BOOST_AUTO_TEST_SUITE_END()
