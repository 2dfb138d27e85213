// Members that die, hang and come back, users and addresses that are wrong.

#include "support/certificates.hpp"
#include "support/etcd.hpp"
#include "support/fake_server.hpp"
#include "support/real_servers.hpp"
#include "testbed/proxy.hpp"

#include <redlock/etcd.hpp>

#include <boost/test/unit_test.hpp>

#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using testbed::etcd_cluster;

BOOST_AUTO_TEST_SUITE(failures, *only_with_etcd())

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

constexpr auto asks_for_port = "is this the client port of an etcd server (--listen-client-urls, mostly 2379)?";

bool says(node_report const& n, std::string const& words)
{
    BOOST_TEST_INFO(n.message);
    return n.message.find(words) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_server_that_is_killed_and_started_again_has_forgotten_nothing)
{
    etcd_server s;
    real_servers r(0);
    lock_manager locks(r.context, settings(s.url("?session=60s")));
    auto won = r.acquire(locks, "stock", {.ttl = 60s, .renew = renewal::automatic});
    BOOST_REQUIRE(!won.ec);
    s.kill();
    s.start();

    BOOST_TEST(r.run_to([&] { return locks.stats().nodes[0].connections == 2; }));
    BOOST_TEST(!r.extend(won.held, 60s));

    BOOST_TEST(won.held.held());
    BOOST_TEST((r.acquire(locks, "stock").ec == errc::contended));
    BOOST_TEST(!r.release(won.held));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(a_server_whose_data_has_gone_does_not_vote_for_a_while)
{
    etcd_server s;
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

BOOST_AUTO_TEST_CASE(a_member_that_dies_or_hangs_takes_no_lock_along)
{
    etcd_cluster cluster(3);
    real_servers r(0);
    lock_manager locks(r.context, settings(cluster.url("?session=60s&timeout=500ms")));
    auto won = r.acquire(locks, "stock", {.ttl = 60s, .wait = 20s, .renew = renewal::automatic});
    BOOST_REQUIRE(!won.ec);

    cluster[0].kill();
    BOOST_TEST(!r.acquire(locks, "first", {.wait = 20s}).ec);
    cluster[0].start();
    cluster[1].pause();
    BOOST_TEST(!r.acquire(locks, "second", {.wait = 20s}).ec);
    cluster[1].resume();

    BOOST_TEST(won.held.held());
    BOOST_TEST(locks.stats().lost == 0u);
    BOOST_TEST(!r.release(won.held));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(two_addresses_of_one_cluster_have_one_vote)
{
    etcd_cluster cluster(3);
    real_servers r(0);
    config c{.nodes = {cluster.url(), "memory://one", "etcd://127.0.0.1:" + std::to_string(cluster[2].port())}, .node_timeout = patience};
    c.stores = {etcd()};
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
    config c{.nodes = {server().url("/mixed/"), "memory://one", "memory://two"}, .node_timeout = patience, .fencing = true};
    c.stores = {etcd()};
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
    auto const url = server().url("/tokens/");
    lock_manager a(r.context, settings(url, {.fencing = true})), b(r.context, settings(url, {.fencing = true}));
    std::uint64_t token = 0;
    for (int i = 0; i < 6; ++i) {
        auto& locks = i % 2 == 0 ? a : b;
        std::optional<std::pair<error_code, lock>> won;
        locks.async_acquire(i % 3 == 0 ? resource_set{"stock", "order"} : resource_set{"stock"}, {.wait = 10s},
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
    auto const url = server().url("/waiting/");
    lock_manager a(r.context, settings(url)), b(r.context, settings(url));
    auto won = r.acquire(a, "stock", {.ttl = 60s});
    real_servers::outcome waiting;
    r.start_acquire(waiting, b, "stock", {.wait = 60s});
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
    lock_manager locks(r.context, settings(server().url("/refusals/")));
    BOOST_TEST((r.acquire(locks, "stock", {.mode = mode::shared}).ec == errc::unsupported));
    std::vector<std::string> many;
    for (int i = 0; i < 60; ++i)
        many.push_back("item:" + std::to_string(i));
    std::vector<std::string> const some(many.begin(), many.begin() + 50);
    for (auto const& [names, ok] : {std::pair(some, true), std::pair(many, false)}) {
        attempt_report report;
        std::optional<error_code> outcome;
        locks.async_acquire(names, {.report = &report}, [&](error_code ec, lock) { outcome = ec; });
        BOOST_REQUIRE(r.run_to([&] { return outcome.has_value(); }));
        BOOST_TEST(!*outcome == ok);
        BOOST_TEST((report.message.find("etcd locks 50 resources at once at the most") == std::string::npos) == ok);
    }
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(an_address_that_is_wrong_is_told_in_words)
{
    auto const nobody = "127.0.0.1:" + std::to_string(testbed::free_port());
    auto const refused = trouble_with("etcd://" + nobody + "," + nobody);
    BOOST_TEST((refused.error == errc::node_unreachable));
    BOOST_TEST(says(refused, nobody + ": Connection refused; " + asks_for_port));
    BOOST_TEST(says(trouble_with("etcds" + server().url().substr(4)), "If it speaks no TLS there, its URL begins with etcd://"));
}

BOOST_AUTO_TEST_CASE(acquire_at_a_port_of_something_else_says_which_port_is_meant)
{
    local_server redis;
    real_servers r(0);
    for (auto const& words : {std::string(), std::string("HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\n404\n"), std::string("-ERR\r\n")}) {
        fake_server fake(r.context, [&](std::string_view) { return words; });
        auto const o = r.attempt(settings("etcd" + fake.url().substr(5) + "?timeout=100ms", {.connect_timeout = 100ms}), {.wait = 300ms});
        BOOST_TEST((o.ec == errc::no_quorum));
        BOOST_TEST(says(o.report.nodes[0], asks_for_port));
    }
    auto const other = trouble_with("etcd://127.0.0.1:" + std::to_string(redis.port()));
    BOOST_TEST(says(other, asks_for_port));
    BOOST_TEST(says(other, "If it wants TLS there, its URL begins with etcds://"));
}

BOOST_AUTO_TEST_CASE(tls_is_verified)
{
    certificates c;
    etcd_server s({"--cert-file", c.file("server.pem"), "--key-file", c.file("server.key"), "--trusted-ca-file", c.file("ca.pem"), "--client-cert-auth"}, "https");
    auto const at = "://localhost:" + std::to_string(s.port());
    tls_options const tls{.ca_file = c.file("ca.pem"), .certificate_file = c.file("client.pem"), .private_key_file = c.file("client.key")};
    real_servers r(0);
    BOOST_TEST(!r.attempt(settings("etcds" + at, {.tls = tls})).ec);

    BOOST_TEST(says(trouble_with("etcds" + at), "certificate verify failed"));
    BOOST_TEST(says(trouble_with("etcd" + at), "its URL begins with etcds://"));
    BOOST_TEST((trouble_with("etcds" + at, {.tls = {.ca_file = c.file("ca.pem")}}).error != error_code()));
}

BOOST_AUTO_TEST_CASE(users_and_rights)
{
    etcd_server s;
    s.ask({"user", "add", "root:pass-word"});
    s.ask({"user", "add", "app:pass-word"});
    s.ask({"role", "add", "locks"});
    s.ask({"role", "grant-permission", "locks", "--prefix=true", "readwrite", "lock:"});
    s.ask({"user", "grant-role", "app", "locks"});
    s.ask({"user", "grant-role", "root", "root"});
    real_servers r(0);
    auto const as = [&](std::string const& user) { return "etcd://" + user + "@127.0.0.1:" + std::to_string(s.port()); };
    BOOST_TEST(!r.attempt(settings(as("app:pass-word"))).ec);  // nobody wants to know yet
    BOOST_REQUIRE(s.ask({"auth", "enable"}).starts_with("Authentication Enabled"));

    BOOST_TEST(!r.attempt(settings(as("app:pass-word"), {.fencing = true})).ec);
    auto const nobody = trouble_with(s.url());
    BOOST_TEST((nobody.error == errc::authentication_failed));
    BOOST_TEST(says(nobody, "name a user in its URL"));
    auto const wrong = trouble_with(as("app:pass-words"));
    BOOST_TEST((wrong.error == errc::authentication_failed));
    BOOST_TEST(says(wrong, "invalid user ID or password"));
    auto const forbidden = trouble_with(as("app:pass-word"), {.prefix = "others:"});
    BOOST_TEST((forbidden.error == errc::permission_denied));
    BOOST_TEST(says(forbidden, "etcdctl role grant-permission ROLE --prefix=true readwrite"));
}

// Users change, and nobody is who he was: it says so, and a new connection has a new name.
BOOST_AUTO_TEST_CASE(a_token_that_means_nothing_any_more_is_made_anew)
{
    etcd_server s;
    s.ask({"user", "add", "root:pass-word"});
    s.ask({"user", "grant-role", "root", "root"});
    BOOST_REQUIRE(s.ask({"auth", "enable"}).starts_with("Authentication Enabled"));
    real_servers r(0);
    lock_manager locks(r.context, settings("etcd://root:pass-word@127.0.0.1:" + std::to_string(s.port()) + "?session=600s"));
    auto won = r.acquire(locks, "stock", {.ttl = 60s});
    BOOST_REQUIRE(!won.ec);
    s.ask({"--user", "root:pass-word", "auth", "disable"});
    s.ask({"auth", "enable"});

    BOOST_TEST(!r.acquire(locks, "other", {.wait = 20s}).ec);

    BOOST_TEST(won.held.held());
    BOOST_TEST(!r.release(won.held));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(a_database_that_is_full_takes_no_lock_and_lets_go_of_those_it_has)
{
    etcd_server s({"--quota-backend-bytes=1000000"});
    real_servers r(0);
    lock_manager locks(r.context, settings(s.url("?session=600s")));
    auto won = r.acquire(locks, "stock", {.ttl = 60s});
    BOOST_REQUIRE(!won.ec);
    std::string const heavy(100'000, 'x');
    for (int i = 0; i < 30 && !s.ask({"put", "heavy" + std::to_string(i), heavy}).starts_with("error"); ++i) {
    }

    auto const full = r.acquire(locks, "other");

    BOOST_TEST((full.ec == errc::no_quorum));
    BOOST_TEST((full.report.nodes[0].error == errc::node_refuses_writes));
    BOOST_TEST(full.report.nodes[0].message.find("etcdctl alarm disarm") != std::string::npos);
    BOOST_TEST(!r.extend(won.held, 50s));
    real_servers::outcome beside;
    r.start_acquire(beside, locks, "another", {});  // in one transaction with the release
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(r.run_to([&] { return beside.done; }));
    BOOST_TEST((beside.ec == errc::no_quorum));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_SUITE_END()
