// redlock list, as a program, on real servers.

#include "cli/terminal.hpp"
#include "cli/view/tool.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <algorithm>
#include <map>
#include <set>
#include <sstream>
#include <sys/stat.h>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(list)

namespace {

constexpr int many = 100'000;

// The listed locks by key.
std::map<std::string, boost::json::object> locks_in(tool_run const& o)
{
    std::map<std::string, boost::json::object> all;
    for (auto const& l : o.documents()) {
        BOOST_TEST(l.at("schema") == 1);
        auto const is_new = all.emplace(l.at("key").as_string(), l).second;
        BOOST_TEST(is_new, l.at("key").as_string() << " is listed twice");
    }
    return all;
}

// The highest memory use of a process so far, in kilobytes.
long peak_of(pid_t pid)
{
    std::istringstream status(text_of("/proc/" + std::to_string(pid) + "/status"));
    for (std::string line; std::getline(status, line);) {
        if (line.starts_with("VmHWM:"))
            return std::stol(line.substr(6));
    }
    BOOST_FAIL("no VmHWM of process " << pid);
    return 0;
}

// Sets job/1 to job/100000 to held locks: in portions, because one command may time out on a busy machine.
void fill(local_server& s)
{
    constexpr int portion = 5000;
    for (int begin = 0; begin < many; begin += portion)
        BOOST_TEST_REQUIRE(s.ask({"EVAL",
                                  "for i = ARGV[1] + 1, ARGV[1] + ARGV[2] do redis.call('SET', 'lock:job/' .. "
                                  "math.floor(i), ARGV[3], 'PX', 3600000) end return 1",
                                  "0", std::to_string(begin), std::to_string(portion), token_of("worker")})
                           == "1");
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(list_prints_holder_nodes_and_state_of_each_lock, with_servers<3>)
{
    t.set("lock:all", token_of("web"));
    t.set("lock:two", token_of("batch"), 2);
    t.set("lock:one", token_of("late"), 1);
    t.set("lock:other", "uuid");
    t.set("lock:empty", "");
    auto const reader = t.hold({"read", "--shared"});

    auto const locks = locks_in(t.run({"list", "-o", "jsonl"}));
    auto const people = t.run({"list"});

    BOOST_TEST_REQUIRE(locks.size() == 6u);
    auto const state_of = [&](char const* key) { return locks.at(key).at("state").as_string(); };
    BOOST_TEST(state_of("all") == "held");
    BOOST_TEST(locks.at("all").at("owner") == "web");
    BOOST_TEST(locks.at("all").at("votes") == 3);
    BOOST_TEST(locks.at("all").at("of") == 3);
    BOOST_TEST(locks.at("all").at("ttl_ms").as_int64() > 3'000'000);
    BOOST_TEST(state_of("two") == "held");
    BOOST_TEST(locks.at("two").at("votes") == 2);
    BOOST_TEST(state_of("one") == "partial");
    BOOST_TEST(state_of("other") == "foreign");
    BOOST_TEST(state_of("empty") == "foreign");
    BOOST_TEST(state_of("read") == "shared");
    BOOST_TEST(people.status == 0);
    BOOST_TEST(people.out.starts_with("KEY"));
    BOOST_TEST(std::ranges::count(people.out, '\n') == 7);
    BOOST_TEST(has(people.out, "another kind of client"));
    BOOST_TEST(has(people.out, "2/3"));
}

BOOST_FIXTURE_TEST_CASE(list_leaves_out_the_other_keys_of_a_lock, with_servers<1>)
{
    auto const holder = t.hold({"x", "--fencing"});
    auto const waits = t.start({"hold", "x"});
    BOOST_TEST(comes_true([&] { return has(t[0].ask({"KEYS", "*"}), ":=wanted"); }));
    t.set("lock:y:=gone:{lock:y}:value", "1");
    t.set("elsewhere", "no lock either");

    auto const locks = locks_in(t.run({"list", "-o", "jsonl"}));

    BOOST_TEST(locks.size() == 1u);
    BOOST_TEST(locks.contains("x"));
}

BOOST_FIXTURE_TEST_CASE(list_with_a_pattern_takes_the_prefix_literally, with_servers<2>)
{
    for (std::string const prefix : {"lock:", "l[o]*k:"}) {
        t.set(prefix + "jobs/1", token_of("a"));
        t.set(prefix + "jobs/20", token_of("a"));
        t.set(prefix + "mail", token_of("a"));
    }

    BOOST_TEST(locks_in(t.run({"list", "jobs/?", "-o", "jsonl"})).size() == 1u);
    BOOST_TEST(locks_in(t.run({"list", "jobs/*", "-o", "jsonl"})).size() == 2u);
    BOOST_TEST(locks_in(t.run({"list", "-o", "jsonl"})).size() == 3u);
    BOOST_TEST(locks_in(t.run({"list", "-o", "jsonl", "--prefix", "l[o]*k:"})).size() == 3u);
    BOOST_TEST(locks_in(t.run({"list", "-o", "jsonl", "--prefix", "k:"})).empty());
}

BOOST_FIXTURE_TEST_CASE(list_as_json_prints_one_document, with_servers<2>)
{
    auto const empty = t.run({"list", "-o", "json"}).json();
    t.set("lock:a", token_of("web"));
    t.set("lock:b", token_of("web"));
    auto const full = t.run({"list", "-o", "json", "--tokens"}).json();

    BOOST_TEST(empty.at("schema") == 1);
    BOOST_TEST(empty.at("locks").as_array().empty());
    BOOST_TEST(empty.at("nodes").as_array().size() == 2u);
    BOOST_TEST_REQUIRE(full.at("locks").as_array().size() == 2u);
    BOOST_TEST(full.at("locks").at(0).at("token").as_string() == token_of("web"));
    BOOST_TEST(full.at("nodes").at(0).at("complete") == true);
    BOOST_TEST(t.run({"list", "none"}).out == "KEY  HOLDER  SINCE  TTL  NODES  STATE  FOR\n");
}

BOOST_FIXTURE_TEST_CASE(list_of_a_hundred_thousand_locks_needs_little_memory, with_servers<3>)
{
    for (std::size_t i = 0; i < 3; ++i)
        fill(t[i]);

    redlock::testbed::temporary_folder const folder;
    auto const pipe = folder.path + "/pipe";
    BOOST_TEST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    // The test reads a named pipe, because process::read would read byte by byte. The shell opens the pipe and then
    // becomes the tool, so its process id is the tool's.
    auto p = t.start({"list", "-o", "jsonl"}, {}, ">" + pipe);
    std::ifstream lines(pipe);
    std::set<int> seen;
    bool alike = true;
    long at_first = 0, at_last = 0;
    for (std::string line; std::getline(lines, line);) {
        auto const lock = boost::json::parse(line).as_object();
        alike = alike && lock.at("votes") == 3 && lock.at("state") == "held";
        seen.insert(std::stoi(std::string(lock.at("key").as_string()).substr(4)));
        // The pipe takes 64 KiB, so the tool is at most some thousand lines ahead when its memory is measured here.
        if (seen.size() == 1000)
            at_first = peak_of(p.pid());
        if (seen.size() == many - 2000)
            at_last = peak_of(p.pid());
    }

    BOOST_TEST(p.wait().code() == 0);
    BOOST_TEST(seen.size() == static_cast<std::size_t>(many));
    BOOST_TEST(*seen.begin() == 1);
    BOOST_TEST(*seen.rbegin() == many);
    BOOST_TEST(alike);
    BOOST_TEST_MESSAGE("peak: " << at_first << " KiB, then " << at_last << " KiB");
#if !defined(__SANITIZE_ADDRESS__)  // the address sanitizer delays the reuse of freed memory
    BOOST_TEST(at_last - at_first < 16 * 1024, "from " << at_first << " to " << at_last << " KiB");
#endif
}

BOOST_FIXTURE_TEST_CASE(list_of_nodes_with_different_locks_prints_all, with_servers<3>)
{
    for (std::size_t i = 0; i < 3; ++i) {
        for (int k = 0; k < 100; ++k)
            t[i].ask({"SET", "lock:" + std::to_string(i) + "/" + std::to_string(k), token_of("x"), "PX", "3600000"});
    }

    auto const locks = locks_in(t.run({"list", "-o", "jsonl"}));

    BOOST_TEST(locks.size() == 300u);
    BOOST_TEST(std::ranges::all_of(locks, [](auto const& l) { return l.second.at("state") == "partial"; }));
}

BOOST_FIXTURE_TEST_CASE(list_with_one_node_down_prints_all_locks_and_names_the_node, held_by_web<3>)
{
    t[0].kill();

    auto const o = t.run({"list", "-o", "jsonl"});

    BOOST_TEST(o.status == 0);
    BOOST_TEST(locks_in(o).at("x").at("votes") == 2);
    BOOST_TEST(has(o.err, "127.0.0.1:" + std::to_string(t[0].port()) + " has not told of all its locks"), o.err);
    BOOST_TEST(t.run({"list", "-q"}).err == "");
    BOOST_TEST(t.run({"list", "-o", "json"}).json().at("nodes").at(0).at("complete") == false);
}

BOOST_FIXTURE_TEST_CASE(list_with_a_hanging_node_leaves_it_out_and_names_it, held_by_web<3>)
{
    t[2].pause();

    auto const o = t.run({"list", "-o", "jsonl", "--connect-timeout", "1s"});
    t[2].resume();

    BOOST_TEST(o.status == 0);
    BOOST_TEST(locks_in(o).at("x").at("votes") == 2);
    BOOST_TEST(has(o.err, t[2].url() + " has not told of all its locks: "), o.err);
}

BOOST_FIXTURE_TEST_CASE(list_with_a_full_error_stream_succeeds, with_servers<3>)
{
    t[2].kill();

    BOOST_TEST(t.run({"list"}, {}, "2>/dev/full").status == 0);
    BOOST_TEST(t.run({"list"}, {}, ">&- 2>&-").status == 125);
}

BOOST_FIXTURE_TEST_CASE(list_without_a_majority_ends_with_69, held_by_web<3>)
{
    t[0].kill();
    t[1].kill();

    auto const o = t.run({"list", "-o", "jsonl"});

    BOOST_TEST(o.status == 69);
    BOOST_TEST(locks_in(o).at("x").at("state") == "unknown");
    t[2].kill();
    BOOST_TEST(t.run({"list"}).status == 69);
}

BOOST_FIXTURE_TEST_CASE(list_without_the_permission_to_scan_ends_with_77, with_servers<1>)
{
    t.ask({"ACL", "SETUSER", "reader", "on", ">pw", "~lock:*", "-@all", "+hello", "+get", "+pttl"});
    auto const url = "redis://reader:pw@127.0.0.1:" + std::to_string(t[0].port());

    must_say(t.run({"list", "-u", url}), 77, "NOPERM");
}

BOOST_FIXTURE_TEST_CASE(list_of_servers_and_another_store_asks_both, held_by_web<1>)
{
    auto const o = t.run({"list", "-u", t.urls, "-u", "memory://a", "-o", "jsonl"});

    BOOST_TEST(o.status == 0, o.err);
    must_have(locks_in(o).at("x"), {{"state", "partial"}, {"votes", 1}, {"of", 2}});
}

BOOST_FIXTURE_TEST_CASE(list_of_a_key_that_is_no_string_says_foreign, with_servers<1>)
{
    t.ask({"LPUSH", "lock:x", "1"});

    BOOST_TEST(locks_in(t.run({"list", "-o", "jsonl"})).at("x").at("state") == "foreign");
}

BOOST_FIXTURE_TEST_CASE(list_hides_the_key_of_a_connecting_client, with_servers<1>)
{
    t.set("lock:=trial:0123", "trial");
    t.set("lock:=trials", token_of("web"));

    auto const locks = locks_in(t.run({"list", "-o", "jsonl"}));

    BOOST_TEST(locks.size() == 1u);
    BOOST_TEST(locks.contains("=trials"));
}

BOOST_FIXTURE_TEST_CASE(list_with_a_pattern_that_is_too_long_ends_with_64, with_servers<1>)
{
    must_say(t.run({"list", std::string(513, 'x')}), 64, "at most 512 bytes");
}

BOOST_FIXTURE_TEST_CASE(list_of_names_of_any_bytes_escapes_them, with_servers<1>)
{
    t.set("lock:\033]0;title\a\xff", token_of("web\033[2J"));

    auto const people = t.run({"list"});
    auto const locks = locks_in(t.run({"list", "-o", "jsonl"}));

    BOOST_TEST(!has(people.out, "\033"));
    BOOST_TEST(has(people.out, "\\x1b]0;title\\x07\\xff"), people.out);
    BOOST_TEST(locks.contains("\033]0;title\a\xef\xbf\xbd"));
}

BOOST_FIXTURE_TEST_CASE(list_shows_only_the_beginning_of_a_long_value, with_servers<1>)
{
    t.set("lock:x", std::string(1 << 20, 'v'));

    BOOST_TEST(t.run({"list", "--tokens"}).out.size() < 2000u);
}

BOOST_AUTO_TEST_CASE(list_of_another_store_names_it_without_its_password)
{
    for (std::string const url : {"etcd://127.0.0.1:7", "postgresql://127.0.0.1:7/db"}) {
        auto with_password = url;
        with_password.insert(url.find("127"), "app:secret@");
        auto const o = started_tool({"-u", with_password, "list"}).wait();
        bool const is_known = has(started_tool({"version", "-v"}).wait().out, url.substr(0, url.find(':')));
        BOOST_TEST(o.status == (is_known ? 69 : 78));
        BOOST_TEST(!has(o.err, "secret"), o.err);
        BOOST_TEST(!has(o.err, "redis://"), o.err);
        BOOST_TEST(has(o.err, is_known ? url : url.substr(0, url.find("127"))), o.err);
    }
}

BOOST_FIXTURE_TEST_CASE(list_into_a_closed_pipe_ends_quietly, with_servers<1>)
{
    fill(t[0]);

    auto const piped = t.run({"list"}, {}, "| head -n 1");
    auto const full = t.run({"list"}, {}, ">/dev/full");

    BOOST_TEST(std::ranges::count(piped.out, '\n') == 1);
    BOOST_TEST(piped.err == "");
    must_say(full, 125, "could not be written");
}

BOOST_FIXTURE_TEST_CASE(list_prints_colors_only_on_a_terminal_unless_told, held_by_web<1>)
{
    auto const on_a_terminal = [&](std::vector<std::string> arguments, std::string const& no_color) {
        arguments.insert(arguments.begin(), REDLOCK_TOOL);
        auto environment = t.environment();
        environment.push_back("NO_COLOR=" + no_color);
        terminal screen(arguments, environment);
        BOOST_TEST(screen.wait() == 0);
        return screen.shown;
    };

    BOOST_TEST(has(on_a_terminal({"list"}, ""), "\033[1m"));
    BOOST_TEST(!has(on_a_terminal({"list"}, "1"), "\033"));
    BOOST_TEST(!has(on_a_terminal({"list", "--color", "never"}, ""), "\033"));
    BOOST_TEST(!has(t.run({"list"}).out, "\033"));
    BOOST_TEST(has(t.run({"list", "--color", "always"}).out, "\033[1m"));
}

BOOST_AUTO_TEST_SUITE_END()
