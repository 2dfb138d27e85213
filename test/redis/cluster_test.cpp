// A cluster as one node: slots that move, masters that die, sets of names in several slots.

#include "stores/redis/scripts.hpp"
#include "support/certificates.hpp"
#include "support/one_node.hpp"
#include "support/quarantine.hpp"
#include "support/real_servers.hpp"
#include "bed/redis_cluster.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using testbed::redis_cluster;

BOOST_AUTO_TEST_SUITE(cluster)

namespace {

real_servers::outcome acquire_set(real_servers& r, lock_manager& locks, resource_set names, bool any = false)
{
    real_servers::outcome o;
    acquire_options const options{.ttl = 5s, .explain = true};
    auto const done = [&](error_code ec, lock held) {
        o.ec = ec;
        o.report = *held.report();
        o.held = std::move(held);
        o.done = true;
    };
    if (any)
        locks.async_acquire_any(names, options, done);
    else
        locks.async_acquire(names, options, done);
    BOOST_TEST(r.run_to([&] { return o.done; }));
    return o;
}

std::string name_at(redis_cluster& c, std::size_t i, std::string const& begin = "stock")
{
    for (int n = 0;; ++n) {
        auto name = begin + std::to_string(n);
        if (c.owner("lock:" + name) == i)
            return name;
    }
}

/// Makes the records two minutes older. A manager must have been connected to each master before.
void let_masters_age(redis_cluster& c, std::size_t masters = 3)
{
    for (std::size_t i = 0; i < masters; ++i) {
        auto const records = c[i].ask({"KEYS", "lock::=record{*"});
        BOOST_TEST_REQUIRE(!records.empty());
        BOOST_TEST(c[i].ask({"PEXPIRE", records.substr(0, records.find('\n')), "315359880000"}) == "1");
    }
}

/// A cluster of three masters. A manager was connected to each of them two minutes ago.
struct old_masters {
    old_masters()
    {
        lock_manager first(r.context, voting);
        for (std::size_t i = 0; i < 3; ++i)
            BOOST_TEST(!r.release(r.acquire(first, name_at(c, i), {.ttl = 5s, .wait = 10s}).held));
        r.shutdown(first);
        let_masters_age(c);
    }

    redis_cluster c{3, 0, {"--cluster-require-full-coverage", "no"}};
    real_servers r{0};
    manager_options const voting = settings(c.url(), {.max_ttl = 60s});
};

/// One cluster for all cases that leave it intact.
redis_cluster& shared_cluster()
{
    static redis_cluster c;
    return c;
}

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_in_a_cluster_sets_the_key_on_the_master_of_its_slot)
{
    auto& c = shared_cluster();
    real_servers r(0);
    ending_manager locks(r, trusting(c.url())), other(r, trusting(c.url()));
    r.connect(locks);
    r.connect(other);
    std::vector<lock> held;
    for (std::size_t i = 0; i < 3; ++i) {
        auto const name = name_at(c, i);
        auto won = r.acquire(locks, name, {.ttl = 60s});
        BOOST_REQUIRE(!won.ec);
        BOOST_TEST(c[i].ask({"EXISTS", "lock:" + name}) == "1");
        BOOST_TEST((r.acquire(other, name).ec == errc::contended));
        BOOST_TEST(!r.extend(won.held, 60s));
        held.push_back(std::move(won.held));
    }
    BOOST_TEST(locks.stats().nodes[0].name == c.url());
    BOOST_TEST(locks.stats().nodes[0].notifies);

    real_servers::outcome next;
    auto const name = held[1].resource();
    r.start_acquire(next, other, name, {.wait = 20s});
    r.context.run_for(100ms);
    for (auto& l : held)
        BOOST_TEST(!r.release(l));
    BOOST_TEST(r.run_to([&] { return next.done; }));
    BOOST_TEST(!next.ec);
    BOOST_TEST(!r.release(next.held));
}

BOOST_AUTO_TEST_CASE(acquire_of_a_set_in_several_slots_reports_unsupported)
{
    auto& c = shared_cluster();
    real_servers r(0);
    auto settings = trusting(c.url());
    settings.fencing = servers_fence();
    ending_manager locks(r, settings);
    r.connect(locks);

    auto const apart = acquire_set(r, locks, {name_at(c, 0), name_at(c, 1)});
    BOOST_TEST((apart.ec == errc::no_quorum));
    BOOST_TEST_REQUIRE(apart.report.nodes.size() == 1u);
    BOOST_TEST((apart.report.nodes[0].error == errc::unsupported));
    BOOST_TEST(
        says(apart.report.message, "those that share a hash tag, such as {order}:7 and {order}:stock, are in one"));
    auto together = acquire_set(r, locks, {"{order}:7", "{order}:stock", "{order}"});
    BOOST_TEST(!together.ec);
    BOOST_TEST(!r.release(together.held));
    auto any = acquire_set(r, locks, slots("{relay}", 3), true);
    BOOST_TEST(!any.ec);
    BOOST_TEST(!r.release(any.held));
}

