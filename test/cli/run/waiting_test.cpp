// The messages of redlock run, hold and acquire while they wait, and the causes that end the wait immediately.

#include "cli/started_tool.hpp"
#include "cli/terminal.hpp"
#include "bed/local_server.hpp"
#include "bed/plain_client.hpp"
#include "bed/postgres_server.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>
#include <string>
#include <utility>
#include <vector>

BOOST_AUTO_TEST_SUITE(redlock_run_waiting)

namespace {

using namespace redlock::test;
using redlock::testbed::free_port;
using redlock::testbed::local_server;
using words = std::vector<std::string>;

// A label of a host name has at most 63 characters. This one is longer, so the resolver asks no name server.
std::string const unknown_host = "redis://" + std::string(64, 'a') + ".invalid";
std::string const foreign_token = "5f0c9d4b2a7e61830d1f4e5a6b7c8d9e:web-3:4121";

std::string refused_url() { return "redis://127.0.0.1:" + std::to_string(free_port()); }

std::string with_user(local_server const& s, std::string const& user_and_password)
{
    return "redis://" + user_and_password + "@127.0.0.1:" + std::to_string(s.port());
}

words environment(words const& urls, std::string const& connect_timeout = "10s")
{
    return {"REDLOCK_URLS=" + one_of(urls), "REDLOCK_RESTART_GUARD=automatic", "REDLOCK_NODE_TIMEOUT=2s",
            "REDLOCK_CONNECT_TIMEOUT=" + connect_timeout};
}

// An environment with a short connect timeout, so that the tool soon reports missing nodes.
words short_timeouts(words const& urls) { return environment(urls, "300ms"); }

// Waits for the end of the tool, and kills it after a minute.
tool_run end_of(started_tool&& tool)
{
    BOOST_TEST(comes_true([&] { return tool.process().ended().has_value(); }), tool.err());
    if (!tool.process().ended())
        tool.process().signal(SIGKILL);
    return tool.wait();
}

tool_run run(words const& urls, words arguments)
{
    arguments.insert(arguments.begin(), "run");
    return end_of(started_tool(std::move(arguments), environment(urls)));
}

void must_end_immediately(words const& urls, int status, std::string const& why)
{
    for (auto const& arguments : {words{"run", "x", "true"},
                                  {"run", "-w", "1h", "x", "true"},
                                  {"run", "-n", "x", "true"},
                                  {"hold", "x"},
                                  {"acquire", "x"}}) {
        auto const e = end_of(started_tool(arguments, environment(urls)));
        must_say(e, status, why);
        BOOST_TEST(e.out == "");
    }
}

}  // namespace

BOOST_AUTO_TEST_CASE(run_with_a_wrong_password_ends_immediately_with_77)
{
    local_server const s({"--requirepass", "geheim"});
    must_end_immediately({with_user(s, ":incorrect")}, 77, "correct user and password");
}

BOOST_AUTO_TEST_CASE(run_with_a_forbidding_access_list_ends_immediately_with_77)
{
    local_server const s;
    BOOST_TEST_REQUIRE(s.ask({"ACL", "SETUSER", "weak", "on", ">p", "~*", "+@all", "-set"}) == "OK");
    must_end_immediately({with_user(s, "weak:p")}, 77, "redlock acl");
}

BOOST_AUTO_TEST_CASE(run_with_one_server_named_twice_ends_immediately_with_78)
{
    local_server const s;
    must_end_immediately({s.url(), "redis://localhost:" + std::to_string(s.port())}, 78, "name each server once");
}

BOOST_AUTO_TEST_CASE(run_with_an_unknown_host_ends_with_78)
{
    for (auto const& arguments : {words{"-n", "x", "true"}, {"-w", "1s", "x", "true"}})
        must_say(run({unknown_host}, arguments), 78, "Host not found");
    // Without a limit it waits for a minute: the name may appear, as that of a pod does when the pod is ready.
    started_tool tool({"run", "x", "true"}, short_timeouts({unknown_host}));
    BOOST_TEST(tool.complains("redlock run: waiting: too few nodes answer: " + unknown_host), tool.err());
    BOOST_TEST(!tool.process().ended().has_value());
    BOOST_TEST(tool.end_by(SIGINT).status == 130);
}

