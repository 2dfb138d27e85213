// Masters that Sentinels name: failovers, and Sentinels that die or do not know the master.

#include "support/certificates.hpp"
#include "support/one_node.hpp"
#include "support/quarantine.hpp"
#include "support/real_servers.hpp"
#include "bed/proxy.hpp"
#include "bed/sentinel_set.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using testbed::sentinel_set;

BOOST_AUTO_TEST_SUITE(sentinel)

namespace {

/// Sentinels of Redis 6.0 have no access lists.
auto only_with_access_lists_of_sentinels()
{
    return boost::unit_test::precondition(
        [](boost::unit_test::test_unit_id) { return boost::test_tools::assertion_result(servers_fence()); });
}

/// A manager. The constructor waits until the master votes.
struct manager {
    manager(real_servers& servers, std::string url, std::chrono::milliseconds max_ttl)
        : r(servers), locks(r.context, settings(std::move(url), {.max_ttl = max_ttl}))
    {
        r.release(acquire_after_quarantine(r, locks, "warm-up", {.ttl = max_ttl}).held);
    }
    ~manager() { r.shutdown(locks); }

    real_servers& r;
    lock_manager locks;
};

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_over_sentinels_uses_the_named_master)
{
    sentinel_set s;
    real_servers r(0);
    std::vector<std::string> warnings;
    auto c = trusting(s.url());
    c.log = [&](log_level l, std::string_view what) {
        if (l == log_level::warning)
            warnings.emplace_back(what);
    };
    ending_manager locks(r, c);
    auto won = r.acquire(locks, "stock", {.wait = 10s});
    BOOST_REQUIRE(!won.ec);

    BOOST_TEST(s.server(0).ask({"EXISTS", "lock:stock"}) == "1");
    BOOST_TEST(locks.stats().nodes[0].name == s.url());
    BOOST_TEST((r.acquire(locks, "stock").ec == errc::contended));
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(std::count_if(warnings.begin(), warnings.end(),
                             [](auto& w) { return w.find("a failover may lose locks") != w.npos; })
               == 1);
}

BOOST_AUTO_TEST_CASE(acquire_on_a_new_master_is_quarantined)
{
    sentinel_set s({.replicas = 0});
    real_servers r(0);
    ending_manager first(
        r, settings(s.url(), {.node_timeout = 1s, .max_ttl = 1500ms, .restart_guard = restart_guard::strict}));

    BOOST_TEST(r.run_to([&] { return r.acquire(first, "stock", {.ttl = 1200ms}).ec == errc::quarantined; }));
    BOOST_TEST(!acquire_after_quarantine(r, first, "stock", {.ttl = 1200ms}).ec);
    // Makes the record two minutes older.
    BOOST_TEST(s.server(0).ask({"PEXPIRE", "lock::=record", "315359880000"}) == "1");

    ending_manager second(
        r, settings(s.url(), {.node_timeout = 1s, .max_ttl = 1500ms, .restart_guard = restart_guard::strict}));
    BOOST_TEST(!r.acquire(second, "order", {.ttl = 1200ms, .wait = 20s}).ec);
    BOOST_TEST(second.stats().quarantined == 0u);  // the record is old enough
}

BOOST_AUTO_TEST_CASE(acquire_after_a_failover_is_quarantined_and_has_one_holder)
{
    sentinel_set s;
    real_servers r(0);
    manager a(r, s.url(), 60s);
    auto held = r.acquire(a.locks, "stock", {.ttl = 6s, .wait = 10s});
    BOOST_REQUIRE(!held.ec);
    s.fail_over();
    s.server(1).ask({"DEL", "lock:stock"});  // simulates a lock that was not replicated

    ending_manager late(r, settings(s.url(), {.max_ttl = 60s}));
    auto const refused = wait_for_quarantine(r, late, "stock", {.ttl = 5s});
    BOOST_TEST((refused.report.quarantine > 30s && refused.report.quarantine <= 70s));
    auto won = acquire_after_quarantine(r, late, "stock", {.ttl = 6s, .renew = renewal::automatic});

    BOOST_REQUIRE(!won.ec);
    BOOST_TEST(!held.held.held());
    BOOST_TEST(s.server(1).ask({"EXISTS", "lock:stock"}) == "1");
    BOOST_TEST(r.run_to([&] { return a.locks.stats().nodes[0].connected; }));
    auto const again = acquire_after_quarantine(r, a.locks, "stock", {.ttl = 5s});
    BOOST_TEST_INFO(again.report.message);
    BOOST_TEST((again.ec == errc::contended));
    BOOST_TEST(!r.release(won.held));
}