BOOST_AUTO_TEST_CASE(extend_during_and_after_a_slot_migration_succeeds)
{
    auto& c = shared_cluster();
    real_servers r(0);
    ending_manager locks(r, trusting(c.url())), other(r, trusting(c.url()));
    auto const name = name_at(c, 0), key = "lock:" + name;
    auto won = r.acquire(locks, name, {.ttl = 60s, .wait = 10s});
    BOOST_REQUIRE(!won.ec);
    r.connect(other);

    c.begin_to_move(key, 0, 1);
    BOOST_TEST(!r.extend(won.held, 60s));
    c.end_moving(key, 0, 1);
    BOOST_TEST(!r.extend(won.held, 60s));
    BOOST_TEST((r.acquire(other, name).ec == errc::contended));

    BOOST_TEST(c[1].ask({"EXISTS", key}) == "1");
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(c[1].ask({"EXISTS", key}) == "0");
}

BOOST_AUTO_TEST_CASE(acquire_with_a_dead_master_fails_only_in_its_slots)
{
    redis_cluster c(3, 0, {"--cluster-require-full-coverage", "no"});
    real_servers r(0);
    lock_manager locks(r.context, trusting(c.url()));
    r.connect(locks);
    auto const away = name_at(c, 0), here = name_at(c, 1), there = name_at(c, 2);
    auto held = r.acquire(locks, here, {.ttl = 60s});
    BOOST_REQUIRE(!held.ec);
    c[0].kill();

    BOOST_TEST(r.run_to(
        [&] { return r.acquire(locks, away, {.ttl = 5s}).report.nodes.at(0).error == errc::node_unreachable; }));
    BOOST_TEST(!r.extend(held.held, 60s));
    BOOST_TEST(r.run_to([&] { return !r.acquire(locks, there, {.ttl = 5s, .wait = 1s}).ec; }));
    lock_manager late(r.context, trusting(c.url()));  // it asks the dead master first
    BOOST_TEST(r.run_to([&] { return r.acquire(late, here, {.ttl = 5s}).ec == errc::contended; }));
    c[0].start();
    BOOST_TEST(r.run_to([&] { return !r.acquire(locks, away, {.ttl = 5s, .wait = 1s}).ec; }));
    BOOST_TEST(!r.release(held.held));
    shut_down_and_skip_time(r, locks);
    shut_down_and_skip_time(r, late);
}

BOOST_AUTO_TEST_CASE(acquire_in_a_cluster_that_is_down_reports_clusterdown)
{
    redis_cluster c;
    real_servers r(0);
    lock_manager locks(r.context, trusting(c.url()));
    r.connect(locks);
    auto const here = name_at(c, 1);
    c[0].kill();

    BOOST_TEST(r.run_to(
        [&] { return r.acquire(locks, here, {.ttl = 5s}).report.message.find("CLUSTERDOWN") != std::string::npos; }));
    c[0].start();
    BOOST_TEST(r.run_to([&] { return !r.acquire(locks, here, {.ttl = 5s, .wait = 1s}).ec; }));
    shut_down_and_skip_time(r, locks);
}

BOOST_AUTO_TEST_CASE(acquire_in_slots_of_a_promoted_replica_is_quarantined)
{
    redis_cluster c(3, 1);
    real_servers r(0);
    auto const voting = settings(c.url(), {.max_ttl = 60s});
    lock_manager locks(r.context, voting);
    auto const moved = name_at(c, 0), beside = name_at(c, 0, "order"), other = name_at(c, 1);
    for (std::size_t i = 0; i < 3; ++i)
        BOOST_TEST(!r.release(acquire_after_quarantine(r, locks, name_at(c, i), {.ttl = 5s}).held));
    auto held = r.acquire(locks, moved, {.ttl = 10s, .wait = 5s});
    BOOST_REQUIRE(!held.ec);
    c[0].kill();

    auto const promoted = [&] { return c[3].ask({"ROLE"}).starts_with("master"); };
    BOOST_TEST(r.run_to([&] { return promoted(); }, 60s));
    c[3].ask({"DEL", "lock:" + moved});  // simulates a lock that was not replicated
    lock_manager late(r.context, voting);
    wait_for_quarantine(r, late, moved, {.ttl = 5s});
    wait_for_quarantine(r, locks, beside, {.ttl = 5s});
    BOOST_TEST(!r.release(r.acquire(locks, other, {.ttl = 5s, .wait = 5s}).held));
    BOOST_TEST(!r.release(acquire_after_quarantine(r, late, other, {.ttl = 5s}).held));  // its master is older
    wait_for_quarantine(r, late, moved, {.ttl = 5s});
    auto won = acquire_after_quarantine(r, late, moved, {.ttl = 5s, .renew = renewal::automatic});
    BOOST_TEST(!won.ec);
    BOOST_TEST(!held.held.held());
    BOOST_TEST(r.run_to([&] { return acquire_after_quarantine(r, locks, moved, {.ttl = 5s}).ec == errc::contended; }));
    shut_down_and_skip_time(r, locks);
    shut_down_and_skip_time(r, late);
}

