// Servers that refuse, and peers that are not Redis servers: each gives a clear error of its node.

#include "stores/redis/scripts.hpp"
#include "support/fake_server.hpp"
#include "support/quarantine.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <thread>
#include <utility>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(server_errors)

namespace {

// Acquires with one faulty node and two good ones, until the faulty node shows the error @p expected.
node_report odd_one(real_servers& r, std::string const& url, errc expected)
{
    lock_manager locks(
        r.context, {.nodes = {url, r[0].url(), r[1].url()}, .node_timeout = busy_timeout, .connect_timeout = 300ms});
    node_report last;
    BOOST_TEST(r.run_to([&] {
        auto won = r.acquire(locks, "stock", {.wait = 5s});
        BOOST_TEST(!won.ec);
        r.release(won.held);
        auto const n = locks.stats().nodes[0];
        last.error = n.last_error;
        last.message = n.last_message;
        return n.last_error == expected;
    }));
    BOOST_TEST((last.error == expected));
    BOOST_TEST(!r.shutdown(locks));
    BOOST_TEST(r[0].count_keys() == "0");
    BOOST_TEST(r[1].count_keys() == "0");
    return last;
}

}  // namespace

// Rule 13 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(acquire_on_a_replica_reports_node_read_only)
{
    real_servers r(2);
    local_server replica;
    replica.ask({"REPLICAOF", "127.0.0.1", std::to_string(r[0].port())});
    odd_one(r, replica.url(), errc::node_read_only);
}

// Rule 13 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(acquire_on_a_primary_that_becomes_a_replica_reports_node_read_only, connected_to<3>)
{
    r[0].ask({"REPLICAOF", "127.0.0.1", std::to_string(r[1].port())});
    BOOST_TEST(r.run_to([&] {
        auto won = r.acquire(locks, "stock", {.wait = 1s});
        r.release(won.held);
        return !won.ec && locks.stats().nodes[0].last_error == errc::node_read_only;
    }));
}

// Rule 13 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(acquire_on_a_full_server_reports_node_out_of_memory)
{
    real_servers r(2);
    local_server full({"--maxmemory", "1mb", "--maxmemory-policy", "noeviction"});
    int filled = 0;
    // Small pieces come last, because a large request itself needs memory that would stay free.
    for (auto const piece : {65536, 1024, 1}) {
        while (full.ask({"SET", "fill" + std::to_string(filled), std::string(piece, 'x')}) == "OK")
            ++filled;
    }
    odd_one(r, full.url(), errc::node_out_of_memory);
}

// Rule 13 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(acquire_with_a_wrong_password_reports_authentication_failed)
{
    real_servers r(2);
    local_server guarded({"--requirepass", "pw"});
    odd_one(r, guarded.url(), errc::authentication_failed);
    odd_one(r, "redis://:wrong@127.0.0.1:" + std::to_string(guarded.port()), errc::authentication_failed);
}

BOOST_AUTO_TEST_CASE(free_port_below_a_limit_leaves_room_for_the_cluster_bus)
{
    for (int i = 0; i < 100; ++i)
        BOOST_TEST_REQUIRE(testbed::free_port(testbed::highest_cluster_port) <= testbed::highest_cluster_port);
    BOOST_CHECK_THROW(testbed::free_port(1), std::runtime_error);
}

// Rule 13 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(acquire_on_a_cluster_member_reports_wrong_cluster_node)
{
    real_servers r(2);
    local_server member({"--cluster-enabled", "yes"});
    odd_one(r, member.url(), errc::wrong_cluster_node);
}

// Rule 13 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(acquire_on_a_busy_server_reports_node_busy)
{
    real_servers r(3, {"--lua-time-limit", "10"});
    ending_manager locks(r, r.settings());
    r.connect(locks);
    std::thread busy([&] {
        try {
            r[0].ask({"EVAL", "while true do end", "0"});
        } catch (std::runtime_error const&) {
        }
    });
    BOOST_TEST(r.run_to([&] {
        auto won = r.acquire(locks, "stock", {.wait = 1s});
        r.release(won.held);
        return locks.stats().nodes[0].last_error == errc::node_busy;
    }));
    r[0].ask({"SCRIPT", "KILL"});
    busy.join();
}