// A network partition: one Sentinel and the old master are on one side, the other Sentinel and the new master on the
// other side.
BOOST_AUTO_TEST_CASE(acquire_with_a_sentinel_that_is_cut_off_has_one_holder, *only_with_access_lists_of_sentinels())
{
    sentinel_set s({.sentinels = 0});
    // The first Sentinel may not use the channels of the servers, so only the other Sentinel itself can inform it.
    for (std::size_t i = 0; i < 2; ++i)
        BOOST_TEST(s.server(i).ask({"ACL", "SETUSER", "apart", "on", ">pass-word", "~*", "+@all", "resetchannels"})
                   == "OK");
    auto const& late_one =
        s.add_sentinel(s.server(0).port(), {"sentinel auth-user stock apart", "sentinel auth-pass stock pass-word"});
    testbed::proxy between({{.port = s.server(0).port()}, {.port = late_one.port()}});
    between.start();
    auto const& other = s.add_sentinel(between.port(0));
    auto const first_master = std::to_string(s.server(0).port());
    other.ask({"PUBLISH", "__sentinel__:hello",
               "127.0.0.1," + std::to_string(between.port(1)) + ',' + late_one.ask({"SENTINEL", "MYID"})
                   + ",0,stock,127.0.0.1," + first_master + ",0"});
    auto const url_of = [](local_server const& sentinel) {
        return "redis-sentinel://127.0.0.1:" + std::to_string(sentinel.port()) + "/stock";
    };
    real_servers r(0);
    manager a(r, url_of(late_one), 60s);
    auto held = r.acquire(a.locks, "stock", {.ttl = 60s, .wait = 10s});
    BOOST_REQUIRE(!held.ec);
    BOOST_TEST(r.run_to([&] {
        return late_one.ask({"SENTINEL", "MASTER", "stock"}).find("num-other-sentinels\n1\n") != std::string::npos;
    }));

    between.set_all(testbed::fault::half_open);
    s.fail_over(1);
    s.server(1).ask({"DEL", "lock:stock"});  // simulates a lock that was not replicated
    ending_manager b(r, settings(url_of(other), {.max_ttl = 60s}));
    wait_for_quarantine(r, b, "stock", {.ttl = 5s});
    skip_idle_time(r, a.locks, 8s);
    BOOST_TEST(!r.extend(held.held, 60s));  // on the old master
    between.set_all(testbed::fault::none);
    s.wait_for_another(first_master);
    auto const won = acquire_after_quarantine(r, b, "stock", {.ttl = 5s, .renew = renewal::automatic});

    BOOST_TEST(!won.ec);
    BOOST_TEST(!held.held.held());
}

BOOST_AUTO_TEST_CASE(acquire_after_the_master_dies_or_hangs_uses_the_new_master)
{
    testbed::sentinel_options const o{.sentinels = 3, .down_after_ms = "1000"};
    sentinel_set sets[] = {sentinel_set(o), sentinel_set(o)};
    real_servers r(0);
    std::vector<std::unique_ptr<lock_manager>> managers;
    std::vector<local_server*> old, other;
    for (auto& s : sets) {
        managers.push_back(std::make_unique<lock_manager>(r.context, trusting(s.url())));
        r.connect(*managers.back());
        bool const is_first = s.master() == std::to_string(s.server(0).port());
        old.push_back(&s.server(is_first ? 0 : 1));
        other.push_back(&s.server(is_first ? 1 : 0));
    }
    old[0]->kill();
    old[1]->pause();

    for (std::size_t i = 0; i < 2; ++i) {
        BOOST_TEST(r.run_to([&] { return !r.acquire(*managers[i], "stock", {.ttl = 10s, .wait = 1s}).ec; }, 60s));
        BOOST_TEST(other[i]->ask({"ROLE"}).starts_with("master"));
    }
    old[1]->resume();
    for (auto& m : managers)
        shut_down_and_skip_time(r, *m);
}

