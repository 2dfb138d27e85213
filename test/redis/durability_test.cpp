// Servers that remember over a restart, and those that only say so.

#include "support/quarantine.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <fstream>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(durability)

namespace {

/// A server whose configuration file may change between its lives.
class configured_server {
public:
    explicit configured_server(std::string const& settings)
    {
        configure(settings);
        server.emplace(std::vector<std::string>{"--include", file()});
    }

    void configure(std::string const& settings) const { std::ofstream(file()) << settings << '\n'; }

    /// As after a power cut: its children would keep its connections open.
    void crash_and_start()
    {
        ::kill(-server->pid(), SIGKILL);
        server->kill();
        server->start();
    }

    bool says(std::string const& words) const
    {
        return server->ask({"INFO", "persistence"}).find(words) != std::string::npos;
    }

    long questions() const { return carried_out(*server, "config|get"); }

    std::optional<local_server> server;

private:
    std::string file() const { return folder_.path + "/conf"; }

    testbed::temporary_folder folder_;
};

// A restart that is seen costs a quarantine that is longer than any of these tests, however slow the machine.
config settings(configured_server const& s, restart_guard guard = restart_guard::automatic,
                std::chrono::milliseconds max_ttl = 60s)
{
    return {.nodes = {s.server->url()}, .node_timeout = 1s, .max_ttl = max_ttl, .restart_guard = guard};
}

void warm_up(real_servers& r, lock_manager& locks)
{
    BOOST_TEST_REQUIRE(!r.release(acquire_after_quarantine(r, locks, "warm-up", {.ttl = 10s}).held));
}

// What comes of the first attempt that the server answers.
error_code attempt(real_servers& r, lock_manager& locks, std::string const& resource)
{
    error_code ec;
    BOOST_TEST(r.run_to([&] {
        ec = r.acquire(locks, resource, {.ttl = 10s}).ec;
        return ec != errc::no_quorum;
    }));
    return ec;
}

void reconnect(real_servers& r, configured_server& s, lock_manager& locks)
{
    auto const before = locks.stats().nodes[0].connections;
    s.server->ask({"CLIENT", "KILL", "TYPE", "normal"});
    BOOST_TEST(r.run_to([&] {
        r.acquire(locks, "warm-up", {.ttl = 10s});
        return locks.stats().nodes[0].connections > before;
    }));
}

// Each manager looks once a second.
void let_both_look_twice(real_servers& r, configured_server const& s)
{
    for (int i = 0; i < 2; ++i) {
        auto const before = s.questions();
        skip_time(1s);
        BOOST_TEST(r.run_to([&] { return s.questions() >= before + 2; }));
    }
}

constexpr auto* durable = "appendonly yes\nappendfsync always";

}  // namespace

BOOST_AUTO_TEST_CASE(a_log_whose_first_rewrite_never_ended_is_not_believed)
{
    configured_server s("appendfsync always");
    real_servers r(0);
    lock_manager a(r.context, settings(s)), b(r.context, settings(s));
    warm_up(r, a);
    warm_up(r, b);
    for (int i = 0; i < 100; ++i)
        s.server->ask({"SET", "other" + std::to_string(i), "x"});
    s.server->ask({"CONFIG", "SET", "rdb-key-save-delay", "100000"});
    s.configure(durable);
    s.server->ask({"CONFIG", "SET", "appendonly", "yes"});
    reconnect(r, s, b);  // the greeting is told that the log is on
    BOOST_TEST(s.says("aof_enabled:1"));
    auto held = r.acquire(a, "stock", {.ttl = 30s, .wait = 10s}).held;
    BOOST_TEST_REQUIRE(held.held());
    BOOST_TEST_REQUIRE(s.says("aof_rewrite_in_progress:1"));

    s.crash_and_start();

    BOOST_TEST((attempt(r, b, "stock") == errc::quarantined));
    held = {};
    shut_down_without_patience(r, a);
    shut_down_without_patience(r, b);
}

BOOST_AUTO_TEST_CASE(a_log_that_is_switched_off_under_a_connection_is_noticed)
{
    configured_server s(durable);
    real_servers r(0);
    lock_manager a(r.context, settings(s)), b(r.context, settings(s));
    warm_up(r, a);
    warm_up(r, b);
    s.server->ask({"CONFIG", "SET", "appendonly", "no"});
    let_both_look_twice(r, s);
    auto held = r.acquire(a, "stock", {.ttl = 30s, .wait = 10s}).held;
    BOOST_TEST_REQUIRE(held.held());

    s.crash_and_start();  // with the log

    BOOST_TEST((attempt(r, b, "stock") == errc::quarantined));
    held = {};
    shut_down_without_patience(r, a);
    shut_down_without_patience(r, b);
}

BOOST_AUTO_TEST_CASE(a_log_that_is_not_synced_while_it_is_rewritten_is_not_believed)
{
    configured_server s(std::string(durable) + "\nno-appendfsync-on-rewrite yes");
    real_servers r(0);
    lock_manager locks(r.context, settings(s));
    warm_up(r, locks);

    s.crash_and_start();

    BOOST_TEST((attempt(r, locks, "stock") == errc::quarantined));
    shut_down_without_patience(r, locks);
}

BOOST_AUTO_TEST_CASE(a_log_that_is_switched_on_after_a_restart_does_not_bring_back_what_was_forgotten)
{
    configured_server s("appendfsync always");
    real_servers r(0);
    lock_manager locks(r.context, settings(s));
    warm_up(r, locks);
    s.crash_and_start();
    BOOST_TEST((attempt(r, locks, "stock") == errc::quarantined));

    s.server->ask({"CONFIG", "SET", "appendonly", "yes"});
    BOOST_TEST(r.run_to([&] { return s.says("aof_rewrite_in_progress:0") && s.says("aof_rewrite_scheduled:0"); }));
    reconnect(r, s, locks);

    BOOST_TEST((attempt(r, locks, "stock") == errc::quarantined));

    // A program that has just begun cannot be told that it was on from the start, either.
    lock_manager fresh(r.context, settings(s, restart_guard::strict));
    BOOST_TEST((attempt(r, fresh, "stock") == errc::quarantined));
    shut_down_without_patience(r, locks);
    shut_down_without_patience(r, fresh);
}

BOOST_AUTO_TEST_CASE(a_log_that_was_switched_on_and_is_complete_is_believed_after_the_next_restart)
{
    configured_server s("appendfsync always");
    real_servers r(0);
    lock_manager a(r.context, settings(s, restart_guard::strict)), b(r.context, settings(s, restart_guard::strict));
    warm_up(r, a);
    warm_up(r, b);
    s.server->ask({"CONFIG", "SET", "appendonly", "yes"});
    BOOST_TEST(r.run_to([&] { return s.says("aof_rewrite_in_progress:0") && s.says("aof_rewrite_scheduled:0"); }));
    s.configure(durable);
    let_both_look_twice(r, s);
    auto held = r.acquire(a, "stock", {.ttl = 10s, .wait = 10s, .renew = renewal::automatic}).held;

    s.crash_and_start();

    BOOST_TEST((attempt(r, b, "other") == error_code()));
    BOOST_TEST((attempt(r, b, "stock") == errc::contended));
    held = {};
    shut_down_without_patience(r, a);
    shut_down_without_patience(r, b);
}

BOOST_AUTO_TEST_SUITE_END()