// No client will ever release such a key, so the manager must not treat it as a lock that another client holds.
BOOST_AUTO_TEST_CASE(acquire_of_a_key_that_is_a_list_reports_wrong_type)
{
    real_servers r(3);
    r.ask_all({"RPUSH", "lock:stock", "a", "b"});
    for (bool const fencing : {false, servers_fence()}) {
        lock_manager locks(r.context, r.settings({.fencing = fencing}));
        auto const at_once = r.acquire(locks, "stock");
        auto const waited = r.acquire(locks, "stock", {.wait = 50ms});  // the second round uses a script
        for (auto const* lost : {&at_once, &waited}) {
            if (lost == &at_once && !servers_tell_type()) {
                BOOST_TEST((lost->ec == errc::contended));
                continue;
            }
            BOOST_TEST((lost->ec == errc::no_quorum), lost->report.message);
            BOOST_TEST(std::count_if(lost->report.nodes.begin(), lost->report.nodes.end(),
                                     [](auto& n) { return n.error == errc::wrong_type; })
                       >= 2);
            BOOST_TEST(lost->report.message.find("WRONGTYPE") != std::string::npos, lost->report.message);
        }
        auto const other = r.acquire(locks, "other");
        BOOST_TEST(other.held.held());
        BOOST_TEST((r.acquire(locks, "other").ec == errc::contended));
        shut_down_and_skip_time(r, locks);
    }
    ending_manager locks(r, r.settings());
    auto [ec, info] = r.wait_for<lock_info>([&](auto done) { locks.async_inspect("stock", std::move(done)); });
    BOOST_TEST((ec == errc::no_quorum));
    BOOST_TEST((info.nodes[0].error == errc::wrong_type));
    BOOST_TEST(r[0].ask({"LLEN", "lock:stock"}) == "2");
}

BOOST_AUTO_TEST_CASE(acquire_on_a_closed_port_reports_node_unreachable)
{
    real_servers r(2);
    auto const n = odd_one(r, "redis://127.0.0.1:" + std::to_string(testbed::free_port()), errc::node_unreachable);
    BOOST_TEST(n.message != "");
}

BOOST_AUTO_TEST_CASE(acquire_on_an_unknown_host_reports_node_unreachable)
{
    real_servers r(2);
    odd_one(r, "redis://no-such-host.invalid", errc::node_unreachable);
}

BOOST_AUTO_TEST_CASE(acquire_on_an_http_server_reports_unexpected_reply)
{
    real_servers r(2);
    auto const begin = std::chrono::steady_clock::now();
    fake_server http(r.context,
                     [](std::string_view) { return "HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n"; });
    odd_one(r, http.url(), errc::unexpected_reply);
    auto const took = std::chrono::duration_cast<std::chrono::seconds>(std::chrono::steady_clock::now() - begin);
    BOOST_TEST(http.connections < 40 + 10 * took.count());  // the manager reconnects with back-off
}

BOOST_AUTO_TEST_CASE(acquire_on_a_silent_server_reports_node_unreachable)
{
    real_servers r(2);
    fake_server mute(r.context, [](std::string_view) { return ""; });
    odd_one(r, mute.url(), errc::node_unreachable);
}

BOOST_AUTO_TEST_CASE(acquire_on_a_server_without_hello_reports_unsupported_server)
{
    real_servers r(2);
    fake_server old(r.context, [](std::string_view request) {
        std::string all;
        for (std::size_t at = 0; (at = request.find('*', at)) != request.npos; ++at) {
            if (at == 0 || request[at - 1] == '\n')
                all +=
                    "-ERR unknown command `HELLO`, with args beginning with: `3`, `AUTH`, `default`, `hunter2`, \r\n";
        }
        return all;
    });
    auto const n = odd_one(r, "redis://:hunter2@" + old.url().substr(8), errc::unsupported_server);
    BOOST_TEST(n.message.find("hunter2") == std::string::npos);
}