BOOST_AUTO_TEST_CASE(acquire_on_a_restarted_master_is_quarantined)
{
    sentinel_set s({.replicas = 0});
    real_servers r(0);
    manager a(r, s.url(), 60s);
    auto held = r.acquire(a.locks, "stock", {.ttl = 5s, .wait = 10s});
    BOOST_REQUIRE(!held.ec);
    s.server(0).kill();
    s.server(0).start();

    lock_manager late(r.context, settings(s.url(), {.max_ttl = 60s, .restart_guard = restart_guard::strict}));
    wait_for_quarantine(r, late, "stock", {.ttl = 4s});
    wait_for_quarantine(r, a.locks, "stock", {.ttl = 4s});
    auto won = acquire_after_quarantine(r, late, "stock", {.ttl = 4s});
    BOOST_TEST(!won.ec);
    BOOST_TEST(!held.held.held());
    shut_down_and_skip_time(r, late);
}

BOOST_AUTO_TEST_CASE(acquire_and_extend_with_dead_sentinels_succeed)
{
    sentinel_set s({.sentinels = 2});
    real_servers r(0);
    s.sentinel(0).kill();
    ending_manager locks(r, trusting(s.url()));
    auto won = r.acquire(locks, "stock", {.ttl = 60s, .wait = 10s});
    BOOST_REQUIRE(!won.ec);

    s.sentinel(1).kill();
    BOOST_TEST(says(report_with_error(trusting(s.url()), errc::node_unreachable).message,
                    "no Sentinel tells who the master is: 127.0.0.1:"));
    BOOST_TEST(!r.extend(won.held, 60s));
    BOOST_TEST(locks.stats().nodes[0].connections == 1u);
    BOOST_TEST(!r.release(won.held));
}

BOOST_AUTO_TEST_CASE(acquire_over_sentinels_with_wrong_settings_names_the_mistake)
{
    sentinel_set s({.replicas = 0, .settings = {"requirepass pass-word"}});
    BOOST_TEST(says(report_with_error(trusting(s.url()), errc::authentication_failed).message, "NOAUTH"));
    BOOST_TEST(says(
        report_with_error(trusting(s.url("/stock?sentinel_password=pass-word2")), errc::authentication_failed).message,
        "WRONGPASS"));
    BOOST_TEST(
        says(report_with_error(trusting(s.url("/shop?sentinel_password=pass-word")), errc::node_unreachable).message,
             "no master by the name \"shop\""));
    auto const server = "redis-sentinel://127.0.0.1:" + std::to_string(s.server(0).port()) + "/stock";
    BOOST_TEST(says(report_with_error(trusting(server), errc::unsupported_server).message, "this is no Sentinel"));

    real_servers r(0);
    BOOST_TEST(
        !r.attempt(trusting(s.url("/stock?db=3&sentinel_user=default&sentinel_password=pass-word")), {.wait = 10s}).ec);
    s.server(0).ask({"CONFIG", "SET", "requirepass", "pass-word3"});
    BOOST_TEST(says(
        report_with_error(trusting(s.url("/stock?sentinel_password=pass-word")), errc::authentication_failed).message,
        "NOAUTH"));
    BOOST_TEST(!r.attempt(trusting(s.url("/stock?sentinel_password=pass-word", "redis-sentinel://:pass-word3@")),
                          {.wait = 10s})
                    .ec);
}

