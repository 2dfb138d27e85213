// "redlock run" and the job control of shells: in no state does the command go on when another client has the lock.

#include "cli/run/servers.hpp"
#include "cli/terminal.hpp"
#include "support/long_proof.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <cstdlib>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <utility>
#include <vector>

using namespace redlock::test;
using redlock::testbed::temporary_folder;

BOOST_AUTO_TEST_SUITE(redlock_run_jobs)

namespace {

/// How a process of the command's group treats SIGTSTP.
struct answer_to_ctrl_z {
    char const* name;
    char const* perl;
};

constexpr answer_to_ctrl_z answers[] = {
    {"ignores", "$SIG{TSTP} = 'IGNORE';"},
    {"handles", "$SIG{TSTP} = sub {};"},
    {"blocks", "POSIX::sigprocmask(POSIX::SIG_BLOCK, POSIX::SigSet->new(POSIX::SIGTSTP));"},
};

/// A shell with job control, and a command whose processes write the time all the while.
class job {
public:
    job(servers const& s, char const* shell, answer_to_ctrl_z const& worker)
        : s_(s),
          shell_(std::string(shell) == "bash" ? std::vector<std::string>{"/bin/bash", "--norc", "--noprofile", "-i"}
                                              : std::vector<std::string>{"/bin/dash", "-i"},
                 environment(s))
    {
        std::ofstream(file("worker")) << "use POSIX; use Time::HiRes qw(time sleep); " << worker.perl
                                      << " open(my $log, '>>', '" << file("log")
                                      << "'); $SIG{HUP} = $SIG{TERM} = 'IGNORE'; $SIG{INT} = 'DEFAULT'; for (;;) { "
                                         "syswrite($log, sprintf(\"%.6f\\n\", time())); "
                                      << "sleep(0.005); }\n";
    }

    ~job() { shell_.type("\x03\nkill -KILL %1; exit\n"); }
    job(job const&) = delete;
    job& operator=(job const&) = delete;

    terminal& shell() { return shell_; }

    /// The words of a shell that start the command: a shell, and a child that works. The shell reads a line if @p
    /// reads.
    std::string words(bool reads = false) const
    {
        return "\"$TOOL\" run -t 2s x -- sh -c 'perl " + file("worker") + " & " + (reads ? "sleep 1; read line; " : "")
               + "wait'";
    }

    void type(std::string const& keys) { shell_.type(keys); }

    /// Whether the command works.
    bool works() const
    {
        auto const before = times("log").size();
        return comes_true([&] { return times("log").size() > before; });
    }

    /// Waits for the lock with another run, and for the end of that run.
    /// @return how many lines the first command has written since the second had the lock
    std::size_t lines_beside_another_holder() const
    {
        auto const second =
            s_.run({"-w", "50s", "x", "--", "perl", "-MTime::HiRes=time,sleep", "-e",
                    "open(my $f, '>>', '" + file("second") + "'); printf $f \"%.6f\\n\", time(); sleep(0.3)"});
        BOOST_TEST(second.status == 0, second.err);
        auto const begun = times("second");
        BOOST_TEST_REQUIRE(begun.size() == 1u);
        auto const lines = times("log");
        BOOST_TEST(lines.size() > 0u);
        return static_cast<std::size_t>(
            std::ranges::count_if(lines, [&](double line) { return line > begun.front(); }));
    }

private:
    static std::vector<std::string> environment(servers const& s)
    {
        auto all = s.environment();
        all.emplace_back("PS1=$ ");
        return all;
    }

    std::string file(char const* name) const { return folder_.path + "/" + name; }

    std::vector<double> times(char const* name) const
    {
        std::istringstream lines(text_of(file(name)));
        std::vector<double> all;
        for (double t = 0; lines >> t;)
            all.push_back(t);
        return all;
    }

