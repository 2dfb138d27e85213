// Leases: who holds a lock knows in time when they end.

#include "recorder.hpp"
#include "support/etcd.hpp"
#include "support/fake_server.hpp"
#include "support/real_servers.hpp"
#include "testbed/proxy.hpp"
#include "testing/node_client.hpp"

#include <redlock/etcd.hpp>

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <functional>
#include <optional>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using testbed::fault;

BOOST_AUTO_TEST_SUITE(sessions, *only_with_etcd())

BOOST_AUTO_TEST_CASE(a_holder_that_is_cut_off_knows_before_another_can_have_the_lock)
{
    etcd_server s({"--heartbeat-interval=10", "--election-timeout=50"});
    testbed::proxy proxy(std::vector<testbed::proxy::target>{{s.port()}});
    proxy.start();
    real_servers r(0);
    lock_manager cut_off(r.context, settings("etcd://127.0.0.1:" + std::to_string(proxy.port(0)) + "?session=2s"));
    lock_manager other(r.context, settings(s.url("?session=2s")));
    for (auto const renew : {renewal::none, renewal::automatic}) {
        auto won = r.acquire(cut_off, "stock", {.ttl = 20s, .wait = 20s, .renew = renew});
        BOOST_REQUIRE(!won.ec);
        proxy.set_all(fault::half_open);

        std::optional<bool> held_by_both;
        lock second;
        other.async_acquire("stock", {.ttl = 20s, .wait = 60s}, [&](error_code ec, lock l) {
            held_by_both = won.held.held();
            BOOST_TEST(!ec);
            second = std::move(l);
        });

        BOOST_TEST(r.run_to([&] { return held_by_both.has_value(); }));
        BOOST_TEST(!held_by_both.value_or(true));
        BOOST_TEST(second.held());
        proxy.set_all(fault::none);
        r.release(second);
        won.held = {};
    }
    r.shutdown(cut_off);
    r.shutdown(other);
}

BOOST_AUTO_TEST_CASE(a_process_that_stands_still_for_longer_than_its_session_has_lost_its_locks)
{
    etcd_server s({"--heartbeat-interval=10", "--election-timeout=50"});
    auto const work = [&] {
        real_servers r(0);
        lock_manager locks(r.context, settings(s.url("?session=2s")));
        auto won = r.acquire(locks, "stock", {.ttl = 60s, .wait = 20s, .renew = renewal::automatic});
        auto last_held = clock::now();
        std::printf("held\n");
        std::fflush(stdout);
        for (auto now = last_held; won.held.held(); now = clock::now()) {
            last_held = now;
            r.context.run_one_for(1ms);
        }
        std::printf("%lld\n", static_cast<long long>(last_held.time_since_epoch().count()));
        std::fflush(stdout);
        return 0;
    };
    testbed::process holder(work, {.piped = true, .name = "holder"});
    BOOST_REQUIRE(holder.read('\n') == "held");
    holder.pause();

    real_servers r(0);
    lock_manager locks(r.context, settings(s.url("?session=2s")));
    auto const won = r.acquire(locks, "stock", {.ttl = 20s, .wait = 20s});
    auto const acquired = clock::now();
    holder.resume();

    BOOST_TEST(!won.ec);
    BOOST_TEST(won.held.held());
    auto const last_held = clock::time_point(clock::duration(std::stoll(holder.read('\n'))));
    BOOST_TEST((last_held < acquired));
}

