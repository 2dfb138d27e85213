// The command line of redlock run, hold and acquire, with real servers and real commands.

#include "cli/started_tool.hpp"
#include "bed/local_server.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

using namespace redlock::test;
using redlock::testbed::local_server;
using redlock::testbed::temporary_folder;

BOOST_AUTO_TEST_SUITE(redlock_options)

namespace {

// A new server, and programs that print their arguments.
class shell {
public:
    explicit shell(std::string const& guard = "automatic")
    {
        environment_ = {"REDLOCK_URLS=" + server.url(), "REDLOCK_RESTART_GUARD=" + guard, "REDLOCK_NODE_TIMEOUT=500ms",
                        "REDLOCK_CONNECT_TIMEOUT=5s", "PATH=" + folder.path + ":" + std::getenv("PATH")};
        program("kubectl", "echo \"kubectl $*, holding $REDLOCK_KEY\" | tr '\\n' ' '");
    }

    void program(std::string const& name, std::string const& text)
    {
        auto const path = folder.path + '/' + name;
        std::ofstream(path) << "#!/bin/sh\n" << text << '\n';
        std::filesystem::permissions(path, std::filesystem::perms::owner_all);
    }

    void set(std::string const& variable) { environment_.push_back(variable); }

    tool_run run(std::vector<std::string> arguments) const
    {
        return started_tool(std::move(arguments), environment_).wait();
    }