// Without a limit it ends after a minute.
BOOST_AUTO_TEST_CASE(run_on_a_server_without_commands_ends_with_78)
{
    for (auto const* const command : {"HELLO", "EVALSHA"}) {
        local_server const s({"--rename-command", command, ""});
        for (auto const& arguments : {words{"-n", "x", "true"}, {"-w", "1s", "x", "true"}})
            must_say(run({s.url()}, arguments), 78, "the server cannot do what locks need");
    }
}

// A pipe can be read once, and opening it again would block.
BOOST_AUTO_TEST_CASE(run_with_a_pipe_as_password_file_reads_it_once)
{
    redlock::testbed::temporary_folder const folder;
    auto const pipe = folder.path + "/pipe";
    BOOST_TEST_REQUIRE(::mkfifo(pipe.c_str(), 0600) == 0);
    local_server const s({"--requirepass", "geheim"});
    started_tool tool({"--password-file", pipe, "run", "-t", "20s", "x", "sh", "-c",
                       "echo in; while test ! -e " + folder.path + "/go; do sleep 0.05; done"},
                      environment({s.url()}));
    std::ofstream(pipe) << "geheim\n";
    BOOST_TEST_REQUIRE(comes_true([&] { return tool.out() == "in\n"; }), tool.err());
    redlock::testbed::plain_client admin(s.port());
    admin.ask({"AUTH", "geheim"});
    admin.ask({"CLIENT", "KILL", "TYPE", "normal"});
    std::ofstream(folder.path + "/go").flush();
    BOOST_TEST(end_of(std::move(tool)).status == 0);
}

// The server gets the new password first, and ends all connections. Then the file gets it.
BOOST_AUTO_TEST_CASE(run_with_a_password_file_goes_on_after_a_new_password)
{
    redlock::testbed::temporary_folder const folder;
    auto const file = folder.path + "/password", next = folder.path + "/next";
    auto const write = [&](std::string const& password) {
        std::ofstream(next) << password << '\n';
        std::filesystem::rename(next, file);
    };
    local_server const s;
    s.ask({"ACL", "SETUSER", "app", "on", ">one", "~*", "&*", "+@all"});
    write("one");
    auto const start = [&](words arguments) {
        arguments.insert(arguments.begin(), {"--password-file", file, "run", "-t", "20s", "x", "sh", "-c"});
        return started_tool(std::move(arguments), short_timeouts({with_user(s, "app")}));
    };
    auto holder = start({"echo in; while test ! -e " + folder.path + "/go; do sleep 0.05; done"});
    BOOST_TEST_REQUIRE(comes_true([&] { return holder.out() == "in\n"; }));
    auto waiter = start({"echo next"});
    BOOST_TEST(comes_true([&] { return count_of(s.ask({"CLIENT", "LIST"}), "user=app") == 2u; }));

    std::filesystem::remove(file);  // no reason to forget the password
    s.ask({"CLIENT", "KILL", "USER", "app"});
    BOOST_TEST(comes_true([&] { return count_of(s.ask({"CLIENT", "LIST"}), "user=app") == 2u; }));
    s.ask({"ACL", "SETUSER", "app", "<one", ">two"});
    s.ask({"CLIENT", "KILL", "USER", "app"});
    BOOST_TEST(waiter.complains("redlock run: waiting: too few nodes answer"), waiter.err());
    BOOST_TEST(!holder.process().ended().has_value());
    write("two");
    BOOST_TEST(comes_true([&] { return s.ask({"CLIENT", "LIST"}).find("user=app") != std::string::npos; }));
    std::ofstream(folder.path + "/go").flush();
    BOOST_TEST(end_of(std::move(holder)).status == 0);
    BOOST_TEST(end_of(std::move(waiter)).status == 0);
}