BOOST_AUTO_TEST_CASE(acquire_over_sentinels_with_least_permissions_succeeds, *only_with_access_lists_of_sentinels())
{
    sentinel_set s({.replicas = 0, .settings = {"user asks on >pass-word +hello +sentinel|get-master-addr-by-name"}});
    auto const said = s.server(0).ask({"ACL", "SETUSER", "locks", "on", ">pass-word2", "~lock:*", "-@all", "+hello",
                                       "+set", "+evalsha", "+script|load", "+get", "+del", "+pexpire", "+pttl", "+info",
                                       "+config|get", "+command|list", "+ping"});
    BOOST_TEST(said == "OK");
    real_servers r(0);
    auto const o = r.attempt(
        trusting(s.url("/stock?sentinel_user=asks&sentinel_password=pass-word", "redis-sentinel://locks:pass-word2@")),
        {.wait = 10s});
    BOOST_TEST_INFO(o.report.message);
    BOOST_TEST(!o.ec);
}

BOOST_AUTO_TEST_CASE(acquire_on_two_addresses_of_a_master_reports_duplicate_node)
{
    sentinel_set s({.replicas = 0, .sentinels = 2});
    auto const second = "redis-sentinel://127.0.0.1:" + std::to_string(s.sentinel(1).port()) + "/stock";
    for (auto const& other : {second, s.server(0).url()}) {
        real_servers r(0);
        lock_manager locks(
            r.context, {.nodes = {s.url(), other}, .node_timeout = busy_timeout, .restart_guard = restart_guard::off});
        BOOST_TEST(r.run_to([&] {
            r.release(r.acquire(locks, "stock").held);
            auto const nodes = locks.stats().nodes;
            return nodes[0].last_error == errc::duplicate_node || nodes[1].last_error == errc::duplicate_node;
        }));
        r.shutdown(locks);
    }
}

BOOST_AUTO_TEST_CASE(acquire_over_sentinels_with_tls_succeeds)
{
    certificates c;
    auto const master = std::to_string(testbed::free_port()), port = std::to_string(testbed::free_port());
    std::vector<std::string> const files{
        "tls-cert-file",    c.file("server.pem"), "tls-key-file",     c.file("server.key"),
        "tls-ca-cert-file", c.file("ca.pem"),     "tls-auth-clients", "no"};
    testbed::sentinel_options o{.replicas = 0,
                                .servers = {"--tls-port", master},
                                .settings = {"tls-port " + port, "tls-replication yes"},
                                .port = master};
    for (std::size_t i = 0; i < files.size(); i += 2) {
        o.servers.insert(o.servers.end(), {"--" + files[i], files[i + 1]});
        o.settings.push_back(files[i] + ' ' + files[i + 1]);
    }
    sentinel_set s(o);
    auto trusted = trusting("rediss-sentinel://localhost:" + port + "/stock");
    trusted.tls.ca_file = c.file("ca.pem");
    real_servers r(0);

    auto const won = r.attempt(trusted, {.wait = 10s});

    BOOST_TEST_INFO(won.report.message);
    BOOST_TEST(!won.ec);
    // Only the server uses TLS; then only the Sentinel, and the server has another address than the Sentinel says.
    auto mixed = trusted;
    for (auto const& url :
         {"rediss-sentinel://localhost:" + std::to_string(s.sentinel(0).port()) + "/stock?sentinel_tls=off",
          "redis-sentinel://localhost:" + port + "/stock?sentinel_tls=on&map=127.0.0.1:" + master
              + "=localhost:" + std::to_string(s.server(0).port())}) {
        mixed.nodes = {url};
        auto const other = r.attempt(mixed, {.wait = 10s});
        BOOST_TEST_INFO(other.report.message);
        BOOST_TEST(!other.ec);
    }
    mixed.nodes = {"rediss-sentinel://localhost:" + std::to_string(s.sentinel(0).port()) + "/stock"};
    BOOST_TEST(says(report_with_error(mixed, errc::node_unreachable).message, "?sentinel_tls="));
    trusted.tls.ca_file.clear();
    BOOST_TEST(says(report_with_error(trusted, errc::node_unreachable).message, "certificate"));
}

// Rule 11 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(context_destruction_while_sentinels_are_in_use_is_safe)
{
    sentinel_set s({.replicas = 0});
    end_contexts_early(trusting(s.url()));
}

BOOST_AUTO_TEST_SUITE_END()
