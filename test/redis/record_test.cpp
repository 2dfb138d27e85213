// Servers that lose their keys although they have a durable log. Their record shows it to every manager: to one that
// comes later, to one that was away, and to one that stays. The programs of a manager that stays are in the fixture.

#include "support/quarantine.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(record)

namespace {

/// A durable server, a manager that holds a lock on it, and a second manager.
struct durable_server {
    durable_server() { hold(); }
    void teardown()
    {
        held = {};
        shut_down_and_skip_time(r, a);
        shut_down_and_skip_time(r, b);
    }

    // The quarantine after a restart is longer than any of these tests, even on a slow machine.
    manager_options settings(restart_guard guard = restart_guard::automatic)
    {
        return {.nodes = {r[0].url()}, .node_timeout = 1s, .max_ttl = 60s, .restart_guard = guard, .log = log()};
    }

    std::function<void(log_level, std::string_view)> log()
    {
        return [this](log_level, std::string_view line) { lines.emplace_back(line); };
    }

    void hold()
    {
        for (auto* locks : {&a, &b})
            BOOST_TEST(!r.release(acquire_after_quarantine(r, *locks, "warm-up", {.ttl = 10s}).held));
        held = r.acquire(a, "stock", {.ttl = 50s, .wait = 5s}).held;
        BOOST_TEST_REQUIRE(held.held());
    }

    static std::uint64_t connections(lock_manager const& locks) { return locks.stats().nodes[0].connections; }

    /// Calls @p what, and waits until both managers have reconnected.
    template <class F>
    void have_both_greet_again(F what)
    {
        auto const of_a = connections(a), of_b = connections(b);
        what();
        BOOST_TEST(r.run_to([&] { return connections(a) > of_a && connections(b) > of_b; }));
    }

    template <class F>
    void restart(F meanwhile)
    {
        r[0].kill();
        meanwhile(std::filesystem::path(r[0].folder()));
        r[0].start();
    }

    /// Acquires until the server has answered. @return the error of that attempt
    error_code attempt(lock_manager& locks, std::string const& resource = "stock")
    {
        error_code ec;
        BOOST_TEST(r.run_to([&] {
            ec = r.acquire(locks, resource, {.ttl = 10s}).ec;
            return ec != errc::no_quorum;
        }));
        return ec;
    }

    bool logged(std::string_view words) const
    {
        return std::any_of(lines.begin(), lines.end(), [&](auto& line) { return line.find(words) != line.npos; });
    }