BOOST_AUTO_TEST_CASE(run_on_a_replica_ends_immediately_with_69)
{
    local_server const s({"--replicaof", "127.0.0.1 " + std::to_string(free_port())});
    must_end_immediately({s.url()}, 69, "name the primary");
}

BOOST_AUTO_TEST_CASE(run_on_a_key_of_another_type_ends_immediately_with_78)
{
    local_server const s;
    s.ask({"RPUSH", "lock:x", "a list"});
    must_end_immediately({s.url()}, 78, "choose another --prefix, or stop that client");
}

BOOST_AUTO_TEST_CASE(run_on_a_server_that_may_evict_names_the_setting_to_change)
{
    local_server const s({"--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru"});
    started_tool tool({"run", "x", "true"}, short_timeouts({s.url()}));
    BOOST_TEST(tool.complains("CONFIG SET maxmemory-policy noeviction"));
    auto const e = tool.end_by(SIGTERM);
    BOOST_TEST(!has(e.err, "manager_options::"), e.err);
}

BOOST_AUTO_TEST_CASE(run_with_one_more_node_down_names_each_missing_node_once)
{
    local_server a, b, c;
    for (auto* s : {&a, &b, &c})
        s->ask({"SET", "lock:x", foreign_token, "PX", "3600000"});
    started_tool tool({"run", "x", "true"}, short_timeouts({a.url(), b.url(), c.url()}));
    a.kill();
    b.kill();
    BOOST_TEST(tool.complains(a.url() + " ("));
    BOOST_TEST(tool.complains(b.url() + " ("));
    c.kill();
    BOOST_TEST(tool.complains(c.url() + " ("));
    auto const lines = tool.err();
    for (auto const* s : {&a, &b, &c})
        BOOST_TEST(count_of(lines, s->url() + " (no connection to the node: Connection refused)") <= 1u, lines);
    tool.end_by(SIGTERM);
}

BOOST_AUTO_TEST_CASE(run_with_one_wrong_password_of_three_nodes_succeeds)
{
    local_server const a, b, locked({"--requirepass", "geheim"});
    BOOST_TEST(end_of(started_tool({"nodes", "init"}, environment({a.url(), b.url()}))).status == 0);
    must_print(run({a.url(), with_user(locked, ":incorrect"), b.url()}, {"x", "echo", "ran"}), 0, "ran\n");
}

BOOST_AUTO_TEST_CASE(run_with_a_lasting_and_a_temporary_cause_waits)
{
    local_server const good, locked({"--requirepass", "geheim"});
    local_server away;
    away.kill();
    words const urls{with_user(locked, ":incorrect"), away.url(), good.url()};
    started_tool tool({"run", "--restart-guard", "off", "x", "echo", "ran"}, short_timeouts(urls));
    BOOST_TEST(tool.complains("waiting: too few nodes answer: "));
    BOOST_TEST(has(tool.err(), locked.url() + " (the server refused user or password: WRONGPASS"), tool.err());
    BOOST_TEST(has(tool.err(), away.url() + " (no connection to the node: Connection refused)"), tool.err());

    away.start();
    must_print(end_of(std::move(tool)), 0, "ran\n");
}

BOOST_AUTO_TEST_CASE(run_with_a_refused_port_names_the_cause_once)
{
    auto const url = refused_url();
    started_tool tool({"run", "x", "true"}, short_timeouts({url}));
    BOOST_TEST(tool.complains("redlock run: waiting: too few nodes answer: " + url));
    auto const e = tool.end_by(SIGTERM);
    BOOST_TEST(e.status == 128 + SIGTERM);
    BOOST_TEST(count_of(e.err, "redlock run: waiting: ") == 1u, e.err);
    auto const cause = "too few nodes answer: " + url + " (no connection to the node: Connection refused)\n";
    BOOST_TEST(e.err.ends_with("redlock run: interrupted while waiting for lock:x: " + cause), e.err);
}

