// Servers whose log keeps the locks over a restart, and servers whose log has gaps.

#include "support/quarantine.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <csignal>
#include <fstream>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(durability)

namespace {

/// A server whose configuration file can be changed before a restart.
class configured_server {
public:
    explicit configured_server(std::string const& settings)
    {
        configure(settings);
        server.emplace(std::vector<std::string>{"--include", file()});
    }

    void configure(std::string const& settings) const { std::ofstream(file()) << settings << '\n'; }

    /// Kills the server and its child processes, which would keep its connections open, and starts it again.
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

// The quarantine after a restart is longer than any of these tests, even on a slow machine.
manager_options settings(configured_server const& s, restart_guard guard = restart_guard::automatic,
                         std::chrono::milliseconds max_ttl = 60s)
{
    return {.nodes = {s.server->url()}, .node_timeout = 1s, .max_ttl = max_ttl, .restart_guard = guard};
}

void warm_up(real_servers& r, lock_manager& locks)
{
    BOOST_TEST_REQUIRE(!r.release(acquire_after_quarantine(r, locks, "warm-up", {.ttl = 10s}).held));
}

// Acquires until the server has answered, and waits for the clean-up: until then, others may find the key. @return the
// error of that attempt
error_code attempt(real_servers& r, lock_manager& locks, std::string const& resource)
{
    error_code ec;
    BOOST_TEST(r.run_to([&] {
        ec = r.acquire(locks, resource, {.ttl = 2s}).ec;
        return ec != errc::no_quorum;
    }));
    BOOST_TEST(r.run_to([&] { return locks.stats().cleaning == 0; }));
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

// Waits for two heartbeats of both managers. Each sends one a second.
void wait_for_two_heartbeats(real_servers& r, configured_server const& s)
{
    for (int i = 0; i < 2; ++i) {
        auto const before = s.questions();
        skip_time(1s);
        BOOST_TEST(r.run_to([&] { return s.questions() >= before + 2; }));
    }
}

constexpr auto* durable = "appendonly yes\nappendfsync always";

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_after_crash_during_the_first_log_rewrite_is_quarantined)
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
    reconnect(r, s, b);  // the server answers the greeting that the log is on
    BOOST_TEST(s.says("aof_enabled:1"));
    auto held = r.acquire(a, "stock", {.ttl = 30s, .wait = 10s}).held;
    BOOST_TEST_REQUIRE(held.held());
    BOOST_TEST_REQUIRE(s.says("aof_rewrite_in_progress:1"));

    s.crash_and_start();

    BOOST_TEST((attempt(r, b, "stock") == errc::quarantined));
    held = {};
    shut_down_and_skip_time(r, a);
    shut_down_and_skip_time(r, b);
}

// The log that stays on the disk claims to be complete until its last signature is over. Nobody may get a lock before.
BOOST_AUTO_TEST_CASE(acquire_with_the_log_switched_off_waits_for_the_end_of_the_signature)
{
    configured_server s(durable);
    real_servers r(0);
    auto const brief = settings(s, restart_guard::automatic, 4s);
    lock_manager a(r.context, brief), b(r.context, brief);
    for (auto* locks : {&a, &b})
        BOOST_TEST_REQUIRE(!r.release(r.acquire(*locks, "warm-up", {.ttl = 2s, .wait = 10s}).held));
    BOOST_TEST(r.run_to([&] { return s.server->ask({"GET", "lock::=record"}).find(" d ") != std::string::npos; }));
    s.server->ask({"CONFIG", "SET", "appendonly", "no"});

    BOOST_TEST(r.run_to([&] { return r.acquire(b, "other", {.ttl = 2s}).ec == errc::quarantined; }));
    auto held = r.acquire(a, "stock", {.ttl = 3900ms, .wait = 10s}).held;
    BOOST_TEST_REQUIRE(held.held());
    s.crash_and_start();  // the configuration file switches the log on again

    lock_manager late(r.context, brief);
    for (auto* locks : {&late, &b}) {
        auto const ec = attempt(r, *locks, "stock");
        BOOST_TEST((ec == errc::quarantined || !held.held()), ec.message());  // a busy machine may need 4 s for this
    }
    held = {};
    for (auto* locks : {&a, &b, &late})
        shut_down_and_skip_time(r, *locks);
}

BOOST_AUTO_TEST_CASE(acquire_after_crash_with_no_appendfsync_on_rewrite_is_quarantined)
{
    configured_server s(std::string(durable) + "\nno-appendfsync-on-rewrite yes");
    real_servers r(0);
    lock_manager locks(r.context, settings(s));
    warm_up(r, locks);

    s.crash_and_start();

    BOOST_TEST((attempt(r, locks, "stock") == errc::quarantined));
    shut_down_and_skip_time(r, locks);
}

BOOST_AUTO_TEST_CASE(acquire_with_a_log_switched_on_after_a_restart_is_quarantined)
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

    // A new manager cannot find out whether the log was on from the start, either.
    lock_manager fresh(r.context, settings(s, restart_guard::strict));
    BOOST_TEST((attempt(r, fresh, "stock") == errc::quarantined));
    shut_down_and_skip_time(r, locks);
    shut_down_and_skip_time(r, fresh);
}

BOOST_AUTO_TEST_CASE(acquire_after_crash_with_a_complete_log_is_answered)
{
    configured_server s("appendfsync always");
    real_servers r(0);
    lock_manager a(r.context, settings(s, restart_guard::strict)), b(r.context, settings(s, restart_guard::strict));
    warm_up(r, a);
    warm_up(r, b);
    s.server->ask({"CONFIG", "SET", "appendonly", "yes"});
    BOOST_TEST(r.run_to([&] { return s.says("aof_rewrite_in_progress:0") && s.says("aof_rewrite_scheduled:0"); }));
    s.configure(durable);
    wait_for_two_heartbeats(r, s);
    auto held = r.acquire(a, "stock", {.ttl = 10s, .wait = 10s, .renew = renewal::automatic}).held;

    s.crash_and_start();

    BOOST_TEST((attempt(r, b, "other") == error_code()));
    BOOST_TEST((attempt(r, b, "stock") == errc::contended));
    held = {};
    shut_down_and_skip_time(r, a);
    shut_down_and_skip_time(r, b);
}

BOOST_AUTO_TEST_SUITE_END()
