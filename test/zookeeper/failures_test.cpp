// Wrong users, wrong addresses, and a quota that is used up.

#include "plain_zookeeper.hpp"
#include "stores/sessions/trouble.hpp"

#include <boost/test/unit_test.hpp>

#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_FIXTURE_TEST_SUITE(failures, event_loop, *only_with_server())

namespace {
std::string at(zookeeper_server const& s, std::string const& user, std::string const& rest = {})
{
    return "zookeeper://" + user + "@127.0.0.1:" + std::to_string(s.port()) + rest;
}

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_at_a_wrong_address_explains_the_mistake)
{
    auto const nobody = "127.0.0.1:" + std::to_string(testbed::free_port());
    auto const refused = trouble_with("zookeeper://" + nobody + "," + nobody);
    BOOST_TEST((refused.error == errc::node_unreachable));
    BOOST_TEST(says(refused, nobody));
    BOOST_TEST(says(refused, std::string(": Connection refused; ") + this_store::asks_for_port));

    BOOST_TEST(says(trouble_with(server().url("/nowhere/locks")),
                    "there is no /nowhere/locks: make it first (zkCli.sh create /nowhere/locks)"));
    BOOST_TEST(says(trouble_with("zookeeper://no.such.host.invalid"), "cannot resolve its name"));
}

BOOST_AUTO_TEST_CASE(acquire_at_another_kind_of_server_asks_for_the_port)
{
    local_server redis;
    BOOST_TEST(says(trouble_with("zookeeper://127.0.0.1:" + std::to_string(redis.port()) + "?timeout=100ms"),
                    this_store::asks_for_port));

    auto const http = std::string("HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\n\r\nwhat is that?\r\n");
    for (auto const& words : {http, std::string(40, 'A') + '\0', std::string("no"), std::string()}) {
        auto const node = trouble_with_answer(words);
        BOOST_TEST(says(node, this_store::asks_for_port));
        BOOST_TEST((node.error == (words.size() > 40 ? errc::unexpected_reply : errc::node_unreachable)));
    }
}

// A session of a millisecond has expired as soon as it begins.
BOOST_AUTO_TEST_CASE(acquire_with_a_session_of_a_millisecond_fails)
{
    using namespace std::string_literals;
    auto const welcome = "\0\0\0\x25"s + "\0\0\0\0"s + "\0\0\0\1"s + "\0\0\0\0\0\0\0\7"s + "\0\0\0\x10"s
                         + std::string(16, 'p') + '\0';
    fake_server fake(r.context, [&](std::string_view) { return welcome; });

    auto const o = r.attempt(on("zookeeper" + fake.url().substr(5) + "?timeout=100ms", {.connect_timeout = 100ms}),
                             {.wait = 300ms});

    BOOST_TEST((o.ec == errc::no_quorum));
    BOOST_TEST(fake.connections > 0);
}

BOOST_AUTO_TEST_CASE(acquire_at_a_name_tries_all_its_addresses)
{
    // The name resolves to ::1, where no server listens, and to 127.0.0.1.
    BOOST_TEST(!r.attempt(on("zookeeper://localhost:" + std::to_string(server().port()))).ec);
}

BOOST_AUTO_TEST_CASE(acquire_as_another_user_reports_permission_denied)
{
    plain_zookeeper operators(server().port());
    BOOST_REQUIRE(operators.create("/owned") == ZOK);
    auto const first = r.attempt(on(at(server(), "app:geheim", "/owned"), {.connect_timeout = 10s, .fencing = true}));
    BOOST_TEST_REQUIRE(!first.ec, first.report.message);

    for (auto const& url : {server().url("/owned"), at(server(), "app:geheims", "/owned")}) {
        auto const other = trouble_with(url);
        BOOST_TEST((other.error == errc::permission_denied));
        BOOST_TEST(says(other, "not for this user"));
    }
}

BOOST_AUTO_TEST_CASE(list_by_a_manager_that_only_reads_needs_the_same_user_and_a_folder)
{
    plain_zookeeper operators(server().port());
    BOOST_REQUIRE(operators.create("/read") == ZOK);
    auto const list = [&](std::string const& user) {
        lock_manager reader(r.context, on(at(server(), user, "/read"), {.read_only = true}));
        auto listed = r.wait_for<lock_page>([&](auto done) { reader.async_list("*", std::move(done)); });
        r.shutdown(reader);
        return listed;
    };
    auto const [early, none] = list("app:geheim");
    BOOST_TEST((early == errc::no_quorum));
    BOOST_TEST(none.nodes[0].message.find("there is no /read/redlock with locks") != std::string::npos);
    BOOST_TEST(operators.exists("/read/redlock") == ZNONODE);

    lock_manager writer(r.context, on(at(server(), "app:geheim", "/read")));
    auto held = hold(r, writer, "stock", {.ttl = 60s, .wait = 60s});

    auto const [ec, page] = list("app:geheim");
    BOOST_TEST(!ec, ec.message());
    BOOST_TEST_REQUIRE(page.locks.size() == 1u);
    BOOST_TEST(page.locks[0].nodes[0].value == held.token());
    auto const [why, nothing] = list("app:geheims");
    BOOST_TEST((why == errc::no_quorum));
    BOOST_TEST((nothing.nodes[0].error == errc::permission_denied));
    BOOST_TEST(nothing.nodes[0].message.find("not for this user") != std::string::npos);
    BOOST_TEST(!r.release(held));
    r.shutdown(writer);
}

BOOST_AUTO_TEST_CASE(acquire_in_another_chroot_of_a_taken_name_succeeds)
{
    plain_zookeeper operators(server().port());
    BOOST_REQUIRE(operators.create("/one") == ZOK);
    BOOST_REQUIRE(operators.create("/other") == ZOK);
    lock_manager one(r.context, on(server().url("/one"))), other(r.context, on(server().url("/other")));

    auto first = r.acquire(one, "stock"), second = r.acquire(other, "stock");

    BOOST_TEST((!first.ec && !second.ec));
    BOOST_TEST(operators.exists("/one/redlock/locks/lock:stock") == ZOK);
    BOOST_TEST(!r.release(first.held));
    BOOST_TEST(!r.release(second.held));
    r.shutdown(one);
    r.shutdown(other);
}

BOOST_AUTO_TEST_CASE(acquire_with_a_used_up_quota_fails_but_release_succeeds)
{
    zookeeper_server s({}, {"-Dzookeeper.enforceQuota=true"});
    plain_zookeeper operators(s.port());
    BOOST_REQUIRE(operators.create("/small") == ZOK);
    lock_manager locks(r.context, on(s.url("/small?session=600s")));
    auto held = hold(r, locks, "stock", {.ttl = 60s});
    BOOST_REQUIRE(operators.create("/zookeeper/quota/small") == ZOK);
    BOOST_REQUIRE(operators.create("/zookeeper/quota/small/zookeeper_stats", "count=0,bytes=0") == ZOK);
    BOOST_REQUIRE(operators.create("/zookeeper/quota/small/zookeeper_limits",
                                   "count=-1,bytes=-1=;byteHardLimit=-1;countHardLimit=1")
                  == ZOK);

    auto const full = r.acquire(locks, "other");

    BOOST_TEST((full.ec == errc::no_quorum));
    BOOST_TEST((full.report.nodes[0].error == errc::node_refuses_writes));
    BOOST_TEST(full.report.nodes[0].message.find("a quota is used up") != std::string::npos);
    BOOST_TEST(!r.extend(held, 50s));
    BOOST_TEST(!r.release(held));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_SUITE_END()
