// Servers that die, hang and come back, users and addresses that are wrong.

#include "plain_zookeeper.hpp"
#include "support/fake_server.hpp"
#include "support/real_servers.hpp"
#include "support/zookeeper.hpp"

#include <boost/test/unit_test.hpp>

#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using testbed::zookeeper_ensemble;

BOOST_AUTO_TEST_SUITE(failures, *only_with_zookeeper())

namespace {

/// What is said of an address that is no good.
node_report trouble_with(std::string const& url, config special = {})
{
    real_servers r(0);
    auto const o = r.attempt(settings(url, std::move(special)), {.wait = 300ms});
    BOOST_TEST_REQUIRE(o.report.nodes.size() == 1u);
    BOOST_TEST((o.ec == errc::no_quorum));
    BOOST_TEST(o.report.message.find("pass-word") == std::string::npos);
    return o.report.nodes[0];
}

constexpr auto asks_for_port = "is this the client port of a ZooKeeper server (clientPort, mostly 2181)?";

bool says(node_report const& n, std::string const& words)
{
    BOOST_TEST_INFO(n.message);
    return n.message.find(words) != std::string::npos;
}

std::string at(zookeeper_server const& s, std::string const& user, std::string const& rest = {})
{
    return "zookeeper://" + user + "@127.0.0.1:" + std::to_string(s.port()) + rest;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_server_that_is_killed_and_started_again_goes_on_with_the_session)
{
    zookeeper_server s;
    real_servers r(0);
    lock_manager locks(r.context, settings(s.url("?session=60s")));
    auto won = r.acquire(locks, "stock", {.ttl = 60s, .renew = renewal::automatic});
    BOOST_REQUIRE(!won.ec);
    s.kill();
    s.start();

    BOOST_TEST(r.run_to([&] { return locks.stats().nodes[0].connections == 2; }));
    BOOST_TEST(!r.extend(won.held, 60s));

    auto const said = s.ask("dump");
    BOOST_TEST(said.find("/redlock/sessions/") == said.rfind("/redlock/sessions/"));
    BOOST_TEST(won.held.held());
    BOOST_TEST((r.acquire(locks, "stock").ec == errc::contended));
    BOOST_TEST(!r.release(won.held));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(a_server_whose_data_has_gone_does_not_vote_for_a_while)
{
    zookeeper_server s;
    real_servers r(0);
    lock_manager locks(r.context, settings(s.url(), {.max_ttl = 60s}));
    for (int i = 0; i < 10; ++i)
        BOOST_REQUIRE(!r.release(r.acquire(locks, "stock").held));
    s.kill();
    s.forget();
    s.start();
    BOOST_TEST(r.run_to([&] { return locks.stats().nodes[0].connections == 2; }));

    BOOST_TEST((r.acquire(locks, "stock").ec == errc::quarantined));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(a_server_that_dies_and_a_leader_that_hangs_take_no_lock_along)
{
    zookeeper_ensemble ensemble(3);
    real_servers r(0);
    lock_manager locks(r.context, settings(ensemble.url("?session=60s&timeout=500ms")));
    auto won = r.acquire(locks, "stock", {.ttl = 60s, .wait = 20s, .renew = renewal::automatic});
    BOOST_REQUIRE(!won.ec);

    ensemble[0].kill();
    BOOST_TEST(!r.acquire(locks, "first", {.wait = 50s}).ec);
    ensemble[0].start();
    auto& leader = ensemble.leader();
    leader.pause();
    BOOST_TEST(!r.acquire(locks, "second", {.wait = 50s}).ec);
    leader.resume();

    BOOST_TEST(won.held.held());
    BOOST_TEST(locks.stats().lost == 0u);
    BOOST_TEST(!r.release(won.held));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(two_addresses_of_one_ensemble_have_one_vote)
{
    real_servers r(0);
    config c{.nodes = {server().url(), "memory://one", "zookeeper://localhost:" + std::to_string(server().port())}, .node_timeout = patience};
    c.stores = {zookeeper()};
    lock_manager locks(r.context, c);

    BOOST_TEST(r.run_to([&] {
        r.release(r.acquire(locks, "stock").held);
        auto const nodes = locks.stats().nodes;
        return nodes[0].last_error == errc::duplicate_node || nodes[2].last_error == errc::duplicate_node;
    }));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(it_stands_beside_other_kinds)
{
    real_servers r(0);
    config c{.nodes = {server().url(), "memory://one", "memory://two"}, .node_timeout = patience, .fencing = true};
    c.stores = {zookeeper()};
    lock_manager locks(r.context, c);
    std::uint64_t token = 0;
    for (int i = 0; i < 5; ++i) {
        auto won = r.acquire(locks, "stock", {.wait = 10s});
        BOOST_REQUIRE(!won.ec);
        BOOST_TEST(won.held.fencing_token() > token);
        token = won.held.fencing_token();
        BOOST_TEST(!r.release(won.held));
    }
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(tokens_grow_over_all_managers_and_sets)
{
    real_servers r(0);
    auto const url = server().url();
    lock_manager a(r.context, settings(url, {.fencing = true})), b(r.context, settings(url, {.fencing = true}));
    std::uint64_t token = 0;
    for (int i = 0; i < 6; ++i) {
        auto& locks = i % 2 == 0 ? a : b;
        std::optional<std::pair<error_code, lock>> won;
        locks.async_acquire(i % 3 == 0 ? resource_set{"tokens", "order"} : resource_set{"tokens"}, {.wait = 10s},
                            [&](error_code ec, lock l) { won.emplace(ec, std::move(l)); });
        BOOST_REQUIRE(r.run_to([&] { return won.has_value(); }));
        BOOST_REQUIRE(!won->first);
        BOOST_TEST(won->second.fencing_token() > token);
        token = won->second.fencing_token();
        BOOST_TEST(!r.release(won->second));
    }
    r.shutdown(a);
    r.shutdown(b);
}

// It would ask again by itself when the ttl is over, which is later than the test waits for.
BOOST_AUTO_TEST_CASE(who_waits_is_told_of_a_release)
{
    real_servers r(0);
    auto const url = server().url("?session=60s");
    lock_manager a(r.context, settings(url)), b(r.context, settings(url));
    auto won = r.acquire(a, "waiting", {.ttl = 60s});
    real_servers::outcome waiting;
    r.start_acquire(waiting, b, "waiting", {.wait = 60s});
    BOOST_REQUIRE(r.run_to([&] { return b.stats().rounds >= 2; }));

    r.release(won.held);

    BOOST_TEST(r.run_to([&] { return waiting.done; }));
    BOOST_TEST(!waiting.ec);
    r.release(waiting.held);
    r.shutdown(a);
    r.shutdown(b);
}

BOOST_AUTO_TEST_CASE(what_it_cannot_do_it_refuses)
{
    real_servers r(0);
    lock_manager locks(r.context, settings(server().url()));
    BOOST_TEST((r.acquire(locks, "stock", {.mode = mode::shared}).ec == errc::unsupported));
    std::vector<std::string> many;
    for (int i = 0; i < 101; ++i)
        many.push_back("item:" + std::to_string(i));
    std::vector<std::string> const some(many.begin(), many.begin() + 100);
    for (auto const& [names, ok] : {std::pair(some, true), std::pair(many, false)}) {
        attempt_report report;
        std::optional<error_code> outcome;
        locks.async_acquire(names, {.report = &report}, [&](error_code ec, lock) { outcome = ec; });
        BOOST_REQUIRE(r.run_to([&] { return outcome.has_value(); }));
        BOOST_TEST(!*outcome == ok);
        BOOST_TEST((report.message.find("ZooKeeper locks 100 resources at once at the most") == std::string::npos) == ok);
    }
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(an_address_that_is_wrong_is_told_in_words)
{
    auto const nobody = "127.0.0.1:" + std::to_string(testbed::free_port());
    auto const refused = trouble_with("zookeeper://" + nobody + "," + nobody);
    BOOST_TEST((refused.error == errc::node_unreachable));
    BOOST_TEST(says(refused, nobody));
    BOOST_TEST(says(refused, std::string(": Connection refused; ") + asks_for_port));

    BOOST_TEST(says(trouble_with(server().url("/nowhere/locks")), "there is no /nowhere/locks: make it first (zkCli.sh create /nowhere/locks)"));
    BOOST_TEST(says(trouble_with("zookeeper://no.such.host.invalid"), "cannot resolve its name"));
}

BOOST_AUTO_TEST_CASE(what_is_no_zookeeper_is_told_and_does_no_harm)
{
    local_server redis;
    BOOST_TEST(says(trouble_with("zookeeper://127.0.0.1:" + std::to_string(redis.port()) + "?timeout=100ms"), asks_for_port));

    auto const http = std::string("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nwhat is that?\r\n");
    for (auto const& words : {http, std::string(40, 'A') + '\0', std::string("no"), std::string()}) {
        real_servers r(0);
        fake_server fake(r.context, [&](std::string_view) { return words; });
        auto const o = r.attempt(settings("zookeeper" + fake.url().substr(5) + "?timeout=100ms", {.connect_timeout = 100ms}), {.wait = 300ms});
        BOOST_TEST((o.ec == errc::no_quorum));
        BOOST_TEST(says(o.report.nodes[0], asks_for_port));
        BOOST_TEST((o.report.nodes[0].error == (words.size() > 40 ? errc::unexpected_reply : errc::node_unreachable)));
    }
}

// A session of a millisecond is over when it has begun.
BOOST_AUTO_TEST_CASE(a_connection_that_ends_when_it_has_been_made_does_no_harm)
{
    using namespace std::string_literals;
    auto const welcome = "\0\0\0\x25"s + "\0\0\0\0"s + "\0\0\0\1"s + "\0\0\0\0\0\0\0\7"s + "\0\0\0\x10"s + std::string(16, 'p') + '\0';
    real_servers r(0);
    fake_server fake(r.context, [&](std::string_view) { return welcome; });

    auto const o = r.attempt(settings("zookeeper" + fake.url().substr(5) + "?timeout=100ms", {.connect_timeout = 100ms}), {.wait = 300ms});

    BOOST_TEST((o.ec == errc::no_quorum));
    BOOST_TEST(fake.connections > 0);
}

BOOST_AUTO_TEST_CASE(of_a_name_with_several_addresses_one_is_enough)
{
    real_servers r(0);
    BOOST_TEST(!r.attempt(settings("zookeeper://localhost:" + std::to_string(server().port()))).ec);  // ::1 where nobody listens, and 127.0.0.1
}

BOOST_AUTO_TEST_CASE(what_a_user_has_made_is_for_that_user_alone)
{
    plain_zookeeper operators(server().port());
    BOOST_REQUIRE(operators.create("/owned") == ZOK);
    real_servers r(0);
    BOOST_TEST(!r.attempt(settings(at(server(), "app:pass-word", "/owned"), {.fencing = true})).ec);

    for (auto const& url : {server().url("/owned"), at(server(), "app:pass-words", "/owned")}) {
        auto const other = trouble_with(url);
        BOOST_TEST((other.error == errc::permission_denied));
        BOOST_TEST(says(other, "not for this user"));
    }
}

BOOST_AUTO_TEST_CASE(two_chroots_know_nothing_of_each_other)
{
    plain_zookeeper operators(server().port());
    BOOST_REQUIRE(operators.create("/one") == ZOK);
    BOOST_REQUIRE(operators.create("/other") == ZOK);
    real_servers r(0);
    lock_manager one(r.context, settings(server().url("/one"))), other(r.context, settings(server().url("/other")));

    auto first = r.acquire(one, "stock"), second = r.acquire(other, "stock");

    BOOST_TEST((!first.ec && !second.ec));
    BOOST_TEST(operators.exists("/one/redlock/locks/lock:stock") == ZOK);
    BOOST_TEST(!r.release(first.held));
    BOOST_TEST(!r.release(second.held));
    r.shutdown(one);
    r.shutdown(other);
}

BOOST_AUTO_TEST_CASE(a_quota_that_is_used_up_takes_no_lock_and_lets_go_of_those_it_has)
{
    zookeeper_server s({}, {"-Dzookeeper.enforceQuota=true"});
    plain_zookeeper operators(s.port());
    real_servers r(0);
    BOOST_REQUIRE(operators.create("/small") == ZOK);
    lock_manager locks(r.context, settings(s.url("/small?session=600s")));
    auto won = r.acquire(locks, "stock", {.ttl = 60s});
    BOOST_REQUIRE(!won.ec);
    BOOST_REQUIRE(operators.create("/zookeeper/quota/small") == ZOK);
    BOOST_REQUIRE(operators.create("/zookeeper/quota/small/zookeeper_stats", "count=0,bytes=0") == ZOK);
    BOOST_REQUIRE(operators.create("/zookeeper/quota/small/zookeeper_limits", "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=1") == ZOK);

    auto const full = r.acquire(locks, "other");

    BOOST_TEST((full.ec == errc::no_quorum));
    BOOST_TEST((full.report.nodes[0].error == errc::node_refuses_writes));
    BOOST_TEST(full.report.nodes[0].message.find("a quota is used up") != std::string::npos);
    BOOST_TEST(!r.extend(won.held, 50s));
    BOOST_TEST(!r.release(won.held));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_SUITE_END()