namespace {

// The replies of a server to the greeting.
std::string welcome(std::string const& version, bool with_fencing = false, bool with_record = true)
{
    auto const server = "redis_version:" + version + "\r\nrun_id:" + std::string(40, 'a') + "\r\n";
    std::string all = "%1\r\n$4\r\nrole\r\n$6\r\nmaster\r\n$" + std::to_string(server.size()) + "\r\n" + server
                      + "\r\n$0\r\n\r\n$0\r\n\r\n*0\r\n*1\r\n$3\r\ndel\r\n+OK\r\n";
    for (auto const& script : stores::redis::greeted_scripts)
        all += "+" + std::string(script.sha1) + "\r\n";
    for (int i = 0; i < (with_fencing ? 14 : 11) + with_record; ++i)  // the trial, and the script of the record
        all += ":1\r\n";
    if (with_record)
        all += "*6\r\n$4\r\nf00d\r\n$1\r\nF\r\n$1\r\n0\r\n$1\r\n0\r\n$0\r\n\r\n$1\r\na\r\n";
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(fencing_before_redis_6_2_reports_unsupported_server, *only_with_fencing())
{
    real_servers r(2);
    std::pair<std::string, bool> const versions[] = {
        {"5.0.14", true}, {"6.0.16", true}, {"6.2.0", false}, {"7.0.15", false}, {"10.0.0", false}};
    for (auto const& [version, too_old] : versions) {
        for (bool const with_fencing : {true, false}) {
            bool greeted = false;
            fake_server old(r.context, [&](std::string_view) {
                return std::exchange(greeted, true) ? "" : welcome(version, with_fencing);
            });
            lock_manager locks(r.context, {.nodes = {old.url(), r[0].url(), r[1].url()}, .fencing = with_fencing});
            BOOST_TEST_CONTEXT(version << (with_fencing ? ", with fencing" : "")) {
                BOOST_TEST(r.run_to([&] {
                    r.acquire(locks, "stock", {.wait = 5s});
                    auto const n = locks.stats().nodes[0];
                    return with_fencing && too_old ? n.last_error == errc::unsupported_server : n.connected;
                }));
                auto const said =
                    locks.stats().nodes[0].last_message.find("fencing needs Redis 6.2, and this is version " + version);
                BOOST_TEST((said != std::string::npos) == (with_fencing && too_old));
            }
            shut_down_and_skip_time(r, locks);
        }
    }
}

namespace {

std::size_t commands_in(std::string_view request)
{
    std::size_t n = 0;
    for (std::size_t at = 0; (at = request.find('*', at)) != request.npos; ++at)
        n += at == 0 || request[at - 1] == '\n';
    return n;
}

std::string repeated(std::string_view words, std::size_t times)
{
    std::string all;
    for (; times > 0; --times)
        all += words;
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(acquire_on_a_server_that_always_replies_ok_gets_no_vote)
{
    real_servers r(2);
    fake_server yes(r.context, [](std::string_view request) { return repeated("+OK\r\n", commands_in(request)); });
    odd_one(r, yes.url(), errc::unexpected_reply);
    BOOST_TEST(yes.connections < 40);

    ending_manager alone(r, {.nodes = {yes.url()}});
    BOOST_TEST((r.acquire(alone, "stock").ec == errc::no_quorum));
    BOOST_TEST(!alone.stats().nodes[0].connected);
}

BOOST_AUTO_TEST_CASE(greeting_with_replies_that_do_not_match_is_refused)
{
    auto const good = welcome("7.0.0");
    auto const sha = std::string(stores::redis::contend_script.sha1);
    std::pair<std::string, std::string> const slips[] = {
        {"%1\r\n$4\r\nrole\r\n", "*2\r\n$4\r\nrole\r\n"},              // a reply in RESP2
        {"$4\r\nrole\r\n", "$4\r\nmode\r\n"},                          // without a role: it may be a replica
        {"$0\r\n\r\n$0", "+OK\r\n$0"},                                 // no INFO
        {"*0\r\n", "+OK\r\n"},                                         // no CONFIG GET
        {"*1\r\n$3\r\ndel\r\n+OK\r\n", "+OK\r\n*1\r\n$3\r\ndel\r\n"},  // two replies in the wrong order
        {"+" + sha, "+" + std::string(sha.rbegin(), sha.rend())},      // another script
    };
    for (auto const& [from, to] : slips) {
        BOOST_TEST_CONTEXT(from << " becomes " << to) {
            auto bad = good;
            auto const at = bad.find(from);
            BOOST_TEST_REQUIRE(at != bad.npos);
            bad.replace(at, from.size(), to);
            real_servers r(2);
            fake_server peer(r.context, [&](std::string_view) { return bad; });
            odd_one(r, peer.url(), errc::unexpected_reply);
        }
    }
}

BOOST_AUTO_TEST_CASE(connection_ends_after_a_reply_without_a_request)
{
    real_servers r(0);
    fake_server peer(r.context, [&](std::string_view) { return welcome("7.0.0", false, false) + "+OK\r\n"; });
    std::string lines;
    ending_manager locks(r, {.nodes = {peer.url()},
                             .restart_guard = restart_guard::off,
                             .record = false,
                             .log = [&](log_level, std::string_view line) { lines += line; }});

    BOOST_TEST(r.run_to([&] {
        r.acquire(locks, "stock", {.wait = 100ms});
        return peer.connections > 3;
    }));

    BOOST_TEST((locks.stats().nodes[0].last_error == errc::unexpected_reply));
    BOOST_TEST(locks.stats().acquired == 0u);
    BOOST_TEST(lines.find("a reply without a request") != lines.npos);
}

// A proxy that does not know HELLO, as twemproxy. A port that wants TLS answers nothing at all.
BOOST_AUTO_TEST_CASE(acquire_at_a_server_that_hangs_up_at_hello_is_unsupported)
{
    using answer = std::optional<std::string>;
    real_servers r(0);
    fake_server proxy(r.context, [](std::string_view request) {
        return request.find("PING") == request.npos ? answer() : answer("+PONG\r\n");
    });
    fake_server with_tls(r.context, [](std::string_view) { return answer(); });
    ending_manager locks(r, {.nodes = {proxy.url(), with_tls.url()}, .node_timeout = busy_timeout});
    auto const node = [&](std::size_t i) { return locks.stats().nodes[i]; };
    locks.async_acquire("stock", {.wait = 20s}, [](error_code, lock) {});
    BOOST_TEST(r.run_to([&] { return node(0).last_error == errc::unsupported_server; }));
    BOOST_TEST(node(0).last_message.find("it answers PING, and ends the connection at HELLO") != std::string::npos);
    BOOST_TEST(r.run_to([&] { return with_tls.connections > 5; }));
    BOOST_TEST((node(1).last_error == errc::node_unreachable));
    BOOST_TEST(node(1).last_message.find("TLS") != std::string::npos, node(1).last_message);
}

BOOST_AUTO_TEST_CASE(log_lines_and_messages_hide_a_password_that_the_server_quotes)
{
    std::string const ways[] = {"-ERR syntax error near 'hunter2&3'", "-WRONGPASS %68unter2%263 is no password",
                                "-NOAUTH got \"hunter2...\""};
    for (auto const& words : ways) {
        real_servers r(2);
        fake_server quoting(r.context,
                            [&](std::string_view request) { return repeated(words + "\r\n", commands_in(request)); });
        std::string lines;
        lock_manager locks(r.context, {.nodes = {"redis://:hunter2%263@" + quoting.url().substr(8)},
                                       .log = [&](log_level, std::string_view line) { lines += line; }});
        auto const o = r.acquire(locks, "stock");
        auto const n = locks.stats().nodes[0];
        auto const all = lines + o.report.message + o.report.nodes.at(0).message + n.last_message;
        BOOST_TEST((all.find("***") != all.npos || all.find("message is hidden") != all.npos));
        BOOST_TEST(all.find("unter2") == all.npos);
        r.shutdown(locks);
    }
}

BOOST_AUTO_TEST_CASE(acquire_with_one_server_that_sends_garbage_succeeds)
{
    real_servers r(2);
    int requests = 0;
    fake_server liar(r.context,
                     [&](std::string_view) { return ++requests % 2 == 1 ? welcome("7.0.0") : ":12\r\n$-1zzz\r\n"; });
    lock_manager locks(r.context, {.nodes = {liar.url(), r[0].url(), r[1].url()}, .node_timeout = busy_timeout});
    for (int i = 0; i < 50; ++i) {
        auto won = r.acquire(locks, "stock", {.wait = 5s});
        BOOST_TEST(!won.ec);
        r.release(won.held);
    }
    r.shutdown(locks);
    BOOST_TEST(r.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