    real_servers r{1, {"--appendonly", "yes", "--appendfsync", "always"}};
    std::vector<std::string> lines;
    lock_manager a{r.context, settings()}, b{r.context, settings()};
    lock held;
};

void copy_folder(std::filesystem::path const& from, std::filesystem::path const& to)
{
    std::filesystem::copy(from, to,
                          std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
}

void empty_folder(std::filesystem::path const& folder)
{
    for (auto const& entry : std::filesystem::directory_iterator(folder))
        std::filesystem::remove_all(entry);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_after_flushall_on_a_durable_node_is_quarantined, durable_server)
{
    have_both_greet_again([&] { r[0].ask({"FLUSHALL"}); });

    BOOST_TEST((attempt(a) == errc::quarantined));
    BOOST_TEST((attempt(b, "another") == errc::quarantined));
    BOOST_TEST(logged("its record is gone or begins anew"));
    lock_manager fresh(r.context, settings(restart_guard::strict));
    BOOST_TEST((attempt(fresh, "a third") == errc::quarantined));
    shut_down_and_skip_time(r, fresh);
}

// The restart must not hide the loss.
BOOST_FIXTURE_TEST_CASE(acquire_after_flushall_and_a_restart_is_quarantined, durable_server)
{
    lock_manager away(r.context, settings());
    BOOST_TEST(!r.release(r.acquire(away, "warm-up", {.ttl = 10s, .wait = 5s}).held));
    have_both_greet_again([&] { r[0].ask({"FLUSHALL"}); });
    have_both_greet_again([&] { restart([](auto const&) {}); });

    BOOST_TEST((attempt(b) == errc::quarantined));
    BOOST_TEST((attempt(away, "another") == errc::quarantined));
    lock_manager late(r.context, settings(restart_guard::strict));
    BOOST_TEST((attempt(late, "a third") == errc::quarantined));
    shut_down_and_skip_time(r, away);
    shut_down_and_skip_time(r, late);
}

BOOST_FIXTURE_TEST_CASE(acquire_after_a_second_flushall_is_quarantined_anew, durable_server)
{
    have_both_greet_again([&] { r[0].ask({"FLUSHALL"}); });
    have_both_greet_again([&] { r[0].ask({"FLUSHALL"}); });

    BOOST_TEST((attempt(b) == errc::quarantined));
}

BOOST_FIXTURE_TEST_CASE(acquire_after_swapdb_on_a_durable_node_is_quarantined, durable_server)
{
    have_both_greet_again([&] { r[0].ask({"SWAPDB", "0", "1"}); });

    BOOST_TEST((attempt(b) == errc::quarantined));
}

BOOST_FIXTURE_TEST_CASE(acquire_on_an_empty_disk_in_place_of_a_durable_one_is_quarantined, durable_server)
{
    have_both_greet_again([&] { restart(empty_folder); });

    BOOST_TEST((attempt(b) == errc::quarantined));
}

BOOST_FIXTURE_TEST_CASE(acquire_on_a_restored_older_snapshot_is_quarantined, durable_server)
{
    testbed::temporary_folder snapshot;
    BOOST_TEST(!r.release(held));
    have_both_greet_again([&] { restart([&](auto const& folder) { copy_folder(folder, snapshot.path); }); });
    hold();

    have_both_greet_again([&] {
        restart([&](auto const& folder) {
            empty_folder(folder);
            copy_folder(snapshot.path, folder);
        });
    });

    BOOST_TEST((attempt(b) == errc::quarantined));
}

BOOST_FIXTURE_TEST_CASE(acquire_after_replicaof_another_and_back_is_quarantined, durable_server)
{
    local_server other;
    have_both_greet_again([&] {
        r[0].ask({"REPLICAOF", "127.0.0.1", std::to_string(other.port())});
        BOOST_TEST(r.run_to([&] {
            return r[0].ask({"INFO", "replication"}).find("master_link_status:up") != std::string::npos;
        }));
        r[0].ask({"REPLICAOF", "NO", "ONE"});
    });

    BOOST_TEST((attempt(b) == errc::quarantined));
}

BOOST_FIXTURE_TEST_CASE(acquire_after_replicaof_its_own_replica_and_back_is_quarantined, durable_server)
{
    local_server replica;
    auto const follow = [&](local_server& one, local_server const& master) {
        one.ask({"REPLICAOF", "127.0.0.1", std::to_string(master.port())});
        BOOST_TEST(r.run_to([&] {
            return one.ask({"INFO", "replication"}).find("master_link_status:up") != std::string::npos;
        }));
    };
    follow(replica, r[0]);
    BOOST_TEST((attempt(b) == errc::contended));  // a new replica changes nothing for the master
    have_both_greet_again([&] {
        replica.ask({"REPLICAOF", "NO", "ONE"});
        follow(r[0], replica);
        r[0].ask({"REPLICAOF", "NO", "ONE"});
    });

    BOOST_TEST((attempt(b, "another") == errc::quarantined));  // another lock, because the held one is denied
}

BOOST_FIXTURE_TEST_CASE(acquire_after_an_ordinary_restart_of_a_durable_node_is_answered, durable_server)
{
    have_both_greet_again([&] { restart([](auto const&) {}); });

    BOOST_TEST((attempt(a) == errc::contended));
    BOOST_TEST((attempt(b) == errc::contended));
    BOOST_TEST(!logged("its record"));
}

BOOST_FIXTURE_TEST_CASE(acquire_under_a_new_eviction_policy_is_refused, durable_server)
{
    r[0].ask({"CONFIG", "SET", "maxmemory", "100mb"});
    r[0].ask({"CONFIG", "SET", "maxmemory-policy", "allkeys-lru"});

    BOOST_TEST(r.run_to([&] {
        auto const o = r.acquire(b, "stock", {.ttl = 10s});
        return o.ec == errc::no_quorum && o.report.nodes[0].error == errc::node_may_evict;
    }));
}

BOOST_FIXTURE_TEST_CASE(acquire_after_script_flush_keeps_the_connection, durable_server)
{
    auto const of_b = connections(b);
    r[0].ask({"SCRIPT", "FLUSH"});
    auto const before = carried_out(r[0], "evalsha");
    BOOST_TEST(r.run_to([&] { return carried_out(r[0], "evalsha") > before + 4; }));  // two heartbeats of each manager

    BOOST_TEST((attempt(b) == errc::contended));
    BOOST_TEST(connections(b) == of_b);
}

BOOST_AUTO_TEST_CASE(connect_with_other_settings_warns_once_of_each_difference)
{
    real_servers r(3);
    std::vector<std::string> lines;
    auto ours = r.settings(), theirs = r.settings({.max_ttl = 50s, .restart_guard = restart_guard::off});
    ours.log = [&](log_level, std::string_view line) {
        if (line.find("another client") != line.npos)
            lines.emplace_back(line.substr(line.find(": ") + 2));
    };
    ending_manager a(r, ours);
    r.connect(a);
    BOOST_TEST(!r.attempt(ours, {.wait = 5s}).ec);  // with the same settings
    BOOST_TEST(lines.empty());

    ending_manager b(r, theirs);
    r.connect(b);
    auto const before = carried_out(r[0], "evalsha");
    // Two heartbeats of each manager.
    BOOST_TEST(r.run_to([&] { return lines.size() >= 2 && carried_out(r[0], "evalsha") > before + 6; }));

    std::sort(lines.begin(), lines.end());
    std::string const where = "; see docs/guarantees.md, \"What all clients must have alike\"";
    std::vector<std::string> const expected{
        "another client has used max_ttl=50000 within the last hour, this one 60000" + where,
        "another client has used restart_guard=off within the last hour, this one automatic" + where};
    BOOST_TEST(lines == expected, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(acquire_without_a_record_leaves_none)
{
    real_servers r(1);
    r[0].ask({"FLUSHALL"});
    BOOST_TEST(!r.attempt(r.settings({.restart_guard = restart_guard::off, .record = false}), {.wait = 5s}).ec);
    BOOST_TEST(r[0].ask({"EXISTS", "lock::=record", "lock::=clients"}) == "0");
    BOOST_TEST(!r.attempt(r.settings(), {.wait = 5s}).ec);
    BOOST_TEST(r[0].ask({"EXISTS", "lock::=record"}) == "1");
    BOOST_TEST(r[0].ask({"GET", "lock::=clients"}).find(" nodes=1 max_ttl=60000 ") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(acquire_by_a_user_who_may_not_keep_the_record_names_the_right)
{
    real_servers r(1);
    r[0].ask({"ACL", "SETUSER", "clerk", "on", ">secret", "~lock:stock*", "~lock:=trial*", "+@all"});
    r[0].ask({"ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-@dangerous"});
    for (std::string const user : {"clerk", "app"}) {
        manager_options c{.nodes = {"redis://" + user + ":secret@127.0.0.1:" + std::to_string(r[0].port())},
                          .node_timeout = busy_timeout};
        auto const refused = r.attempt(c, {.wait = 1s}).report.nodes.at(0);
        BOOST_TEST((refused.error == errc::permission_denied), user);
        BOOST_TEST(refused.message.find("+pttl and the keys lock::=record and lock::=clients") != std::string::npos,
                   refused.message);
        c.restart_guard = restart_guard::off;
        BOOST_TEST(!r.attempt(c, {.wait = 5s}).ec, user);
    }
}

BOOST_AUTO_TEST_SUITE_END()