BOOST_AUTO_TEST_CASE(record_script_answers_when_each_slot_came)
{
    redis_cluster c(1);
    auto& s = c[0];
    auto const record = [&](std::string const& vouched = {}) {
        auto said = s.ask({"EVAL", std::string(stores::redis::record_script.source), "2", "lock::=record{2}",
                           "lock::=clients{2}", std::string(stores::redis::record_kept), "beef", "", "60000", "", "",
                           'c' + vouched});
        for (int line = 0; line < 4; ++line)
            said.erase(0, said.find('\n') + 1);
        return said.substr(0, said.find('\n'));
    };
    s.ask({"CONFIG", "SET", "cluster-require-full-coverage", "no"});
    s.ask({"CLUSTER", "DELSLOTS", "5", "6", "9"});
    BOOST_TEST(record() == "0-4:0 7-8:0 10-16383:0");
    s.ask({"PEXPIRE", "lock::=record{2}", "315359880000"});  // makes the record two minutes older

    s.ask({"CLUSTER", "ADDSLOTS", "5", "6"});
    auto const later = record();
    BOOST_TEST(later.starts_with("0-4:0 5-6:12"));
    BOOST_TEST(later.ends_with(" 7-8:0 10-16383:0"));
    BOOST_TEST(record() == later);
    BOOST_TEST(record("6-6 9-9").find(" 6-8:0 10-16383:0") != std::string::npos);
    s.ask({"CLUSTER", "DELSLOTS", "6"});
    record();
    s.ask({"CLUSTER", "ADDSLOTS", "6"});
    BOOST_TEST(record().find(" 6-6:12") != std::string::npos);  // the slot had left for a while, so it is young again
    s.ask({"DEL", "lock::=record{2}"});
    BOOST_TEST(record() == "0-8:0 10-16383:0");
}

BOOST_FIXTURE_TEST_CASE(acquire_in_slot_of_dead_master_given_to_old_one_waits, old_masters)
{
    lock_manager locks(r.context, voting);
    auto const taken = name_at(c, 2), other = name_at(c, 0);
    auto held = r.acquire(locks, taken, {.ttl = 30s, .wait = 10s});
    BOOST_REQUIRE(!held.ec);
    // The manager is connected to the master that gets the slot.
    BOOST_TEST(!r.release(r.acquire(locks, other, {.ttl = 5s, .wait = 10s}).held));
    c[2].kill();
    c.wait_for_failure(2);
    c.give("lock:" + taken, 0);

    lock_manager late(r.context, voting);
    wait_for_quarantine(r, late, taken, {.ttl = 5s});
    BOOST_TEST(!r.release(r.acquire(late, other, {.ttl = 5s, .wait = 10s}).held));  // this slot has not moved
    wait_for_quarantine(r, locks, taken, {.ttl = 5s});
    lock_manager later(r.context, voting);
    wait_for_quarantine(r, later, taken, {.ttl = 5s});
    auto const won = acquire_after_quarantine(r, late, taken, {.ttl = 5s, .renew = renewal::automatic});
    BOOST_TEST(!won.ec);
    BOOST_TEST(!held.held.held());
    for (auto* const m : {&locks, &late, &later})
        shut_down_and_skip_time(r, *m);
}

BOOST_FIXTURE_TEST_CASE(acquire_in_slot_handed_over_by_living_master_succeeds, old_masters)
{
    ending_manager locks(r, voting);
    auto const name = name_at(c, 0), idle = name_at(c, 0, "order");
    auto won = r.acquire(locks, name, {.ttl = 60s, .wait = 10s});
    BOOST_REQUIRE(!won.ec);
    for (auto const& moved : {name, idle}) {
        c.begin_to_move("lock:" + moved, 0, 1);
        c.end_moving("lock:" + moved, 0, 1);
    }
    BOOST_TEST(!r.extend(won.held, 60s));

    BOOST_TEST(r.run_to([&] {  // the manager that saw the hand-over vouches for both slots
        lock_manager late(r.context, voting);
        bool const granted = !r.release(r.acquire(late, idle, {.ttl = 5s}).held);
        BOOST_TEST((r.acquire(late, name).ec != error_code()));
        r.shutdown(late);
        return granted;
    }));
    BOOST_TEST(!r.extend(won.held, 60s));
    BOOST_TEST(!r.release(won.held));
    ending_manager late(r, voting);
    BOOST_TEST(!r.acquire(late, name, {.ttl = 5s, .wait = 5s}).ec);
}

