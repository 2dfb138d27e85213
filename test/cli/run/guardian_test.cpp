// The processes of "redlock run": the guardian, and "redlock run" as the first process of a container.

#include "cli/run/servers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <ios>
#include <iterator>
#include <sstream>
#include <string>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace redlock::test;
using redlock::testbed::temporary_folder;

BOOST_AUTO_TEST_SUITE(redlock_run_processes)

namespace {

std::vector<std::string> in_a_container(std::vector<std::string> words)
{
    words.insert(words.begin(), {"unshare", "--pid", "--fork", "--mount-proc", "--kill-child=KILL"});
    return words;
}

auto only_with_namespaces()
{
    return boost::unit_test::precondition([](boost::unit_test::test_unit_id) {
        temporary_folder folder;
        redlock::testbed::process attempt(in_a_container({"true"}), {.output = folder.path + "/out"});
        boost::test_tools::assertion_result can(attempt.wait().code() == 0);
        can.message() << "skipped: unshare(1) cannot make a process namespace here: " << text_of(folder.path + "/out");
        return can;
    });
}

// Starts `redlock run` as process 1. @param output  a file for its output; empty: process::read returns it
redlock::testbed::process contain(servers const& s, std::vector<std::string> arguments, std::string const& output = "")
{
    arguments.insert(arguments.begin(), {REDLOCK_TOOL, "run"});
    return redlock::testbed::process(in_a_container(std::move(arguments)),
                                     {.environment = s.environment(), .output = output, .piped = output.empty()});
}

// Empty: there is no such process. It may end while its file is read.
std::string stat_of(pid_t p)
try {
    return text_of("/proc/" + std::to_string(p) + "/stat");
} catch (std::ios_base::failure const&) {
    return {};
}

bool is_dead(pid_t p)
{
    auto const stat = stat_of(p);
    return stat.empty() || stat.find(") Z ") != std::string::npos;
}

// The process ids in a text.
std::vector<pid_t> numbers_in(std::string const& text)
{
    std::istringstream lines(text);
    return {std::istream_iterator<pid_t>(lines), {}};
}

std::vector<pid_t> children_of(pid_t p)
{
    auto const number = std::to_string(p);
    return numbers_in(text_of("/proc/" + number + "/task/" + number + "/children"));
}

// Returns -1 if there is no guardian.
pid_t guardian_of(pid_t tool)
{
    for (auto const p : children_of(tool)) {
        if (stat_of(p).find("(lock-guardian)") != std::string::npos)
            return p;
    }
    return -1;
}

pid_t awaited_guardian_of(pid_t tool)
{
    comes_true([&] { return guardian_of(tool) > 0; });
    return guardian_of(tool);
}

bool all_die(std::vector<pid_t> const& processes)
{
    return comes_true([&] { return std::ranges::all_of(processes, is_dead); });
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(run_killed_by_sigkill_kills_the_children_of_the_command, with_servers<1>)
{
    temporary_folder folder;
    // The second child ignores every signal that can be ignored, and holds a file lock until it ends.
    auto runs = s.start({"x", "sh", "-c",
                         "sleep 1000 & echo $!; trap '' HUP INT TERM; flock -n " + folder.path
                             + "/alone sh -c 'echo $$; while :; do sleep 0.05; done' & wait; sleep 1000"});
    BOOST_TEST_REQUIRE(comes_true([&] { return numbers_in(runs.out()).size() == 2u; }));
    auto const children = numbers_in(runs.out());
    BOOST_TEST(runs.end_by(SIGKILL).status == 128 + SIGKILL);
    BOOST_TEST(all_die(children));
    BOOST_TEST(redlock::testbed::process({"flock", "-w", "60", folder.path + "/alone", "true"}).wait().code() == 0);
}

BOOST_FIXTURE_TEST_CASE(run_killed_after_the_end_of_the_command_kills_its_children, with_servers<1>)
{
    auto runs = s.start({"x", "sh", "-c", "sleep 1000 & echo $$ $!"});
    BOOST_TEST_REQUIRE(comes_true([&] { return numbers_in(runs.out()).size() == 2u; }));
    auto const all = numbers_in(runs.out());
    BOOST_TEST_REQUIRE(comes_true([&] { return stat_of(all[0]).empty(); }));  // redlock has called waitpid
    BOOST_TEST(!is_dead(all[1]));
    runs.process().signal(SIGKILL);
    BOOST_TEST(all_die({all[1]}));
}

BOOST_FIXTURE_TEST_CASE(run_killed_kills_the_command_of_an_inner_run, with_servers<1>)
{
    auto runs = s.start({"x", "sh", "-c", "\"$TOOL\" run y sh -c 'sleep 1000 & echo $!; wait'; true"});
    BOOST_TEST_REQUIRE(comes_true([&] { return numbers_in(runs.out()).size() == 1u; }));
    runs.process().signal(SIGKILL);
    BOOST_TEST(all_die(numbers_in(runs.out())));
}

BOOST_FIXTURE_TEST_CASE(guardian_killed_does_not_stop_the_command, with_servers<1>)
{
    temporary_folder folder;
    auto runs = s.start({"x", "sh", "-c", "while ! [ -e " + folder.path + "/go ]; do sleep 0.02; done; exit 3"});
    auto const guardian = awaited_guardian_of(runs.process().pid());
    BOOST_TEST_REQUIRE(guardian > 0);
    ::kill(guardian, SIGKILL);
    BOOST_TEST(comes_true([&] { return stat_of(guardian).empty(); }));  // redlock has called waitpid
    std::ofstream(folder.path + "/go") << "go\n";
    BOOST_TEST(runs.wait().status == 3);
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(guardian_keeps_no_file_and_no_terminal_and_ends_with_run, with_servers<1>)
{
    temporary_folder folder;
    auto const waits = "while ! [ -e " + folder.path + "/go ]; do sleep 0.02; done";
    auto runs = s.start({"--status-fd", "5", "x", "sh", "-c", waits}, "5>" + folder.path + "/end");
    auto const tool = runs.process().pid(), guardian = awaited_guardian_of(tool);
    BOOST_TEST_REQUIRE(guardian > 0);
    auto const files = "/proc/" + std::to_string(guardian) + "/fd";
    using folder_iterator = std::filesystem::directory_iterator;
    BOOST_TEST(comes_true([&] { return std::distance(folder_iterator(files), folder_iterator()) == 2; }));
    BOOST_TEST(std::filesystem::read_symlink(files + "/0").string().starts_with("pipe:"));
    BOOST_TEST(std::filesystem::read_symlink(files + "/1").string() == "anon_inode:[timerfd]");
    BOOST_TEST(::getsid(guardian) == guardian);
    for (int const signal : {SIGTERM, SIGHUP, SIGINT, SIGUSR1})
        ::kill(guardian, signal);
    std::ofstream(folder.path + "/go") << "go\n";
    BOOST_TEST(runs.wait().status == 0);
    BOOST_TEST(stat_of(guardian).empty());
}

BOOST_FIXTURE_TEST_CASE(run_with_foreground_has_no_guardian, with_servers<1>)
{
    auto runs = s.start({"--foreground", "x", "sh", "-c", "echo $$; exec sleep 1000"});
    BOOST_TEST(runs.says("\n"));
    BOOST_TEST(guardian_of(runs.process().pid()) == -1);
    runs.process().signal(SIGKILL);
    BOOST_TEST(all_die(numbers_in(runs.out())));
}

BOOST_FIXTURE_TEST_CASE(run_as_process_1_forwards_signals_and_keeps_the_status, with_servers<1>,
                        *only_with_namespaces())
{
    auto runs =
        contain(s, {"x", "sh", "-c", "echo $PPID; trap 'exit 7' TERM; echo ready; while :; do sleep 0.1; done"});
    BOOST_TEST(runs.read('\n') == "1");
    BOOST_TEST(runs.read('\n') == "ready");
    ::kill(children_of(runs.pid()).at(0), SIGTERM);
    BOOST_TEST(runs.wait().code() == 7);
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(run_as_process_1_reaps_orphans_and_ends_with_the_command, with_servers<1>,
                        *only_with_namespaces())
{
    temporary_folder folder;
    auto runs = contain(
        s, {"x", "sh", "-c",
            "touch $0; for i in 1 2 3; do (setsid sh -c 'echo /proc/$$ >>$0' $0 &); done; (setsid sleep 1000 &); i=0;"
            "while [ $(wc -l <$0) != 3 ] || ls -d $(cat $0) 2>/dev/null | grep -q .;"
            "do sleep 0.05; i=$((i + 1)); [ $i -lt 1000 ] || exit 1; done; exit 5",
            folder.path + "/orphans"});
    BOOST_TEST(runs.wait().code() == 5);
    BOOST_TEST(s.is_free("x"));
}

BOOST_FIXTURE_TEST_CASE(run_as_process_1_while_waiting_ends_by_a_signal, with_servers<1>, *only_with_namespaces())
{
    s.all[0].ask({"SET", "lock:x", "somebody"});
    for (int const signal : {SIGTERM, SIGINT}) {
        temporary_folder folder;
        auto waits = contain(s, {"--verbose", "x", "true"}, folder.path + "/said");
        BOOST_TEST(comes_true([&] { return text_of(folder.path + "/said").find("connected") != std::string::npos; }));
        ::kill(children_of(waits.pid()).at(0), signal);
        BOOST_TEST(waits.wait().code() == 128 + signal);
    }
}

BOOST_AUTO_TEST_SUITE_END()
