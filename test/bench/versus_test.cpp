#include "interrupt.hpp"
#include "bed/process.hpp"
#include "bed/server_process.hpp"
#include "bed/wait_until.hpp"
#include "versus/choice.hpp"
#include "versus/counter.hpp"
#include "versus/faults.hpp"
#include "versus/loss_watch.hpp"
#include "versus/report.hpp"
#include "versus/run_trials.hpp"
#include "versus/trial_result.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <vector>

using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(bench_versus)

namespace {

using namespace redlock::versus;
using redlock::bench::lock_servers;
using redlock::bench::peer;

peer stub_peer(std::string const& kind)
{
    return {.name = kind, .title = kind, .servers = lock_servers::one_redis, .command = {REDLOCK_VERSUS_STUB, kind}};
}

redlock::versus::fault const& named(std::string const& name)
{
    return *std::ranges::find(all_faults(), name, &redlock::versus::fault::name);
}

std::string message_of(auto const& call)
{
    try {
        call();
        return "";
    } catch (std::exception const& e) {
        return e.what();
    }
}

// The programs that were started with @p setting in their environment.
std::size_t programs_with(std::string const& setting)
{
    std::size_t count = 0;
    std::error_code ec;
    for (auto const& one : std::filesystem::directory_iterator("/proc", ec))
        count += redlock::testbed::text_of((one.path() / "environ").string()).find(setting) != std::string::npos;
    return count;
}

bool says(std::string const& text, std::string_view what) { return text.find(what) != text.npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(counter_write_with_a_smaller_token_is_refused)
{
    counter c;

    BOOST_TEST(c.read(5) == 0U);
    BOOST_TEST(c.read(6) == 0U);
    BOOST_TEST(!c.write(1, 5));
    BOOST_TEST(c.write(1, 6));

    BOOST_TEST(c.refused() == 1U);
    BOOST_TEST(c.lost_updates() == 0U);
}

BOOST_AUTO_TEST_CASE(counter_write_of_an_old_value_is_a_lost_update)
{
    counter c;

    for (auto const value : {1, 2, 2, 3})
        BOOST_TEST(c.write(static_cast<std::uint64_t>(value), {}));

    BOOST_TEST(c.lost_updates() == 1U);
}

BOOST_AUTO_TEST_CASE(loss_watch_noticed_after_another_acquisition_is_positive)
{
    loss_watch w(3);
    loss_watch::time_point const start{};

    w.acquired(0, start);
    w.acquired(1, start + 1s);
    w.noticed(0, start + 3s);

    BOOST_TEST(w.held_twice() == 1U);
    BOOST_TEST((w.slowest() == 2s));
    BOOST_TEST(!w.never_noticed());
}

BOOST_AUTO_TEST_CASE(loss_watch_noticed_before_another_acquisition_is_negative)
{
    loss_watch w(3);
    loss_watch::time_point const start{};

    w.acquired(0, start);
    w.noticed(0, start + 1s);
    w.acquired(1, start + 3s);

    BOOST_TEST(w.held_twice() == 0U);
    BOOST_TEST((w.slowest() == -2s));
}

BOOST_AUTO_TEST_CASE(loss_watch_worked_after_another_acquisition_is_never_noticed)
{
    loss_watch w(3);

    w.acquired(0, {});
    w.acquired(1, {});
    w.worked(0);

    BOOST_TEST(w.never_noticed());
}

BOOST_AUTO_TEST_CASE(loss_watch_acquired_after_complete_work_is_no_loss)
{
    loss_watch w(3);

    w.acquired(0, {});
    w.worked(0);
    w.left(0);
    w.acquired(1, {});
    w.worked(1);

    BOOST_TEST(w.held_twice() == 0U);
    BOOST_TEST(!w.never_noticed());
    BOOST_TEST(!w.slowest().has_value());
}

BOOST_AUTO_TEST_CASE(faults_are_fifteen_with_different_names)
{
    std::vector<std::string> names;
    std::ranges::transform(all_faults(), std::back_inserter(names), &redlock::versus::fault::name);
    std::ranges::sort(names);

    BOOST_TEST(names.size() == 15U);
    BOOST_TEST((std::ranges::adjacent_find(names) == names.end()));
}

BOOST_AUTO_TEST_CASE(parse_reads_names_faults_and_jobs)
{
    auto const c = redlock::versus::parse(
        {"etcd", "redis-py", "--fault", "none,late-write", "--jobs=2", "--peers", "/x", "--list"});

    BOOST_TEST(c.peers == (std::vector<std::string>{"etcd", "redis-py"}), boost::test_tools::per_element());
    BOOST_TEST(c.faults == (std::vector<std::string>{"none", "late-write"}), boost::test_tools::per_element());
    BOOST_TEST(c.jobs == 2U);
    BOOST_TEST(c.folder == "/x");
    BOOST_TEST(c.list);
}

BOOST_AUTO_TEST_CASE(chosen_with_an_unknown_name_lists_the_names)
{
    auto const wrong_fault = message_of([] { chosen(all_faults(), {"none", "flood"}); });
    auto const wrong_peer = message_of([] { chosen(std::vector{stub_peer("a"), stub_peer("b")}, {"c"}); });

    BOOST_TEST(says(wrong_fault, R"(there is no fault "flood"; choose from: none, long-work,)"), wrong_fault);
    BOOST_TEST(wrong_peer == R"(there is no peer "c"; choose from: a, b)");
}

BOOST_AUTO_TEST_CASE(verdict_names_everything_that_went_wrong)
{
    trial_result bad{.lost_updates = 3, .refused_writes = 2, .keys_left = 1, .crashed_workers = 1};
    trial_result const fine{.refused_writes = 2, .recovered = true};

    BOOST_TEST(verdict(bad) == "3 lost, 1 key, no recovery, 1 crashed, 2 refused");
    BOOST_TEST(verdict(fine) == "ok, 2 refused");
    BOOST_TEST(verdict({.recovered = true}) == "ok");
}

BOOST_AUTO_TEST_CASE(to_table_leaves_out_a_missing_peer_with_its_reason)
{
    auto missing = stub_peer("sunken");
    missing.missing = "no ship";
    report const r{.machine = {},
                   .peers = {stub_peer("swift"), missing},
                   .faults = {named("none")},
                   .trials = {{.peer = "swift", .fault = "none", .recovered = true, .recovery_us = 21'000}}};

    auto const text = to_table(r);

    BOOST_TEST(says(text, "21.0 ms"), text);
    BOOST_TEST(says(text, "sunken is left out: no ship"), text);
}

BOOST_AUTO_TEST_CASE(run_trials_finds_lost_updates_unless_the_lock_is_fenced)
{
    auto const careless = stub_peer("careless"), fenced = stub_peer("fenced");
    auto const &stopped = named("holder-stopped"), &late = named("late-write");
    std::vector<planned_trial> const plan{
        {&careless, &stopped}, {&careless, &late}, {&fenced, &stopped}, {&fenced, &late}};
    std::vector<trial_result> results;
    // On a busy machine, perhaps no other worker runs while the holder is stopped.
    for (int i = 0; i < 5; ++i) {
        results = run_trials(plan, {.jobs = plan.size()});
        if (std::ranges::all_of(results, [](auto& r) { return r.held_twice > 0; }))
            break;
    }

    for (auto const& r : results) {
        BOOST_TEST_CONTEXT(to_json(r)) {
            BOOST_TEST_REQUIRE(r.failure == "");
            BOOST_TEST(r.recovered);
            BOOST_TEST(r.held_twice > 0U);
            BOOST_TEST(r.never_noticed == (r.fault == "holder-stopped"));
            BOOST_TEST((r.lost_updates > 0) == (r.peer == "careless"));
            BOOST_TEST((r.refused_writes > 0) == (r.peer == "fenced"));
            BOOST_TEST(r.keys_left == 0U);
        }
    }
}

BOOST_AUTO_TEST_CASE(run_trials_reports_keys_and_workers_that_end_too_early)
{
    auto const leaving = stub_peer("leaving"), dying = stub_peer("dying"), absent = stub_peer("absent");
    auto no_program = absent;
    no_program.command = {"/nowhere/redlock"};
    redlock::versus::fault const moment{"moment", "nothing for a moment", [](trial&) {}};

    auto const results = run_trials({{&leaving, &moment}, {&dying, &moment}, {&no_program, &moment}}, {.jobs = 3});

    BOOST_TEST(results[0].keys_left == 1U);
    BOOST_TEST(says(verdict(results[0]), "1 key"));
    BOOST_TEST(says(results[1].failure, "ended with status 7: there is no lock here"), results[1].failure);
    BOOST_TEST(says(results[2].failure, "ended with status 127"), results[2].failure);
}

BOOST_AUTO_TEST_CASE(run_trials_after_a_signal_leaves_no_program_and_no_file)
{
    redlock::testbed::temporary_folder const folder;
    auto const careless = stub_peer("careless");
    auto const& stopped = named("server-stopped");
    redlock::testbed::process run(
        [&] {
            ::setenv("TMPDIR", folder.path.c_str(), 1);
            redlock::bench::note_interrupts();
            try {
                run_trials({{&careless, &stopped}, {&careless, &stopped}}, {.jobs = 2});
                return 0;
            } catch (redlock::bench::interrupted const&) {
                return 130;
            }
        },
        {.name = "the run"});
    constexpr std::size_t programs = 2 * 3;  // the workers: redis-server overwrites its environment
    redlock::testbed::wait_until([&] { return programs_with(folder.path) >= programs; }, "the trials do not begin");

    run.signal(SIGTERM);

    BOOST_TEST(run.wait().code() == 130);
    BOOST_TEST(std::filesystem::is_empty(folder.path));
    BOOST_TEST(programs_with(folder.path) == 0U);
}

BOOST_AUTO_TEST_SUITE_END()