BOOST_AUTO_TEST_CASE(acquire_on_two_addresses_of_a_cluster_reports_duplicate_node)
{
    auto& c = shared_cluster();
    real_servers r(0);
    auto settings = trusting(c.url());
    settings.nodes.push_back("redis-cluster://127.0.0.1:" + std::to_string(c[2].port()));
    ending_manager locks(r, settings);
    BOOST_TEST(r.run_to([&] {
        r.release(r.acquire(locks, "stock").held);
        auto const nodes = locks.stats().nodes;
        return nodes[0].last_error == errc::duplicate_node || nodes[1].last_error == errc::duplicate_node;
    }));
}

BOOST_AUTO_TEST_CASE(acquire_in_a_cluster_with_wrong_settings_names_the_mistake)
{
    local_server alone;
    BOOST_TEST(says(report_with_error(trusting("redis-cluster://127.0.0.1:" + std::to_string(alone.port())),
                                      errc::unsupported_server)
                        .message,
                    "no member tells of the cluster: 127.0.0.1:" + std::to_string(alone.port())
                        + ": this is no member of a cluster"));
    auto const nobody = std::to_string(testbed::free_port());
    BOOST_TEST(says(report_with_error(trusting("redis-cluster://127.0.0.1:" + nobody), errc::node_unreachable).message,
                    "127.0.0.1:" + nobody + ": Connection refused"));

    redis_cluster c;
    for (std::size_t i = 0; i < 3; ++i) {
        c[i].ask({"ACL",          "SETUSER",     "locks",         "on",       ">pass-word",
                  "~lock:*",      "-@all",       "+hello",        "+set",     "+evalsha",
                  "+script|load", "+get",        "+del",          "+pexpire", "+pttl",
                  "+info",        "+config|get", "+command|list", "+ping",    "+cluster|nodes"});
        c[i].ask({"ACL", "SETUSER", "default", "off"});
    }
    BOOST_TEST(says(report_with_error(trusting(c.url()), errc::authentication_failed).message, "NOAUTH"));
    BOOST_TEST(says(report_with_error(trusting(c.url("locks:pass-word2@")), errc::authentication_failed).message,
                    "WRONGPASS"));
    real_servers r(0);
    auto const o = r.attempt(trusting(c.url("locks:pass-word@")), {.wait = 10s});
    BOOST_TEST_INFO(o.report.message);
    BOOST_TEST(!o.ec);
}

// The certificate has no address, and the member announces both.
BOOST_AUTO_TEST_CASE(acquire_in_a_tls_cluster_verifies_the_announced_host_name)
{
    certificates c;
    c.sign("named", "DNS:localhost");
    // The port for the other members is 10,000 higher.
    auto const port = std::to_string(testbed::free_port(55'535));
    redis_cluster s(1, 0,
                    {"--tls-port", port, "--tls-cluster", "yes", "--tls-cert-file", c.file("named.pem"),
                     "--tls-key-file", c.file("named.key"), "--tls-ca-cert-file", c.file("ca.pem"),
                     "--tls-auth-clients", "no", "--cluster-announce-ip", "127.0.0.1"});
    if (s[0].ask({"CONFIG", "SET", "cluster-announce-hostname", "localhost"}) != "OK")
        return;  // Redis 7 is needed
    auto trusted = trusting("rediss-cluster://localhost:" + port);
    trusted.tls.ca_file = c.file("ca.pem");
    real_servers r(0);
    auto won = r.attempt(trusted, {.wait = 10s});
    BOOST_TEST_INFO(won.report.message);
    BOOST_TEST(!won.ec);

    s[0].ask({"CONFIG", "SET", "cluster-announce-hostname", "unknown.invalid"});
    BOOST_TEST(r.attempt(trusted, {.wait = 300ms}).ec.failed());
    trusted.nodes[0] += "?map=unknown.invalid:" + port + "=localhost:" + port;
    won = r.attempt(trusted, {.wait = 10s});
    BOOST_TEST_INFO(won.report.message);
    BOOST_TEST(!won.ec);
}

// Rule 11 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(context_destruction_while_a_cluster_is_in_use_is_safe)
{
    auto& s = shared_cluster();
    end_contexts_early(trusting(s.url()));
}

BOOST_AUTO_TEST_SUITE_END()
