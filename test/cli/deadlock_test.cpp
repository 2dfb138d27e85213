// Processes that wait for each other, on real servers.

#include "cli/doctor_report.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(deadlocks)

namespace {

/// Two managers, which stand for two processes: each holds a lock and waits for that of the other one.
struct two_in_a_cycle {
    real_servers r{3};
    lock_manager one{r.context, settings("one:1")}, two{r.context, settings("two:2")};
    lock first = r.acquire(one, "first", {.ttl = 60s, .wait = 10s}).held;
    lock second = r.acquire(two, "second", {.ttl = 60s, .wait = 10s}).held;
    asio::cancellation_signal ends_one, ends_two;

    two_in_a_cycle()
    {
        wait(one, "second", ends_one);
        wait(two, "first", ends_two);
        for (auto const* name : {"first", "second"}) {
            std::optional<lock_info> seen;
            do {
                seen.reset();
                one.async_inspect(name, [&](error_code, lock_info i) { seen = std::move(i); });
                r.run_to([&] { return seen.has_value(); });
            } while (seen->waiters.empty());
        }
    }

    manager_options settings(std::string owner)
    {
        return r.settings({.owner = std::move(owner), .restart_guard = restart_guard::off});
    }

    void wait(lock_manager& locks, std::string name, asio::cancellation_signal& ends)
    {
        locks.async_acquire(std::move(name), {.ttl = 60s, .wait = 1min},
                            asio::bind_cancellation_slot(ends.slot(), [](error_code, lock) {}));
    }

    std::vector<std::string> list_of_waits(std::vector<std::string> options = {})
    {
        std::vector<std::string> arguments{"-u", r[0].url(), "-u", r[1].url(), "-u", r[2].url(), "list", "--waits"};
        arguments.insert(arguments.end(), options.begin(), options.end());
        return arguments;
    }

    doctor_report doctor() { return run_doctor({r[0].url(), r[1].url(), r[2].url()}); }
};

}  // namespace

BOOST_AUTO_TEST_CASE(doctor_of_two_processes_in_a_cycle_names_both_and_a_way_out)
{
    two_in_a_cycle both;

    auto const found = both.doctor().of("deadlock");

    BOOST_TEST(found.level == "WARN");
    BOOST_TEST(found.why
               == R"(processes wait for each other: one:1 waits for "second", which two:2 holds; )"
                  R"(two:2 waits for "first", which one:1 holds)");
    BOOST_TEST(found.fix.find(" break second --force  #") != std::string::npos, found.fix);

    both.ends_two.emit(asio::cancellation_type::terminal);
    both.r.release(both.first);
    BOOST_TEST(both.doctor().of("deadlock").level == "OK");
}

BOOST_AUTO_TEST_CASE(list_with_waits_names_the_processes_and_their_cycle)
{
    two_in_a_cycle both;

    auto const table = run_tool(both.list_of_waits());
    BOOST_TEST(table.status == 1, table.err);
    BOOST_TEST(has(table.out, "PROCESS  WAITS FOR  WANTS IT  HELD BY"), table.out);
    BOOST_TEST(has(table.out, "\ndeadlock: one:1 waits for \"second\", which two:2 holds; two:2 waits for"), table.out);

    auto const lines = run_tool(both.list_of_waits({"-o", "jsonl"})).documents();
    BOOST_TEST_REQUIRE(lines.size() == 3u);
    BOOST_TEST(lines[0].at("process").as_string() == "two:2");
    BOOST_TEST(lines[0].at("key").as_string() == "first");
    BOOST_TEST(lines[0].at("holder").as_string() == "one:1");
    BOOST_TEST(lines[2].at("cycle").as_array().size() == 2u);

    auto const one_lock = run_tool(both.list_of_waits({"first", "-o", "json"}));
    BOOST_TEST(one_lock.status == 0);
    auto const document = one_lock.documents().at(0);
    BOOST_TEST(document.at("waits").as_array().size() == 1u);
    BOOST_TEST(document.at("cycles").as_array().empty());
    BOOST_TEST(document.at("nodes").as_array().size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