BOOST_AUTO_TEST_CASE(hold_and_acquire_with_a_refused_port_name_the_cause)
{
    auto const url = refused_url();
    for (std::string const command : {"hold", "acquire"}) {
        started_tool tool({command, "x"}, short_timeouts({url}));
        auto const cause = "too few nodes answer: " + url;
        BOOST_TEST(tool.complains("redlock " + command + ": waiting: " + cause));
        auto const e = tool.end_by(SIGTERM);
        must_say(e, 128 + SIGTERM, "redlock " + command + ": interrupted while waiting for lock:x: " + cause);
    }
}

BOOST_AUTO_TEST_CASE(run_on_each_store_reports_that_too_few_nodes_answer)
{
    auto const place = "127.0.0.1:" + std::to_string(free_port());
    auto const known = end_of(started_tool({"version", "-v"})).out;
    for (std::string const kind : {"postgresql://", "mysql://", "etcd://", "zookeeper://"}) {
        if (!has(known, kind))
            continue;
        bool const is_database = kind == "postgresql://" || kind == "mysql://";
        auto const url = kind + (is_database ? "redlock@" + place + "/redlock" : place);
        started_tool tool({"run", "x", "true"}, short_timeouts({url}));
        BOOST_TEST(tool.complains("waiting: too few nodes answer: " + kind + place));
        BOOST_TEST(tool.end_by(SIGTERM).status == 128 + SIGTERM);
    }
}

BOOST_AUTO_TEST_CASE(run_as_an_unknown_user_of_postgresql_ends_immediately_with_77)
{
    bool const is_known = has(end_of(started_tool({"version", "-v"})).out, "postgresql://");
    if (!is_known || redlock::testbed::postgres_programs().empty())
        return;
    redlock::testbed::postgres_server const s;
    auto url = s.url();
    url.replace(url.find("redlock@"), 7, "nobody_there");
    must_say(run({url}, {"x", "true"}), 77, "nobody_there");
}