    local_server server;
    temporary_folder folder;

private:
    std::vector<std::string> environment_;
};

struct with_shell {
    shell s;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(run_begins_the_command_at_the_word_after_the_key, with_shell)
{
    auto const says = [&](std::vector<std::string> words) {
        words.insert(words.begin(), "run");
        auto const e = s.run(words);
        BOOST_TEST(e.status == 0, e.err);
        return e.out;
    };
    auto const remote = std::string("kubectl exec pod -- echo X, holding k ");
    BOOST_TEST(says({"k", "kubectl", "exec", "pod", "--", "echo", "X"}) == remote);
    BOOST_TEST(says({"k", "--", "kubectl", "exec", "pod", "--", "echo", "X"}) == remote);
    BOOST_TEST(says({"-t", "9s", "k", "-n", "--at-least=1ms", "--", "kubectl", "exec", "pod", "--", "echo", "X"})
               == remote);
    BOOST_TEST(says({"-nt", "9s", "k", "kubectl", "-t", "-k", "a"}) == "kubectl -t -k a, holding k ");
    BOOST_TEST(says({"--", "-k", "kubectl", "a"}) == "kubectl a, holding -k ");
    BOOST_TEST(s.server.ask({"KEYS", "lock:*"}).find("pod") == std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(run_with_several_keys_holds_all_of_them, with_shell)
{
    BOOST_TEST(s.run({"run", "-k", "b", "--key", "a", "-kc", "--key=d", "kubectl", "get", "--", "e"}).out
               == "kubectl get -- e, holding a b c d ");
    BOOST_TEST(s.run({"run", "-k", "b", "-k", "a", "--", "kubectl"}).out == "kubectl , holding a b ");
}

BOOST_FIXTURE_TEST_CASE(run_with_several_names_before_two_dashes_is_refused, with_shell)
{
    auto const e = s.run({"run", "disk", "shelf", "room", "--", "kubectl"});
    BOOST_TEST(e.status == 64);
    BOOST_TEST(
        has(e.err,
            "\"shelf\" is no command; several locks are named by -k: redlock run -k disk -k shelf -k room -- CMD"),
        e.err);
    BOOST_TEST(e.out == "");
    must_say(s.run({"run", "-c", "echo ran", "disk", "shelf"}), 64, "redlock run -k disk -k shelf -c");
    BOOST_TEST(s.run({"run", "-n"}).err.find("there is no lock") != std::string::npos);
    BOOST_TEST(s.run({"run", "", "true"}).err.find("resource is empty") != std::string::npos);
    BOOST_TEST(s.run({"run", "-k", "a"}).err.find("there is no command") != std::string::npos);
    BOOST_TEST(s.server.count_keys() == "0");
}

BOOST_FIXTURE_TEST_CASE(run_with_an_empty_value_after_equals_is_refused, with_shell)
{
    auto const e = s.run({"run", "--prefix=", "-n", "k", "kubectl", "get"});
    BOOST_TEST(e.status == 64);
    BOOST_TEST(e.err.find("--prefix needs a value: TEXT") != e.err.npos, e.err);
    BOOST_TEST(s.server.ask({"KEYS", "*k"}).empty());
    BOOST_TEST(s.run({"run", "k", "kubectl", "--prefix="}).out == "kubectl --prefix=, holding k ");
}

BOOST_FIXTURE_TEST_CASE(run_with_a_duration_without_a_unit_is_refused, with_shell)
{
    auto const refused = [&](std::vector<std::string> words, std::string const& why) {
        auto const e = s.run(std::move(words));
        must_say(e, 64, why);
    };
    refused({"run", "-w", "10", "x", "true"}, "--wait is \"10\", but must be a duration with a unit: 10s or 10ms");
    refused({"run", "--grace", "0", "x", "true"}, "--grace is \"0\", but must be a duration with a unit: 0s or 0ms");
    refused({"hold", "-t", "1.5", "x"}, "1.5s or 1.5ms");
    refused({"--node-timeout", "50", "status", "x"}, "50s or 50ms");
    refused({"doctor", "--watch", "5"}, "5s or 5ms");
    s.set("REDLOCK_WAIT=10");
    auto const e = s.run({"run", "x", "true"});
    must_say(e, 78, "10s or 10ms (it is set in $REDLOCK_WAIT)");
    BOOST_TEST(s.run({"status", "x"}).status == 1);  // status has no --wait
}

BOOST_FIXTURE_TEST_CASE(acquire_with_a_ttl_above_max_ttl_is_refused, with_shell)
{
    for (auto const* command : {"acquire", "hold"}) {
        must_say(s.run({command, "-t", "5m", "x"}), 64, "--ttl is 5 min, but must be at most --max-ttl, 60 s");
    }
    BOOST_TEST(s.run({"acquire", "-t", "5m", "--max-ttl", "5m", "x"}).status == 0);
    BOOST_TEST(s.run({"renew", "--help"}).out.find("20ms to --max-ttl") != std::string::npos);
}

// The code block of docs/cli.md that contains "redlock acquire".
std::string documented_script()
{
    auto const text = text_of(REDLOCK_SOURCE "/docs/cli.md");
    auto const middle = text.find("held=$(redlock acquire");
    auto const begin = text.rfind("```sh\n", middle) + 6;
    return text.substr(begin, text.find("```", begin) - begin);
}

BOOST_FIXTURE_TEST_CASE(acquire_in_the_script_of_cli_md_succeeds, with_shell)
{
    s.program("redlock", "exec " REDLOCK_TOOL " \"$@\"");
    s.program("prepare", "echo prepared $1");
    s.program("format", "test $2 -gt 0 && echo formatted $1");
    auto const e = s.run({"run", "other", "env", "DISK=7", "sh", "-c", documented_script()});
    must_print(e, 0, "prepared 7\nformatted 7\n");
    BOOST_TEST(s.server.ask({"EXISTS", "lock:disk:7"}) == "0");
}

BOOST_FIXTURE_TEST_CASE(run_reads_ttl_wait_and_at_least_from_file_and_environment, with_shell)
{
    std::ofstream(s.folder.path + "/settings") << "ttl = 7s\nwait = 20ms\ngrace = 100ms\nat-least = 10ms\n";
    s.set("REDLOCK_CONFIG=" + s.folder.path + "/settings");
    BOOST_TEST(s.run({"run", "x", "-c", "echo $REDLOCK_TTL_MS"}).out == "7000\n");
    BOOST_TEST(s.run({"run", "-t", "8s", "x", "-c", "echo $REDLOCK_TTL_MS"}).out == "8000\n");
    BOOST_TEST(s.run({"status", "x"}).status == 1);  // status has none of these options
    s.server.ask({"SET", "lock:x", "somebody"});
    BOOST_TEST(s.run({"run", "x", "true"}).status == 75);
    s.server.ask({"DEL", "lock:x"});
    s.set("REDLOCK_TTL=9s");
    BOOST_TEST(s.run({"run", "x", "-c", "echo $REDLOCK_TTL_MS"}).out == "9000\n");
    std::ofstream(s.folder.path + "/settings") << "ttl = 7\n";
    auto const e = s.run({"acquire", "x"});
    BOOST_TEST(e.status == 0, e.err);  // the environment has priority over the file
    std::ofstream(s.folder.path + "/settings") << "ttl = 7\nfencing = 1\n";
    BOOST_TEST(s.run({"acquire", "x"}).status == 78);
}

BOOST_AUTO_TEST_CASE(list_prefers_nodes_of_the_command_line)
{
    auto const nodes_of = [](std::vector<std::string> arguments, std::vector<std::string> environment) {
        arguments.insert(arguments.end(), {"list", "-o", "json", "--connect-timeout", "100ms"});
        auto const listed = started_tool(std::move(arguments), std::move(environment)).wait().json();
        std::string all;
        for (auto const& n : listed.at("nodes").as_array())
            all += std::string(n.at("name").as_string()) + ' ';
        return all;
    };
    temporary_folder folder;
    auto const path = folder.path + "/settings";
    std::ofstream(path) << "url = [\"redis://127.0.0.1:1\", \"redis://127.0.0.1:2\"]\n";
    std::string const file = "REDLOCK_CONFIG=" + path,
                      none = "REDLOCK_URLS=", some = "REDLOCK_URLS=redis://127.0.0.1:3";
    BOOST_TEST(nodes_of({}, {file, none}) == "redis://127.0.0.1:1 redis://127.0.0.1:2 ");
    BOOST_TEST(nodes_of({}, {file, some}) == "redis://127.0.0.1:3 ");
    BOOST_TEST(nodes_of({"-u", "redis://127.0.0.1:4"}, {file, some}) == "redis://127.0.0.1:4 ");
    BOOST_TEST(nodes_of({"-u", "redis://127.0.0.1:4"}, {file, none}) == "redis://127.0.0.1:4 ");
}

BOOST_FIXTURE_TEST_CASE(run_with_a_comment_after_a_value_of_the_file_is_refused, with_shell)
{
    auto const path = s.folder.path + "/settings";
    s.set("REDLOCK_CONFIG=" + path);
    for (auto const* line : {"prefix = jobs:   # ours", "owner = me  # c", "prefix = a b", "restart-guard = off # x",
                             "url = redis://a # first"}) {
        std::ofstream(path) << line << '\n';
        auto const e = s.run({"run", "x", "true"});
        must_say(e, 78, "has several values. Write a value with blanks in quotes, and a comment on a line of its own");
    }
    std::ofstream(path) << "# ours\nprefix = \"a b:\"  ; of all\n";
    BOOST_TEST(s.run({"run", "x", "-c", "echo $REDLOCK_KEYS"}).out == "a b:x\n");
    std::ofstream(path) << "max-hold = 5s\n";
    BOOST_TEST(s.run({"run", "x", "true"}).err.find("\"max-hold\" cannot be set in a file") != std::string::npos);
    std::ofstream(path) << "[run]\nttl = 5s\n";
    BOOST_TEST(s.run({"run", "x", "true"}).err.find("sections such as [run] are not known") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(run_with_an_empty_value_of_the_file_is_refused, with_shell)
{
    auto const path = s.folder.path + "/settings";
    s.set("REDLOCK_CONFIG=" + path);
    for (auto const* line : {"prefix = \"\"", "prefix =", "ttl = ''", "url = [\"redis://a\", \"\"]"}) {
        std::ofstream(path) << line << '\n';
        must_say(s.run({"run", "x", "true"}), 78, " has an empty value: write one, or leave the line out");
    }
    for (auto const* line : {"prefix = \"jobs:", "prefix = jobs:'", "url = \"\"redis://a\"\""}) {
        std::ofstream(path) << line << '\n';
        must_say(s.run({"run", "x", "true"}), 78, "with a quote too many or too few: write one at each end, or none");
    }
}

BOOST_AUTO_TEST_CASE(run_on_a_new_server_obeys_restart_guard)
{
    shell strict("");
    auto const refused = strict.run({"run", "-n", "x", "echo", "ran"});
    must_print(refused, 69, "");
    must_say(refused, 69, "it is new to this prefix", "if all servers are newly installed: redlock nodes init");
    BOOST_TEST(has(strict.run({"doctor", "-o", "json"}).out, "(--restart-guard strict)"));
    BOOST_TEST(strict.run({"--restart-guard", "off", "run", "-n", "x", "echo", "ran"}).out == "ran\n");
    BOOST_TEST(strict.run({"--restart-guard", "automatic", "run", "-n", "x", "echo", "ran"}).out == "ran\n");
    std::ofstream(strict.folder.path + "/settings") << "restart-guard = automatic\ndrift-factor = 0.02\n";
    auto const told = strict.run({"--config", strict.folder.path + "/settings", "run", "-n", "x", "echo", "ran"});
    BOOST_TEST(told.out == "ran\n", told.err);
    BOOST_TEST(strict.run({"--restart-guard", "lax", "run", "x", "true"}).status == 64);
    BOOST_TEST(strict.run({"--drift-factor", "0.6", "run", "x", "true"}).status == 64);
}

// A regression test: two commands ran at the same time after two of three servers had restarted.
BOOST_AUTO_TEST_CASE(run_after_two_of_three_servers_restart_is_not_granted)
{
    std::vector<local_server> servers(3);
    std::vector<std::string> environment{"REDLOCK_URLS="
                                             + one_of({servers[0].url(), servers[1].url(), servers[2].url()}),
                                         "REDLOCK_MAX_TTL=20s", "REDLOCK_NODE_TIMEOUT=500ms"};
    auto first = started_tool(
        {"run", "--restart-guard", "automatic", "-t", "20s", "--on-lost", "warn", "x", "-c", "echo in; sleep 1000"},
        environment);
    BOOST_TEST(first.says("in"));
    for (std::size_t i : {0u, 1u}) {
        servers[i].kill();
        servers[i].start();
    }
    auto const second = started_tool({"run", "-n", "x", "echo", "both"}, environment).wait();
    // 69: no majority votes. 75: the server that still has the lock has denied it.
    BOOST_TEST((second.status == 69 || second.status == 75), second.err);
    BOOST_TEST(second.out == "");
    first.process().signal(SIGTERM);
    first.wait();
}

BOOST_FIXTURE_TEST_CASE(help_names_short_options_and_one_exit_status, with_shell)
{
    auto const help = s.run({"run", "--help"}).out;
    BOOST_TEST(help.starts_with("usage: redlock run [OPTION]… KEY [--] CMD…\n"));
    for (auto const* option : {"-t, --ttl TIME", "-w, --wait TIME", "-n, --nonblock", "-u, --url URL", "-k, --key KEY"})
        BOOST_TEST(help.find(option) != std::string::npos, option);
    BOOST_TEST(help.find("milliseconds.") == std::string::npos);
    auto const page = s.run({"man", "run"}).out;
    auto const title = page.find(".SH EXIT STATUS");
    BOOST_TEST(title != std::string::npos);
    BOOST_TEST(page.find("EXIT STATUS", title + 15) == std::string::npos, page);
    BOOST_TEST(page.substr(0, title).find("Status:") == std::string::npos);
    for (auto const* status : {"75", "78", "124", "127"})
        BOOST_TEST(page.find(status, title) != std::string::npos, status);
    BOOST_TEST(page.substr(0, title).find("78 configuration") == std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