    servers const& s_;
    temporary_folder folder_;
    terminal shell_;
};

bool is_stopped(pid_t p) { return text_of("/proc/" + std::to_string(p) + "/stat").find(") T ") != std::string::npos; }

/// A chain of events that ends the work, one way or the other.
struct chain {
    char const* name;
    void (*run)(job&);
};

void start(job& j)
{
    j.type(j.words() + "\n");
    BOOST_TEST(j.works());
}

void bring_to_the_foreground(job& j)
{
    j.type("fg\n");
    BOOST_TEST(j.shell().gives_the_terminal_away());
    BOOST_TEST(j.works());
}

void start_behind_and_bring_back(job& j, bool reads = false)
{
    j.type(j.words(reads) + " &\n");
    BOOST_TEST(j.works());
    bring_to_the_foreground(j);
}

void start_and_stop(job& j)
{
    start(j);
    j.type("\x1a");
    BOOST_TEST(j.shell().shows("topped"));
}

constexpr chain chains[] = {
    {"Ctrl-Z",
     [](job& j) {
         start(j);
         j.type("\x1a");
     }},
    {"Ctrl-Z, bg, kill",
     [](job& j) {
         start_and_stop(j);
         j.type("bg\n");
         BOOST_TEST(j.works());
         j.type("kill -KILL %1\n");
     }},
    {"Ctrl-Z, fg, Ctrl-Z",
     [](job& j) {
         start_and_stop(j);
         bring_to_the_foreground(j);
         j.type("\x1a");
     }},
    {"&, fg, Ctrl-Z",
     [](job& j) {
         start_behind_and_bring_back(j);
         j.type("\x1a");
     }},
    {"Ctrl-C",
     [](job& j) {
         start(j);
         j.type("\x03");
     }},
    {"Ctrl-Z, fg, Ctrl-C",
     [](job& j) {
         start_and_stop(j);
         bring_to_the_foreground(j);
         j.type("\x03");
     }},
    {"&, fg, Ctrl-C",
     [](job& j) {
         start_behind_and_bring_back(j);
         j.type("\x03");
     }},
    {"&, fg, a line, Ctrl-Z",
     [](job& j) {
         start_behind_and_bring_back(j, true);
         j.type("hello\n");
         BOOST_TEST(j.works());
         j.type("\x1a");
     }},
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(run_in_a_shell_never_works_beside_the_next_holder, with_servers<1>)
{
    std::size_t next = 0;
    for (auto const& c : chains) {
        for (auto const& worker : answers) {
            for (auto const* const shell : {"bash", "dash"}) {
                if (!long_proof() && next++ % 5 != 0)
                    continue;
                BOOST_TEST_CONTEXT(c.name << ", " << shell << ", a process that " << worker.name << " SIGTSTP") {
                    job j(s, shell, worker);
                    c.run(j);
                    BOOST_TEST(j.lines_beside_another_holder() == 0u, j.shell().shown);
                }
            }
        }
    }
}

BOOST_FIXTURE_TEST_CASE(run_in_the_background_reads_after_fg, with_servers<1>)
{
    for (auto const* const shell : {"bash", "dash"}) {
        job j(s, shell, answers[0]);
        j.type("\"$TOOL\" run -t 50s x -- sh -c 'echo re\"\"ady; sleep 1; read line; echo got $line' &\n");
        BOOST_TEST(j.shell().shows("ready"));
        j.type("fg\n");
        BOOST_TEST(j.shell().gives_the_terminal_away());
        j.type("hello\n");
        BOOST_TEST(j.shell().shows("got hello"), shell << ": " << j.shell().shown);
        BOOST_TEST(comes_true([&] { return s.is_free("x"); }));
        j.type("echo ba\"\"ck\n");
        BOOST_TEST(j.shell().shows("back"));
    }
}

BOOST_FIXTURE_TEST_CASE(run_that_is_stopped_by_sigstop_ends_its_command_with_the_lock, with_servers<1>)
{
    auto runs = s.start({"-t", "2s", "x", "-c", "sleep 1000 & echo $!; wait"});
    BOOST_TEST(runs.says("\n"));
    auto const child = std::stoi(runs.out());
    runs.process().signal(SIGSTOP);
    BOOST_TEST(s.run({"-w", "50s", "x", "-c", "! grep -v ') Z ' /proc/" + std::to_string(child) + "/stat"}).status
               == 0);
    BOOST_TEST(is_stopped(runs.process().pid()));
    runs.process().signal(SIGCONT);
    must_say(runs.wait(), 124, "could not be renewed while redlock was stopped; the command was killed");
}

// The kernel lets an exec of the file wait until its lease is given back, as a scanner or a file system that hangs.
BOOST_FIXTURE_TEST_CASE(run_whose_exec_hangs_renews_the_lock_and_can_be_ended, with_servers<1>)
{
    temporary_folder folder;
    auto const program = folder.path + "/program";
    std::ofstream(program) << "#!/bin/sh\necho ran >>" << folder.path << "/ran\n";
    BOOST_TEST_REQUIRE(::chmod(program.c_str(), 0700) == 0);
    auto const ignored = std::signal(SIGIO, SIG_IGN);  // the notice that somebody opens the file
    int const file = ::open(program.c_str(), O_RDWR | O_CLOEXEC);
    if (::fcntl(file, F_SETLEASE, F_WRLCK) != 0) {
        BOOST_TEST_MESSAGE("skipped: this file system has no leases");
        ::close(file);
        return;
    }

    auto const left = [&] { return std::stol(s.all[0].ask({"PTTL", "lock:x"})); };
    auto runs = s.start({"-t", "1s", "x", program});
    BOOST_TEST(comes_true([&] { return left() > 0; }));
    for (int renewals = 0; renewals < 3; ++renewals) {
        auto lowest = left();
        BOOST_TEST_REQUIRE(comes_true([&] {
            auto const now = left();
            return now > std::exchange(lowest, std::min(lowest, now)) && now > 0;
        }));
    }
    BOOST_TEST(runs.end_by(SIGTERM).status == 128 + SIGTERM);
    BOOST_TEST(s.run({"--max-hold", "300ms", "x", program}).status == 124);

    BOOST_TEST(s.is_free("x"));
    ::close(file);
    std::signal(SIGIO, ignored);
    BOOST_TEST(!std::filesystem::exists(folder.path + "/ran"));
    BOOST_TEST(s.run({"x", program}).status == 0);
    BOOST_TEST(std::filesystem::exists(folder.path + "/ran"));
}

BOOST_AUTO_TEST_SUITE_END()