BOOST_AUTO_TEST_CASE(a_lease_that_ends_while_the_connection_lives_is_a_loss_that_is_told)
{
    etcd_server s;
    real_servers r(0);
    lock_manager locks(r.context, settings(s.url("?session=600s"), {.max_ttl = 600s}));
    auto won = r.acquire(locks, "stock", {.ttl = 600s, .renew = renewal::automatic});
    BOOST_REQUIRE(!won.ec);
    auto const leases = s.ask({"lease", "list"});
    s.ask({"lease", "revoke", leases.substr(leases.rfind('\n') + 1)});

    auto const ec = r.wait([&](auto done) { won.held.async_wait_lost(std::move(done)); });

    BOOST_TEST((ec == errc::lost));  // long before anything runs out
    won.held = {};
    auto again = r.acquire(locks, "stock", {.wait = 10s});
    BOOST_TEST(!again.ec);
    BOOST_TEST(!r.release(again.held));
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(a_shutdown_leaves_no_lease)
{
    etcd_server s;
    real_servers r(0);
    lock_manager locks(r.context, settings(s.url("?session=600s")));
    BOOST_TEST(!r.release(r.acquire(locks, "stock").held));
    BOOST_TEST(s.ask({"lease", "list"}).starts_with("found 1 leases"));

    r.shutdown(locks);

    BOOST_TEST(r.run_to([&] { return s.ask({"lease", "list"}).starts_with("found 0 leases"); }));
}

// It was sent on a connection that has ended since, and comes when the next one has been made.
BOOST_AUTO_TEST_CASE(a_request_that_comes_late_does_nothing)
{
    etcd_server s;
    real_servers r(0);
    recorder between(r.context, s.port());
    lock_manager locks(r.context, settings(between.url("?timeout=200ms")));
    BOOST_REQUIRE(!r.release(r.acquire(locks, "warm-up").held));
    between.keep("bG9jazpzdG9jaw");  // lock:stock
    auto const lost = r.acquire(locks, "stock", {.ttl = 60s});
    BOOST_TEST((lost.ec == errc::no_quorum));
    BOOST_REQUIRE(between.kept().starts_with("POST /v3/kv/txn"));
    BOOST_REQUIRE(r.run_to([&] { return locks.stats().nodes[0].connections >= 2 && locks.stats().cleaning == 0; }));

    auto const answer = between.replay();

    BOOST_TEST(answer.find("raft_term") != std::string::npos);
    BOOST_TEST(answer.find("\"succeeded\"") == std::string::npos);
    BOOST_TEST(s.ask({"get", "lock:stock"}).empty());
    r.shutdown(locks);
}

// Until the lease ends nobody but the node that has it ends a lock; so it must do that.
BOOST_AUTO_TEST_CASE(a_lock_ends_with_its_ttl_though_the_lease_goes_on)
{
    etcd_server s;
    real_servers r(0);
    lock_manager locks(r.context, settings(s.url("?session=600s")));
    auto const won = r.acquire(locks, "stock", {.ttl = 3500ms});
    BOOST_REQUIRE(!won.ec);

    BOOST_TEST(r.run_to([&] { return s.ask({"get", "lock:stock"}).empty(); }));

    BOOST_TEST(!won.held.held());
    r.shutdown(locks);
}

// Nobody knows whether it is there, and the lease goes on for ten minutes.
BOOST_AUTO_TEST_CASE(what_was_set_on_a_connection_that_has_ended_ends_with_its_ttl_too)
{
    etcd_server s;
    real_servers r(0);
    recorder between(r.context, s.port());
    auto const node = test::make_node(between.url("?session=600s"));
    node->start(r.context.get_executor(), {.connected = [](server_identity const&) {}, .changed = [](std::string_view) {}});
    auto const warm_up = std::make_shared<testing::request>(node_command{.what = testing::kind::inspect}, "lock:stock", "");
    node->submit(warm_up);
    BOOST_REQUIRE(r.run_to([&] { return warm_up->answers > 0; }));
    between.cut_after("bG9jazpzdG9jaw");  // lock:stock
    auto const sent = std::make_shared<testing::request>(node_command{.what = testing::kind::acquire, .ttl = 3s}, "lock:stock", "v");

    node->submit(sent);

    BOOST_REQUIRE(r.run_to([&] { return sent->answers > 0; }));
    BOOST_TEST((sent->reply.vote == vote::unknown));
    BOOST_TEST(!s.ask({"get", "lock:stock"}).empty());
    BOOST_TEST(r.run_to([&] { return s.ask({"get", "lock:stock"}).empty(); }));
    node->close();
}

namespace {

/// A gateway whose server says in which term it is.
struct fake_gateway {
    int keepalives = 0;
    std::function<int(int)> term = [](int) { return 2; };  // by the number of keepalives

    std::string operator()(std::string_view request)
    {
        if (request.find("progress_request") != request.npos)
            return chunk(R"({"result":{}})");
        if (!request.starts_with("POST "))
            return {};
        auto const path = request.substr(5, request.find(' ', 5) - 5);
        if (path == "/v3/watch")
            return "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunk(R"({"result":{"created":true}})");
        if (path == "/v3/lease/grant")
            return response(R"("ID":"7","TTL":"2")");
        if (path == "/v3/lease/keepalive") {
            ++keepalives;
            return plain(fmt::format(R"({{"result":{{{},"ID":"7","TTL":"2"}}}})", header()));
        }
        if (path == "/v3/kv/range")
            return response(R"("count":"1")");
        return response(R"("succeeded":true,"responses":[{"response_txn":{"succeeded":true}}])");
    }

private:
    std::string header() const { return fmt::format(R"("header":{{"cluster_id":"1","member_id":"1","revision":"1","raft_term":"{}"}})", term(keepalives)); }
    std::string response(std::string const& fields) const { return plain("{" + header() + "," + fields + "}"); }
    static std::string plain(std::string const& body) { return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{}", body.size(), body); }
    static std::string chunk(std::string const& body) { return fmt::format("{:x}\r\n{}\n\r\n", body.size() + 1, body); }
};

/// For how long a node promises a lock, of a gateway whose leases last for two seconds.
struct promises {
    explicit promises(fake_gateway& g) : server(context, [&g](std::string_view bytes) { return g(bytes); })
    {
        node = test::make_node("etcd" + server.url().substr(5) + "?timeout=30s");
        node->start(context.get_executor(), {.connected = [](server_identity const&) {}, .changed = [](std::string_view) {}});
    }

    ~promises()
    {
        node->close();
        context.restart();
        context.run_for(100ms);
    }

    bool run_to(std::function<bool()> const& done)
    {
        for (auto const end = clock::now() + testing::patience; !done();) {
            if (clock::now() > end)
                return false;
            context.restart();
            context.run_one_for(5ms);
        }
        return true;
    }

    std::chrono::milliseconds ask()
    {
        auto const r = std::make_shared<testing::request>(node_command{.what = testing::kind::extend, .ttl = testing::long_ttl}, "lock:stock", "v");
        node->submit(r);
        BOOST_REQUIRE(run_to([&] { return r->answers > 0; }));
        return r->reply.good_for;
    }

    asio::io_context context;
    fake_server server;
    std::shared_ptr<redlock::node> node;
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_lease_that_is_prolonged_is_promised_for_longer)
{
    fake_gateway g;
    promises p(g);
    p.ask();
    auto const granted = clock::now();

    BOOST_TEST(p.run_to([&] { return clock::now() > granted + 2s && p.ask() > 0ms; }));
}

// It may have been the leader of before, who does not know that there is another; and that one has not heard of it.
BOOST_AUTO_TEST_CASE(who_prolongs_a_lease_while_the_term_changes_is_not_believed)
{
    fake_gateway g;
    g.term = [](int keepalives) { return 2 + keepalives; };
    promises p(g);
    p.ask();
    auto const granted = clock::now();

    BOOST_TEST(p.run_to([&] { return g.keepalives >= 5 && clock::now() > granted + 2s; }));

    BOOST_TEST((p.ask() <= 0ms));
}

BOOST_AUTO_TEST_SUITE_END()