BOOST_AUTO_TEST_CASE(run_while_waiting_for_a_holder_reports_missing_nodes)
{
    local_server s;
    s.ask({"SET", "lock:x", foreign_token, "PX", "3600000"});
    terminal t({REDLOCK_TOOL, "run", "x", "true"}, short_timeouts({s.url()}));
    BOOST_TEST(t.shows("redlock: waiting for lock:x for"));
    s.kill();
    BOOST_TEST(t.shows("redlock run: waiting: too few nodes answer: " + s.url()));
    t.signal(SIGTERM);
    BOOST_TEST(t.wait() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(run_on_a_primary_that_becomes_a_replica_continues_to_wait)
{
    local_server const s;
    s.ask({"SET", "lock:x", foreign_token, "PX", "3600000"});
    terminal t({REDLOCK_TOOL, "run", "x", "true"}, short_timeouts({s.url()}));
    BOOST_TEST(t.shows("redlock: waiting for lock:x for"));
    BOOST_TEST_REQUIRE(s.ask({"REPLICAOF", "127.0.0.1", std::to_string(free_port())}) == "OK");
    s.ask({"CLIENT", "KILL", "TYPE", "normal"});  // the library notices a replica when it connects
    BOOST_TEST(t.shows("redlock run: waiting: too few nodes answer: " + s.url() + " (the server is a replica"));
    t.signal(SIGTERM);
    BOOST_TEST(t.wait() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(run_on_a_restarted_server_waits_and_prints_the_time)
{
    local_server s({"--appendonly", "no"});
    s.ask({"SET", "lock:x", foreign_token, "PX", "3600000"});
    started_tool tool({"run", "--verbose", "x", "true"}, short_timeouts({s.url()}));
    BOOST_TEST(tool.complains("connected"));
    s.kill();
    s.start();
    BOOST_TEST(tool.complains("waiting: too few nodes vote yet: " + s.url()
                              + " (it has restarted or lost keys, so it may have forgotten locks; it votes in "));
    auto const e = tool.end_by(SIGTERM);
    BOOST_TEST(e.status == 128 + SIGTERM);
    BOOST_TEST(!has(e.err, "redlock nodes init"), e.err);
}

BOOST_AUTO_TEST_CASE(run_on_a_new_server_waits_and_names_nodes_init)
{
    local_server const s;
    auto const named = short_timeouts({s.url()});
    started_tool tool({"run", "--restart-guard", "strict", "x", "true"}, named);
    BOOST_TEST(tool.complains("waiting: too few nodes vote yet: " + s.url()
                              + " (it is new to this prefix, or has lost all its keys; it votes in "));
    BOOST_TEST(tool.complains("); if all servers are newly installed: redlock nodes init"));
    must_print(started_tool({"nodes", "init"}, named).wait(), 0,
               "1 node is founded, and votes from now on, for the prefix lock:\n");
    BOOST_TEST(started_tool({"run", "--restart-guard", "strict", "-n", "y", "true"}, named).wait().status == 0);
    BOOST_TEST(end_of(std::move(tool)).status == 0);
}

BOOST_AUTO_TEST_CASE(run_interrupted_while_waiting_names_the_holder)
{
    local_server const s;
    s.ask({"SET", "lock:x", foreign_token, "PX", "3600000"});
    started_tool tool({"run", "--verbose", "x", "true"}, environment({s.url()}));
    BOOST_TEST(tool.complains("connected"));
    auto const e = tool.end_by(SIGTERM);
    must_say(e, 128 + SIGTERM, "redlock run: interrupted while waiting for lock:x, held by web-3:4121, ttl ");
}

BOOST_AUTO_TEST_CASE(run_on_a_held_lock_names_the_holder_and_its_ttl)
{
    local_server const s;
    s.ask({"SET", "lock:x", foreign_token, "PX", "3600000"});
    s.ask({"SET", "lock:y", "somebody"});
    for (auto const& arguments : {words{"-n", "x", "true"}, {"-w", "50ms", "x", "true"}}) {
        auto const e = run({s.url()}, arguments);
        BOOST_TEST(e.status == 75);
        BOOST_TEST(e.err.starts_with("redlock run: x is held by web-3:4121, ttl 3"), e.err);
        BOOST_TEST(count_of(e.err, "\n") == 1u, e.err);
    }
    must_say(run({s.url()}, {"-w", "5s", "-n", "x", "true"}), 64, "--wait waits, and --nonblock does not");
    auto const foreign = run({s.url()}, {"-n", "y", "true"});
    BOOST_TEST(foreign.err == "redlock run: y is held by a client without a name, without end\n");
    for (auto const* command : {"hold", "acquire"}) {
        auto const e = end_of(started_tool({command, "-n", "x", "y"}, environment({s.url()})));
        BOOST_TEST(e.status == 75);
        BOOST_TEST(e.err.starts_with(std::string("redlock ") + command + ": x is held by web-3:4121, ttl 3"), e.err);
        BOOST_TEST(e.err.ends_with(" s; y is held by a client without a name, without end\n"), e.err);
    }
}

BOOST_AUTO_TEST_CASE(run_on_a_shared_lock_reports_that_it_is_shared)
{
    local_server const s;
    started_tool reader({"run", "-s", "-t", "60s", "x", "sh", "-c", "echo in; exec sleep 1000"},
                        environment({s.url()}));
    BOOST_TEST(reader.says("in"));
    auto const e = run({s.url()}, {"-n", "x", "true"});
    BOOST_TEST(e.status == 75);
    BOOST_TEST(e.err.starts_with("redlock run: x is shared, ttl "), e.err);
}

BOOST_AUTO_TEST_CASE(run_with_quiet_or_skip_busy_prints_no_message)
{
    local_server const s, locked({"--requirepass", "geheim"});
    s.ask({"SET", "lock:x", foreign_token, "PX", "3600000"});
    BOOST_TEST(run({s.url()}, {"-n", "--skip-busy", "x", "true"}).err == "");
    BOOST_TEST(run({s.url()}, {"-n", "--quiet", "x", "true"}).err == "");
    BOOST_TEST(run({with_user(locked, ":incorrect")}, {"--quiet", "x", "true"}).err == "");
    BOOST_TEST(run({refused_url()}, {"--quiet", "--connect-timeout", "50ms", "-w", "400ms", "x", "true"}).err == "");
}

BOOST_AUTO_TEST_SUITE_END()
