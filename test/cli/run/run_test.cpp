// redlock run, as a program, with real servers and real commands.

#include "cli/run/servers.hpp"
#include "cli/terminal.hpp"
#include "bed/local_server.hpp"

#include <boost/json/parse.hpp>
#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <unistd.h>
#include <utility>

using namespace redlock::test;
using redlock::testbed::local_server;
using redlock::testbed::temporary_folder;

namespace {

std::string const only_standard_files = "3<&- 4<&- 5<&- 6<&- 7<&- 8<&- 9<&-";

}  // namespace

BOOST_AUTO_TEST_SUITE(redlock_run)

BOOST_FIXTURE_TEST_CASE(run_ends_with_the_status_of_the_command, with_servers<1>)
{
    BOOST_TEST(s.run({"x", "--", "true"}).status == 0);
    BOOST_TEST(s.run({"x", "-c", "exit 3"}).status == 3);
    BOOST_TEST(s.run({"x", "sh", "-c", "exit 4"}).status == 4);
    BOOST_TEST(s.run({"-c", "echo \"$REDLOCK_KEY\"", "-k", "x", "-k", "y"}).out == "x\ny\n");
    BOOST_TEST(s.run({"x", "-c", "kill -9 $$"}).status == 128 + 9);
    BOOST_TEST(s.run({"x", "-c", "kill -TERM $$"}).status == 128 + 15);
    BOOST_TEST(s.run({"x", "--", "no such command"}).status == 127);
    BOOST_TEST(s.run({"x", "--", "/"}).status == 126);
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(run_with_wrong_arguments_ends_with_64_or_78, with_servers<1>)
{
    auto const refused = [&](std::vector<std::string> arguments, std::string const& why) {
        auto const e = s.run(std::move(arguments));
        must_say(e, 64, why);
        BOOST_TEST(e.out == "");
    };
    refused({}, "KEY");
    refused({"x"}, "there is no command");
    refused(
        {
            "x",
            "--",
        },
        "there is no command");
    refused({"-c", "true", "x", "--", "true"}, "not both");
    refused({"--ttl", "soon", "x", "true"}, "--ttl is \"soon\"");
    refused({"--ttl", "2h", "x", "true"}, "--max-ttl");
    refused({"--no-such", "x", "true"}, "no option \"--no-such\"");
    refused({"--on-lost", "pray", "x", "true"}, "pray");
    refused({"--shared", "-k", "x", "-k", "y", "true"}, "shared");
    refused({"--status-fd", "77", "x", "true"}, "--status-fd is 77");
    refused({"x:=fence", "true"}, ":=fence");
    BOOST_TEST(started_tool({"run", "x", "true"}, {"REDLOCK_URLS="}).wait().status == 78);
    BOOST_TEST(started_tool({"-u", "redis://a:b:c", "run", "x", "true"}).wait().status == 78);
    BOOST_TEST(started_tool({"-u", "gopher://a", "run", "x", "true"}).wait().status == 78);
    BOOST_TEST(started_tool({"--config", "/nonexistent", "run", "x", "true"}).wait().status == 78);
    BOOST_TEST(started_tool({"--config", "/", "run", "x", "true"}, s.environment()).wait().status == 78);
}

BOOST_FIXTURE_TEST_CASE(run_on_a_held_lock_waits_or_ends_with_75, with_servers<1>)
{
    auto first = s.start({"x", "-c", "echo in; read forever < /dev/tty; sleep 1000"});
    BOOST_TEST(first.says("in"));
    BOOST_TEST(s.run({"-n", "x", "true"}).status == 75);
    BOOST_TEST(s.run({"-w", "50ms", "x", "true"}).status == 75);
    BOOST_TEST(s.run({"-n", "-E", "9", "x", "true"}).status == 9);
    auto const skipped = s.run({"-n", "--skip-busy", "x", "-c", "echo ran"});
    must_print(skipped, 0, "");
    BOOST_TEST(skipped.err == "");
    must_say(s.run({"-n", "y", "-c", "\"$TOOL\" run y true"}), 64, "wait for itself");

    auto second = s.start({"x", "echo", "mine"});
    BOOST_TEST(first.end_by(SIGTERM).status == 128 + 15);
    must_print(second.wait(), 0, "mine\n");
}

BOOST_FIXTURE_TEST_CASE(run_shared_inside_a_shared_run_passes_a_waiting_writer, with_servers<3>)
{
    temporary_folder folder;
    auto outer = s.start({"-s", "x", "sh", "-c",
                          "echo in; while ! [ -e " + folder.path
                              + "/go ]; do sleep 0.02; done;"
                                "\"$TOOL\" run -s x sh -c 'echo nested \"$REDLOCK_SHARED_KEYS\"' && exit 3"});
    BOOST_TEST(outer.says("in"));
    auto writer = s.start({"x", "echo", "alone"});
    BOOST_TEST(comes_true([&] { return s.all[0].ask({"KEYS", "*"}).find("wanted") != std::string::npos; }));
    std::ofstream(folder.path + "/go") << "go\n";
    auto const e = outer.wait();
    must_print(e, 3, "in\nnested lock:x\nlock:x\n");
    BOOST_TEST(writer.wait().out == "alone\n");
}

BOOST_FIXTURE_TEST_CASE(run_inside_a_run_of_the_same_lock_is_refused_unless_both_share, with_servers<1>)
{
    auto const nested = [&](std::vector<std::string> outer, std::string const& inner) {
        outer.insert(outer.end(), {"x", "sh", "-c", "\"$TOOL\" run " + inner});
        return s.run(std::move(outer));
    };
    auto const alone = nested({}, "-s x true"), shared = nested({"-s"}, "x true");
    must_say(alone, 64, "x is held alone");
    must_say(shared, 64, "with --shared it is allowed");
    BOOST_TEST(nested({"-s"}, "y \"$TOOL\" run -s x true").status == 0);
    BOOST_TEST(nested({"-s"}, "y \"$TOOL\" run -s y true").status == 64);
}

BOOST_FIXTURE_TEST_CASE(run_by_a_daemon_acquires_the_lock_after_the_outer_run_ended, with_servers<1>)
{
    temporary_folder folder;
    auto const end = folder.path + "/end";
    auto const daemon = "while ! [ -e " + folder.path
                        + "/go ]; do sleep 0.02; done; "
                          "{ \"$TOOL\" run x echo ran 2>&1; echo \"status $?\"; } >"
                        + end;
    auto const outer = s.run({"x", "-c", "setsid sh -c '" + daemon + "' >/dev/null 2>&1 &"});
    BOOST_TEST(outer.status == 0, outer.err);
    std::ofstream(folder.path + "/go") << "go\n";
    BOOST_TEST(comes_true([&] { return text_of(end).find("status") != std::string::npos; }));
    BOOST_TEST(text_of(end) == "ran\nstatus 0\n");
}

BOOST_FIXTURE_TEST_CASE(run_inside_a_run_of_the_same_key_on_other_servers_succeeds, with_servers<1>)
{
    local_server const other;
    auto const inner = [&](std::string const& url) {
        return s.run({"x", "sh", "-c", "\"$TOOL\" -u " + url + " run x echo ran"});
    };
    must_print(inner(other.url()), 0, "ran\n");
    BOOST_TEST(inner(s.all[0].url() + "/1").status == 0);
    BOOST_TEST(inner("redis://:unused@" + s.all[0].url().substr(8)).status == 64);  // the same server
}

BOOST_FIXTURE_TEST_CASE(run_while_waiting_ends_by_a_signal, with_servers<1>)
{
    s.all[0].ask({"SET", "lock:x", "somebody"});
    for (int const signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) {
        auto waits = started_tool({"run", "--verbose", "x", "true"}, s.environment());
        BOOST_TEST(waits.complains("connected"));
        BOOST_TEST(waits.end_by(signal).status == 128 + signal);
    }
    sigset_t end, before;  // the parent process has blocked the signal
    sigemptyset(&end);
    sigaddset(&end, SIGTERM);
    ::pthread_sigmask(SIG_BLOCK, &end, &before);
    auto waits = started_tool({"run", "--verbose", "x", "true"}, s.environment());
    ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
    BOOST_TEST(waits.complains("connected"));
    BOOST_TEST(waits.end_by(SIGTERM).status == 128 + SIGTERM);
    BOOST_TEST(s.key("x") == "somebody");
}

BOOST_FIXTURE_TEST_CASE(run_while_waiting_ignores_other_signals, with_servers<1>)
{
    s.all[0].ask({"SET", "lock:x", "somebody"});
    auto waits = started_tool({"run", "--verbose", "x", "echo", "mine"}, s.environment());
    BOOST_TEST(waits.complains("connected"));
    for (int const signal : {SIGWINCH, SIGUSR1, SIGCONT})
        waits.process().signal(signal);
    s.all[0].ask({"DEL", "lock:x"});
    must_print(waits.wait(), 0, "mine\n");
}

BOOST_FIXTURE_TEST_CASE(run_with_too_few_nodes_ends_with_69_and_without_permission_with_77, with_servers<3>)
{
    s.all[0].kill();
    BOOST_TEST(s.run({"x", "true"}).status == 0);
    s.all[1].kill();
    must_say(s.run({"-n", "x", "true"}), 69, "Connection refused");
    local_server locked({"--requirepass", "geheim"});
    BOOST_TEST(started_tool({"-u", locked.url(), "run", "-n", "x", "true"}).wait().status == 77);
    temporary_folder folder;
    std::ofstream(folder.path + "/password") << "geheim\n";
    BOOST_TEST(
        started_tool({"run", "-n", "x", "true"}, {"REDLOCK_RESTART_GUARD=automatic", "REDLOCK_URLS=" + locked.url(),
                                                  "REDLOCK_PASSWORD_FILE=" + folder.path + "/password"})
            .wait()
            .status
        == 0);
    std::ofstream(folder.path + "/settings") << "url = " << locked.url() << "\npassword-file = " << folder.path
                                             << "/password\nprefix = jobs:\nrestart-guard = automatic\n";
    auto const configured =
        started_tool({"run", "-n", "x", "-c", "echo $REDLOCK_KEYS"}, {"REDLOCK_CONFIG=" + folder.path + "/settings"})
            .wait();
    must_print(configured, 0, "jobs:x\n");
}

BOOST_FIXTURE_TEST_CASE(run_if_unavailable_run_works_on_without_the_lock_if_servers_are_away, with_servers<3>)
{
    auto const shown = "echo \"held $REDLOCK_HELD ${REDLOCK_TOKEN-no token}\"; exit 3";
    auto const with_lock = s.run({"--if-unavailable", "run", "-w", "9s", "x", "sh", "-c", "echo $REDLOCK_HELD"});
    must_print(with_lock, 0, "1\n");
    s.all[0].kill();
    s.all[1].kill();

    auto const fails = s.run({"--if-unavailable", "fail", "-n", "x", "-c", shown});
    auto const runs = s.run({"--if-unavailable", "run", "-n", "--status-fd", "2", "x", "-c", shown});

    must_say(fails, 69, "Connection refused");
    BOOST_TEST(fails.out == "");
    must_print(runs, 3, "held 0 no token\n");
    must_say(runs, 3, "Connection refused", "the command runs without the lock", R"("reason":"unavailable")");
    BOOST_TEST(s.run({"--if-unavailable", "run", "-n", "x", "--", "no such command"}).status == 127);
}

BOOST_FIXTURE_TEST_CASE(run_if_unavailable_run_fails_if_somebody_may_hold_the_lock, with_servers<3>)
{
    auto const ends = [&](int status, std::string const& why) {
        auto const e = s.run({"--if-unavailable", "run", "-n", "x", "-c", "echo ran"});
        must_say(e, status, why);
        BOOST_TEST(e.out == "");
    };
    for (auto const& server : s.all)
        server.ask({"SET", "lock:x", "somebody", "PX", "60000"});
    ends(75, "");
    s.all[0].kill();
    s.all[1].kill();
    ends(69, "Connection refused");  // the server that is left names a holder
    s.all[2].kill();
    must_say(s.run({"--if-unavailable", "run", "x", "true"}), 64, "needs -n or -w");
    must_say(s.run({"--if-unavailable", "perhaps", "-n", "x", "true"}), 64, "--if-unavailable");
}

BOOST_FIXTURE_TEST_CASE(run_sets_variables_about_the_lock_for_the_command, with_servers<3>)
{
    auto const e = s.run({"--fencing", "--owner", "web-3", "-t", "7s", "-k", "b", "-k", "a", "--", "sh", "-c",
                          "echo $REDLOCK_HELD; echo \"$REDLOCK_KEY\"; echo $REDLOCK_OWNER; echo $REDLOCK_TTL_MS; test "
                          "$REDLOCK_FENCE -gt 0;"
                          "echo $?; echo $REDLOCK_TOKEN; test $REDLOCK_DEADLINE -gt $(date +%s000); echo $?"});
    BOOST_TEST(e.status == 0, e.err);
    BOOST_TEST(e.out.starts_with("1\na\nb\nweb-3\n7000\n0\n"), e.out);
    BOOST_TEST(has(e.out, ":web-3\x1fsince="), e.out);
    BOOST_TEST(e.out.ends_with("\n0\n"), e.out);
}

BOOST_FIXTURE_TEST_CASE(run_passes_only_inherited_files_and_signals_to_the_command, with_servers<1>)
{
    // The command has none of the library's connections.
    BOOST_TEST(s.run({"x", "-c", "ls -l /proc/$$/fd | grep -c socket"}).out == "0\n");
    auto const mask = s.run({"x", "-c", "grep -E 'SigBlk|SigIgn' /proc/self/status"});
    auto const plain =
        redlock::testbed::process({"/bin/sh", "-c", "grep -E 'SigBlk|SigIgn' /proc/self/status"}, {.piped = true})
            .read();
    BOOST_TEST(mask.out == plain);
    auto hup = redlock::testbed::process(
        {"/bin/sh", "-c", "trap '' HUP; exec \"$0\" run x grep SigIgn /proc/self/status", REDLOCK_TOOL},
        {.environment = s.environment(), .piped = true});
    BOOST_TEST((std::stoul(hup.read().substr(8), nullptr, 16) & 1) == 1);  // nohup(1) also applies to the command
}

BOOST_FIXTURE_TEST_CASE(run_forwards_signals_to_the_process_group, with_servers<1>)
{
    for (int const signal : {SIGHUP, SIGINT, SIGTERM, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH}) {
        auto runs = s.start(
            {"x", "-c",
             "trap 'echo got; exit 7' " + std::to_string(signal) + "; echo ready; while :; do sleep 0.05; done"});
        BOOST_TEST(runs.says("ready"));
        must_print(runs.end_by(signal), 7, "ready\ngot\n");
    }
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(run_keeps_the_lock_until_the_last_process_has_ended, with_servers<1>)
{
    auto runs = s.start({"x", "-c", "(echo child; while ! [ -e $HOME/go ]; do sleep 0.05; done) & exit 5"});
    BOOST_TEST(runs.says("child"));
    BOOST_TEST(s.run({"-n", "x", "true"}).status == 75);
    BOOST_TEST(runs.end_by(SIGTERM).status == 5);
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(run_killed_by_a_signal_kills_the_command, with_servers<1>)
{
    for (int const signal : {SIGKILL, SIGABRT}) {
        auto runs = s.start({"-t", "2s", signal == SIGKILL ? "x" : "y", "-c", "echo $$; exec sleep 1000"});
        BOOST_TEST(runs.says("\n"));
        auto const pid = std::stoi(runs.out());
        BOOST_TEST(runs.end_by(signal).status == 128 + signal);
        BOOST_TEST(comes_true([&] {
            return ::kill(pid, 0) != 0
                   || text_of("/proc/" + std::to_string(pid) + "/stat").find(") Z ") != std::string::npos;
        }));
    }
    BOOST_TEST(s.run({"-k", "x", "-k", "y", "true"}).status == 0);  // after the ttl
}

// The shell dash does not accept file descriptors with two digits.
BOOST_FIXTURE_TEST_CASE(run_gives_the_lost_fd_the_lowest_free_number, with_servers<5>)
{
    auto const shows = std::vector<std::string>{
        "x", "-c", "echo $REDLOCK_LOST_FD; test -p /proc/self/fd/$REDLOCK_LOST_FD && readlink /proc/self/fd/3"};
    BOOST_TEST(s.run(shows, only_standard_files + " 3</dev/null").out == "4\n/dev/null\n");
    BOOST_TEST(s.run(shows, only_standard_files).out.starts_with("3\npipe:"));
}

// supervisor_test.cpp tests the times of the signals.
BOOST_FIXTURE_TEST_CASE(run_after_the_loss_of_the_lock_stops_the_command, with_servers<1>)
{
    auto polite =
        s.start({"-t", "1s", "x", "-c", "trap 'echo asked; exit 0' TERM; echo ready; while :; do sleep 0.02; done"});
    BOOST_TEST(polite.says("ready"));
    s.all[0].ask({"SET", "lock:x", "somebody else"});
    auto const asked = polite.wait();
    must_print(asked, 124, "ready\nasked\n");
    BOOST_TEST(has(asked.err, "x is lost; the command is asked to stop"), asked.err);
    BOOST_TEST(s.key("x") == "somebody else");
    s.all[0].ask({"DEL", "lock:x"});

    auto not_asked =
        s.start({"-t", "1s", "--on-lost", "kill", "x", "-c", "trap 'echo asked' TERM; echo ready; sleep 1000"});
    BOOST_TEST(not_asked.says("ready"));
    s.all[0].ask({"DEL", "lock:x"});
    auto const killed = not_asked.wait();
    BOOST_TEST(killed.status == 124);
    BOOST_TEST(killed.err == "redlock run: x is lost; the command is killed\n");

    auto warned =
        s.start({"-t", "1s", "--on-lost", "warn", "x", "-c", "echo ready; cat <&$REDLOCK_LOST_FD; echo heard; exit 3"},
                only_standard_files);
    BOOST_TEST(warned.says("ready"));
    s.all[0].ask({"DEL", "lock:x"});
    auto const went_on = warned.wait();
    must_print(went_on, 3, "ready\nheard\n");
    BOOST_TEST(has(went_on.err, "the command goes on"), went_on.err);
}

BOOST_FIXTURE_TEST_CASE(run_with_paused_nodes_never_runs_beside_another_holder, with_servers<3>)
{
    temporary_folder folder;
    // The holder also locks a file until it ends. The kernel guarantees that lock.
    auto const guarded = "flock -n " + folder.path
                         + "/alone sh -c 'trap \"\" TERM; echo in; while :; do sleep 0.01; done' || touch "
                         + folder.path + "/both";
    for (auto const* then : {"term", "kill"}) {
        auto first = s.start(
            {"--connect-timeout", "500ms", "-t", "1s", "--grace", "200ms", "--on-lost", then, "x", "-c", guarded});
        BOOST_TEST(first.says("in"));
        s.all[0].pause();
        s.all[1].pause();
        auto second = s.start({"--connect-timeout", "500ms", "-t", "1s", "x", "-c",
                               "flock -n " + folder.path + "/alone echo alone || touch " + folder.path + "/both"});
        auto const lost = first.wait();
        BOOST_TEST(lost.status == 124);
        s.all[0].resume();
        s.all[1].resume();
        must_print(second.wait(), 0, "alone\n");
    }
    BOOST_TEST(::access((folder.path + "/both").c_str(), F_OK) != 0);
}

BOOST_FIXTURE_TEST_CASE(run_in_two_loops_runs_one_command_at_a_time, with_servers<1>)
{
    temporary_folder folder;
    auto const* const long_runs = std::getenv("REDLOCK_LONG");
    std::string const times = long_runs && long_runs == std::string("1") ? "100" : "20";
    auto const loop = "i=0; while [ $i -lt " + times + " ]; do \"$TOOL\" run x -c 'mkdir " + folder.path
                      + "/in || touch " + folder.path + "/both; rmdir " + folder.path
                      + "/in' || exit 1; i=$((i + 1)); done";
    redlock::testbed::process one({"/bin/sh", "-c", loop}, {.environment = s.environment()}),
        other({"/bin/sh", "-c", loop}, {.environment = s.environment()});
    BOOST_TEST(one.wait().code() == 0);
    BOOST_TEST(other.wait().code() == 0);
    BOOST_TEST(::access((folder.path + "/both").c_str(), F_OK) != 0);
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(run_without_renewal_or_after_max_hold_stops_the_command, with_servers<1>)
{
    BOOST_TEST(s.run({"--no-renew", "-t", "300ms", "--node-timeout", "100ms", "x", "sleep", "1000"}).status == 124);
    BOOST_TEST(s.run({"--max-hold", "300ms", "x", "sleep", "1000"}).status == 124);
    BOOST_TEST(s.run({"--no-renew", "-t", "50s", "x", "true"}).status == 0);
}

BOOST_FIXTURE_TEST_CASE(run_with_a_max_hold_below_half_of_the_ttl_lets_the_command_work, with_servers<1>)
{
    auto const e = s.run({"-t", "60s", "--grace", "30s", "--max-hold", "20s", "x", "sh", "-c", "sleep 0.2; exit 3"});
    BOOST_TEST(e.status == 3, e.err);
    BOOST_TEST(e.err == "");
}

BOOST_FIXTURE_TEST_CASE(run_with_a_grace_of_zero_kills_without_sigterm, with_servers<1>)
{
    auto const e =
        s.run({"--no-renew", "-t", "300ms", "--node-timeout", "100ms", "--grace", "0s", "x", "sleep", "1000"});
    BOOST_TEST(e.status == 124);
    BOOST_TEST(!has(e.err, "asked to stop"), e.err);
    BOOST_TEST(e.err.ends_with("the command is killed\n"), e.err);
}

BOOST_FIXTURE_TEST_CASE(run_with_at_least_keeps_the_lock_after_the_command, with_servers<1>)
{
    auto runs = s.start({"--at-least", "600s", "x", "echo", "done"});
    BOOST_TEST(runs.says("done"));
    BOOST_TEST(s.run({"-n", "x", "true"}).status == 75);
    BOOST_TEST(runs.end_by(SIGTERM).status == 0);
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(run_with_at_least_that_loses_the_lock_keeps_the_status, with_servers<3>)
{
    auto const warns = [](tool_run const& e) { must_say(e, 3, "x could not be kept for --at-least"); };
    auto const short_lived =
        s.run({"--no-renew", "-t", "1s", "--at-least", "600s", "--status-fd", "1", "x", "-c", "exit 3"});
    warns(short_lived);
    BOOST_TEST(boost::json::parse(short_lived.out).at("reason").as_string() == "exited");
    warns(s.run({"--max-hold", "1s", "--at-least", "600s", "x", "-c", "exit 3"}));

    auto runs = s.start({"-t", "3s", "--at-least", "600s", "x", "-c", "echo done; exit 3"});
    BOOST_TEST(runs.says("done"));
    s.all[0].pause();
    s.all[1].pause();
    warns(runs.wait());
    s.all[0].resume();
    s.all[1].resume();
}

BOOST_FIXTURE_TEST_CASE(run_with_a_key_deleted_during_the_command_reports_the_loss, with_servers<1>)
{
    auto const deletes = "redis-cli -p " + std::to_string(s.all[0].port()) + " DEL lock:x >/dev/null";
    must_say(s.run({"--at-least", "600s", "x", "-c", deletes}), 124, "another client may have held it meanwhile");
}

BOOST_FIXTURE_TEST_CASE(run_with_status_fd_writes_the_result_in_one_line, with_servers<1>)
{
    auto const end_of = [&](std::vector<std::string> arguments) {
        arguments.insert(arguments.begin(), {"--status-fd", "5"});
        return boost::json::parse(s.run(std::move(arguments), "5>&1 >/dev/null").out);
    };
    // The command does not inherit the descriptor of --status-fd.
    auto const exited = end_of({"-k", "x", "--key=y", "--", "sh", "-c", "ls /proc/$$/fd/5 || exit 3"});
    BOOST_TEST(exited.at("schema").as_int64() == 1);
    BOOST_TEST(exited.at("reason").as_string() == "exited");
    BOOST_TEST(exited.at("status").as_int64() == 3);
    BOOST_TEST(exited.at("keys").as_array().size() == 2u);
    BOOST_TEST(end_of({"x", "-c", "exit 255"}).at("reason").as_string() == "exited");
    BOOST_TEST(end_of({"\xff", "true"}).at("reason").as_string() == "exited");
    BOOST_TEST(end_of({"x", "-c", "kill -9 $$"}).at("reason").as_string() == "signal");
    BOOST_TEST(end_of({"x", "--", "no such command"}).at("reason").as_string() == "cannot_run");
    BOOST_TEST(
        end_of({"--no-renew", "-t", "300ms", "--node-timeout", "100ms", "x", "sleep", "1000"}).at("reason").as_string()
        == "lost");
    s.all[0].ask({"SET", "lock:x", "somebody"});
    BOOST_TEST(end_of({"-n", "x", "true"}).at("reason").as_string() == "busy");
    auto const both = s.run({"--status-fd", "1", "y", "echo", "said"});  // the command inherits standard files
    BOOST_TEST(both.out.starts_with("said\n{"), both.out);
    BOOST_TEST(s.run({"--status-fd", "5", "y", "true"}, "5</dev/null").status == 64);
}

BOOST_FIXTURE_TEST_CASE(run_with_status_fd_that_is_refused_writes_wrong_usage, with_servers<1>)
{
    auto const must_report = [](tool_run const& e, std::string const& why) {
        BOOST_TEST_REQUIRE(!e.out.empty(), e.err);
        auto const told = boost::json::parse(e.out);
        BOOST_TEST(told.at("reason").as_string() == "wrong_usage");
        BOOST_TEST(told.at("status").as_int64() == 64);
        BOOST_TEST(told.at("keys").as_array().at(0).as_string() == "x");
        BOOST_TEST(told.at("message").as_string().find(why) != std::string::npos, e.out);
        BOOST_TEST(has(e.err, why), e.err);
    };
    must_report(s.run({"--status-fd", "1", "x"}), "there is no command");
    must_report(s.run({"-q", "--status-fd", "1", "-t", "2m", "x", "true"}), "--max-ttl");
    must_report(s.run({"x", "sh", "-c", "\"$TOOL\" run --status-fd 1 x true"}), "wait for itself");
}

BOOST_FIXTURE_TEST_CASE(run_with_closed_or_full_files_succeeds, with_servers<1>)
{
    BOOST_TEST(s.run({"x", "true"}, "2>&-").status == 0);
    BOOST_TEST(s.run({"--verbose", "x", "true"}, "2>/dev/full").status == 0);
    BOOST_TEST(s.run({"--status-fd", "5", "x", "true"}, "5>/dev/full").status == 0);
    BOOST_TEST(s.run({"x", "echo", "a"}, ">/dev/full").status == 1);  // the status of the command
    BOOST_TEST(s.run({"x", "true"}, "<&- >&- 2>&-").status == 0);
    for (auto const* said_to_nobody : {">/dev/full 2>/dev/full", ">&- 2>&-"})
        BOOST_TEST(started_tool({"acquire", "x"}, s.environment(), said_to_nobody).wait().status == 125);
    BOOST_TEST(s.is_free("x"));
    // A closed standard file is replaced by /dev/null, so that no connection gets its number and messages. For the
    // command it is closed, too.
    auto runs = s.start({"x", "-c", "test -e /proc/self/fd/0 || echo missing; sleep 1000"}, "<&-");
    BOOST_TEST(runs.says("missing"));
    BOOST_TEST(std::filesystem::read_symlink("/proc/" + std::to_string(runs.process().pid()) + "/fd/0") == "/dev/null");
    runs.process().signal(SIGTERM);
    runs.wait();
}

namespace {

/// A full pipe that nobody reads.
struct full_pipe {
    full_pipe()
    {
        BOOST_REQUIRE(::pipe(ends) == 0);
        ::fcntl(ends[1], F_SETFL, O_NONBLOCK);
        while (::write(ends[1], "full", 4) > 0) {
        }
        ::fcntl(ends[1], F_SETFL, 0);
    }
    ~full_pipe()
    {
        ::close(ends[0]);
        ::close(ends[1]);
    }
    full_pipe(full_pipe const&) = delete;
    full_pipe& operator=(full_pipe const&) = delete;

    std::string number() const { return std::to_string(ends[1]); }

    int ends[2];
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(run_with_a_full_error_pipe_stops_the_command, with_servers<1>)
{
    full_pipe const p;
    auto const e =
        s.run({"--verbose", "--max-hold", "300ms", "x", "-c", "trap '' TERM; sleep 1000"}, "2>&" + p.number());
    BOOST_TEST(e.status == 124);
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(run_with_a_full_status_fd_ends, with_servers<1>)
{
    full_pipe const p;
    must_say(s.run({"--status-fd", p.number(), "x", "-c", "exit 3"}), 3, "does not take the result within 1.0 s");
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(run_on_a_terminal_leaves_ctrl_c_to_the_command, with_servers<1>)
{
    terminal t({REDLOCK_TOOL, "run", "x", "--", "sh", "-c",
                "trap 'echo interrupted; exit 7' INT; echo ready; while :; do sleep 0.05; done"},
               s.environment());
    BOOST_TEST(t.shows("ready"));
    t.type("\x03");
    BOOST_TEST(t.shows("interrupted"));
    BOOST_TEST(t.wait() == 7);
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(run_on_a_terminal_stops_by_ctrl_z_and_continues_by_fg, with_servers<1>)
{
    terminal t({"/bin/bash", "--norc", "--noprofile", "-i"}, s.environment());
    t.type("PS1='$ '; \"$TOOL\" run -t 50s x -- sh -c 'echo re\"\"ady; read line; echo got $line; exit 6'; echo status "
           "$?\n");
    BOOST_TEST(t.shows("ready"));
    t.type("\x1a");
    BOOST_TEST(t.shows("Stopped"));
    BOOST_TEST(s.run({"-n", "x", "true"}).status == 75);  // the stopped run still holds the lock
    t.type("fg\n");
    t.type("hello\n");
    BOOST_TEST(t.shows("got hello"));
    t.type("echo ba\"\"ck\nexit\n");
    BOOST_TEST(t.shows("back"));
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(run_stopped_in_the_background_reads_in_the_foreground, with_servers<1>)
{
    terminal t({"/bin/bash", "--norc", "--noprofile", "-i"}, s.environment());
    t.type("PS1='$ '; \"$TOOL\" run -t 50s x cat &\n");
    BOOST_TEST(comes_true([&] { return !s.is_free("x"); }));
    t.type("until jobs | grep -q Stopped; do sleep 0.05; done; jobs; fg\n");
    BOOST_TEST(t.shows("Stopped   "));
    BOOST_TEST(t.shows("x cat\r\n"));
    BOOST_TEST(t.shows("x cat\r\n"));  // after fg, it has the terminal, or gets it soon
    t.type("hello\n");
    BOOST_TEST(t.shows("hello\r\nhello"));
    t.type("\x04");
    t.type("echo ba\"\"ck\n");
    BOOST_TEST(t.shows("back"));
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(run_that_loses_its_lock_while_stopped_kills_the_command, with_servers<1>)
{
    terminal t({"/bin/bash", "--norc", "--noprofile", "-i"}, s.environment());
    t.type("PS1='$ '; \"$TOOL\" run -t 1s x -- sh -c 'echo re\"\"ady; read line; echo we\"\"nt on'\n");
    BOOST_TEST(t.shows("ready"));
    t.type("\x1a");
    BOOST_TEST(t.shows("Stopped"));
    BOOST_TEST(comes_true([&] { return s.is_free("x"); }));  // a stopped run does not renew its lock
    t.type("fg\n");
    BOOST_TEST(t.shows("was lost while the command was stopped"));
    t.type("echo status $?\n");
    BOOST_TEST(t.shows("status 124"));
    BOOST_TEST(t.shown.find("went on") == std::string::npos, t.shown);
}

// A debugger or an operator may stop and continue the command without a signal to redlock, so redlock must not stop.
BOOST_FIXTURE_TEST_CASE(run_renews_the_lock_of_a_command_stopped_by_sigstop, with_servers<1>)
{
    auto runs = s.start({"-t", "2s", "x", "-c", "echo $$; while :; do sleep 0.05; done"});
    BOOST_TEST(runs.says("\n"));
    auto const pid = std::stoi(runs.out());
    ::kill(pid, SIGSTOP);
    BOOST_TEST(comes_true(
        [&] { return text_of("/proc/" + std::to_string(pid) + "/stat").find(") T ") != std::string::npos; }));
    auto const left = [&] { return std::stol(s.all[0].ask({"PTTL", "lock:x"})); };
    for (int renewals = 0; renewals < 3; ++renewals) {
        auto lowest = left();
        BOOST_TEST_REQUIRE(comes_true([&] {
            auto const now = left();
            return now > std::exchange(lowest, std::min(lowest, now)) && now > 0;
        }));
    }
    ::kill(pid, SIGCONT);
    BOOST_TEST(runs.end_by(SIGTERM).status == 128 + SIGTERM);
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(run_on_a_terminal_without_a_shell_ignores_ctrl_z, with_servers<1>)
{
    terminal t({REDLOCK_TOOL, "run", "-t", "50s", "x", "--", "sh", "-c", "echo ready; read line; echo got $line"},
               s.environment());
    BOOST_TEST(t.shows("ready"));
    t.type("\x1a");
    BOOST_TEST(t.shows("^Z"));
    t.type("hello\n");
    BOOST_TEST(t.shows("got hello"));
    BOOST_TEST(t.wait() == 0);
}

BOOST_FIXTURE_TEST_CASE(run_while_waiting_is_stopped_by_ctrl_z, with_servers<1>)
{
    s.all[0].ask({"SET", "lock:x", "somebody"});
    terminal t({"/bin/bash", "--norc", "--noprofile", "-i"}, s.environment());
    t.type("PS1='$ '; \"$TOOL\" run x true\n");
    BOOST_TEST(t.shows("waiting for lock:x for"));
    BOOST_TEST(t.shows("without end"));
    t.type("\x1a");
    BOOST_TEST(t.shows("Stopped"));
    t.type("kill %1; fg; echo status $?\n");
    BOOST_TEST(t.shows("status 143"));
}

BOOST_FIXTURE_TEST_CASE(run_on_a_terminal_after_ctrl_c_ends_its_script, with_servers<1>)
{
    auto const script = [&](std::string const& rest) {
        return terminal({"/bin/bash", "-c", "\"$TOOL\" run x " + rest + "; echo went \"\"on"}, s.environment());
    };
    auto runs = script("-- sh -c 'echo ready; exec sleep 1000'");
    BOOST_TEST(runs.shows("ready"));
    BOOST_TEST(runs.end_by("\x03") == 128 + SIGINT);
    BOOST_TEST(runs.shown.find("went on") == std::string::npos, runs.shown);
    BOOST_TEST(s.is_free("x"));

    s.all[0].ask({"SET", "lock:x", "somebody"});
    auto waits = script("true");
    BOOST_TEST(waits.shows("waiting for"));
    BOOST_TEST(waits.end_by("\x03") == 128 + SIGINT);
    BOOST_TEST(waits.shown.find("went on") == std::string::npos, waits.shown);
}

BOOST_FIXTURE_TEST_CASE(run_while_waiting_on_a_terminal_names_the_holder, with_servers<1>)
{
    s.all[0].ask({"SET", "lock:x", "5f0c9d4b2a7e61830d1f4e5a6b7c8d9e:web-3:4121", "PX", "600000"});
    terminal t({REDLOCK_TOOL, "run", "x", "true"}, s.environment());
    BOOST_TEST(t.shows("waiting for lock:x for"));
    BOOST_TEST(t.shows("held by web-3:4121, ttl"));
    BOOST_TEST(t.end_by("\x03") == 128 + SIGINT);
}

BOOST_FIXTURE_TEST_CASE(run_with_foreground_signals_only_the_command, with_servers<1>)
{
    auto const e = s.run({"--foreground", "x", "-c", "ps -o pgid= -p $$; ps -o pgid= -p $PPID"});
    auto const line = e.out.find('\n');
    BOOST_REQUIRE(line != std::string::npos);
    BOOST_TEST(e.out.substr(0, line + 1) == e.out.substr(line + 1));

    // The command gets a signal of the terminal once, and not again from redlock.
    terminal t({REDLOCK_TOOL, "run", "--foreground", "x", "--", "sh", "-c",
                "trap 'echo got it' INT; trap 'exit 7' USR1; echo ready; while :; do sleep 0.05; done"},
               s.environment());
    BOOST_TEST(t.shows("ready"));
    t.type("\x03");
    BOOST_TEST(t.shows("got it"));
    t.signal(SIGUSR1);
    BOOST_TEST(t.wait() == 7);
    BOOST_TEST(t.shown.find("got it") == t.shown.rfind("got it"), t.shown);
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(redlock_hold)

BOOST_FIXTURE_TEST_CASE(hold_in_the_background_is_not_stopped_by_typing, with_servers<1>)
{
    terminal t({"/bin/bash", "--norc", "--noprofile", "-i"}, s.environment());
    t.type("PS1='$ '; \"$TOOL\" hold x & cat\n");
    BOOST_TEST(t.shows("\nx\r\n"));  // it holds the lock, and prints nothing else
    for (int i = 0; i < 5; ++i) {
        t.type("line " + std::to_string(i) + "\n");
        BOOST_TEST(t.shows("line " + std::to_string(i) + "\r\nline"));
    }
    t.type("\x04");
    t.type("jobs; kill %1; wait %1; echo status $?\n");
    BOOST_TEST(t.shows("status 0"));
    BOOST_TEST(t.shown.find("Stopped") == std::string::npos, t.shown);
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(hold_ends_by_input_signal_or_loss, with_servers<1>)
{
    redlock::testbed::process piped({"/bin/sh", "-c", "{ while [ -e $0 ]; do sleep 0.02; done; } | \"$TOOL\" hold b a",
                                     s.all[0].folder() + "/until"},
                                    {.environment = s.environment(), .piped = true});
    BOOST_TEST(piped.read('\n') == "a b");
    BOOST_TEST(piped.wait().code() == 0);

    started_tool holds({"hold", "x"}, s.environment());  // the input is not a pipe, so it never ends
    BOOST_TEST(holds.says("x\n"));
    BOOST_TEST(!s.is_free("x"));
    BOOST_TEST(holds.end_by(SIGTERM).status == 0);
    BOOST_TEST(s.is_free("x"));

    started_tool loses({"hold", "-t", "300ms", "--node-timeout", "100ms", "x"}, s.environment());
    BOOST_TEST(loses.says("x\n"));
    s.all[0].ask({"DEL", "lock:x"});
    auto const e = loses.wait();
    BOOST_TEST(e.status == 124);
    BOOST_TEST(e.err == "redlock hold: x is lost\n");
    s.all[0].ask({"SET", "lock:x", "somebody"});
    BOOST_TEST(started_tool({"hold", "-n", "x"}, s.environment()).wait().status == 75);

    redlock::testbed::process stays({"/bin/sh", "-c", "trap '' HUP; exec \"$TOOL\" hold y"},
                                    {.environment = s.environment(), .piped = true});
    BOOST_TEST(stays.read('\n') == "y");
    stays.signal(SIGHUP);  // ignored, like under nohup(1)
    auto const signals = text_of("/proc/" + std::to_string(stays.pid()) + "/status");
    BOOST_TEST((std::stoul(signals.substr(signals.find("SigIgn:") + 7), nullptr, 16) & 1) == 1);
    stays.signal(SIGTERM);
    BOOST_TEST(stays.wait().code() == 0);
}

BOOST_AUTO_TEST_SUITE_END()
