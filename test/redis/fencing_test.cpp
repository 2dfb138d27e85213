#include "core/key.hpp"
#include "support/quarantine.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(fencing_on_real_servers, *only_with_fencing())

namespace {

std::string counter_of(local_server& s) { return s.ask({"ZSCORE", core::fence_key("lock:stock"), "token"}); }

}  // namespace

BOOST_AUTO_TEST_CASE(fencing_token_grows_over_managers_and_is_in_the_counters)
{
    real_servers r(5);
    ending_manager a(r, r.settings({.fencing = true})), b(r, r.settings({.fencing = true}));
    r.connect(a);
    r.connect(b);
    std::uint64_t last = 0;
    for (int i = 0; i < 40; ++i) {
        auto won = r.acquire(i % 2 ? a : b, "stock", {.wait = 5s});
        BOOST_REQUIRE(!won.ec);
        // Otherwise a late node would take the token after the check below.
        BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 5; }));
        BOOST_TEST(won.held.fencing_token() > last);
        last = won.held.fencing_token();
        BOOST_TEST(!r.release(won.held));
        r.run_to([&] { return r.keys("lock:stock") == 0; });
    }
    for (auto& s : r.servers) {
        BOOST_TEST(counter_of(*s) == std::to_string(last));
        BOOST_TEST(s->ask({"PTTL", core::fence_key("lock:stock")}) == "-1");  // a counter never expires
    }
    BOOST_TEST(a.stats().second_rounds + b.stats().second_rounds == 0u);
}

BOOST_AUTO_TEST_CASE(fencing_counters_that_disagree_are_raised_to_one_token)
{
    real_servers r(3);
    ending_manager locks(r, r.settings({.fencing = true}));
    r.connect(locks);
    std::uint64_t const ahead = 1ull << 52;  // further than any clock
    for (std::size_t i = 0; i < 3; ++i)
        r[i].ask({"ZADD", core::fence_key("lock:stock"), std::to_string(ahead + 1000 * i), "token"});
    auto won = r.acquire(locks, "stock");
    BOOST_TEST(!won.ec);
    BOOST_TEST(won.report.rounds >= 2u);  // the first round learns the counters of two nodes
    BOOST_TEST(won.report.rounds <= 3u);  // the second round may learn the counter of the third node
    BOOST_TEST(won.report.second_rounds <= 2u);
    BOOST_TEST(won.held.fencing_token() > ahead);
    auto const token = won.held.fencing_token();
    auto const at_least = std::count_if(r.servers.begin(), r.servers.end(),
                                        [&](auto& s) { return std::stoull(counter_of(*s)) >= token; });
    BOOST_TEST(at_least >= 2);
    BOOST_TEST(!r.release(won.held));
    r.run_to([&] { return r.keys("lock:stock") == 0; });
    BOOST_TEST(r.acquire(locks, "stock").held.fencing_token() > token);
}

BOOST_AUTO_TEST_CASE(fencing_token_grows_after_a_crash_of_all_servers_with_a_log)
{
    real_servers r(3, {"--appendonly", "yes", "--appendfsync", "always"});
    ending_manager locks(r, r.settings({.fencing = true}));
    auto won = r.acquire(locks, "stock", {.ttl = 60s, .wait = 5s});
    auto const token = won.held.fencing_token();
    // A counter ahead of the clock.
    r.ask_all({"ZADD", core::fence_key("lock:stock"), std::to_string(token + 1'000'000'000'000), "token"});
    for (auto& s : r.servers) {
        s->kill();
        s->start();
    }
    r.run_to([&] { return !r.extend(won.held, 10s); });
    BOOST_TEST(!r.release(won.held));
    auto next = r.acquire(locks, "stock", {.wait = 5s});
    BOOST_TEST(next.held.fencing_token() > token + 1'000'000'000'000);
    next.held = {};
}

BOOST_AUTO_TEST_CASE(release_on_a_hung_server_leaves_no_key)
{
    for (bool const with_fencing : {true, false}) {
        real_servers r(3);
        lock_manager locks(r.context, r.settings({.node_timeout = 1s, .fencing = with_fencing}));
        r.connect(locks);
        r[0].pause();  // commands to it stay in its buffers
        auto won = r.acquire(locks, "stock", {.ttl = 30s});
        BOOST_TEST(!won.ec);
        BOOST_TEST(!r.release(won.held));
        // The manager ends the connection. Then the server continues with the buffered commands, and gets a new
        // connection.
        for (int i = 0; i < 3 && locks.stats().nodes[0].connected; ++i) {
            skip_time(1s);  // the interval of heartbeats
            r.context.restart();
            r.context.run_for(50ms);
        }
        BOOST_TEST(r.run_to([&] { return !locks.stats().nodes[0].connected; }));
        r[0].resume();
        BOOST_TEST(r.run_to([&] { return locks.stats().nodes[0].connected; }));
        // This is long before the end of the ttl: the server kills the old connection before it executes the release.
        BOOST_TEST(r.run_to([&] { return locks.stats().cleaning == 0; }));
        BOOST_TEST(r.keys("lock:stock") == 0u);
        r.context.restart();
        r.context.run_for(200ms);
        BOOST_TEST(r.keys("lock:stock") == 0u);
        BOOST_TEST(r[0].ask({"INFO", "commandstats"}).find("cmdstat_client|kill:calls=1,") != std::string::npos);
        r.shutdown(locks);
    }
}

BOOST_AUTO_TEST_CASE(release_without_client_kill_checks_the_key_again)
{
    real_servers r(3);
    r[0].ask({"ACL", "SETUSER", "default", "-client|kill"});
    ending_manager locks(r, r.settings({.node_timeout = 1s}));
    r.connect(locks);
    r[0].pause();
    auto const begun = clock::now();
    auto won = r.acquire(locks, "stock", {.ttl = 5s});
    BOOST_TEST(!won.ec);
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(r.run_to([&] { return !locks.stats().nodes[0].connected; }));
    r[0].resume();
    BOOST_TEST(r.run_to([&] { return locks.stats().cleaning == 0; }));
    BOOST_TEST(r.keys("lock:stock") == 0u);
    // The clean-up either deleted the key, or did not find it and checked until the end of the ttl.
    auto const statistics = r[0].ask({"INFO", "commandstats"});
    bool const deleted = statistics.find("cmdstat_del:calls=1,") != std::string::npos;
    BOOST_TEST((deleted || clock::now() >= begun + 5s));
    BOOST_TEST(statistics.find("cmdstat_client|kill:calls=0,") != std::string::npos);  // the access list forbids it
}

BOOST_FIXTURE_TEST_CASE(connection_to_a_restarted_server_kills_no_client, connected_to<3>)
{
    r[0].kill();
    r[0].start();
    BOOST_TEST(r.run_to([&] { return locks.stats().nodes[0].connections == 2 || (r.acquire(locks, "stock"), false); }));
    BOOST_TEST(r[0].ask({"INFO", "commandstats"}).find("client|kill") == std::string::npos);
    shut_down_and_skip_time(r, locks);
}

BOOST_AUTO_TEST_CASE(fencing_needs_only_zadd_and_zincrby_in_an_access_list)
{
    real_servers r(1);
    r[0].ask({"ACL",    "SETUSER", "locker",        "on",           ">pw",   "~lock:*", "-@all",
              "+hello", "+set",    "+evalsha",      "+script|load", "+get",  "+del",    "+pexpire",
              "+pttl",  "+info",   "+command|list", "+ping",        "+zadd", "+zincrby"});
    auto const url = "redis://locker:pw@127.0.0.1:" + std::to_string(r[0].port());
    ending_manager locks(r, {.nodes = {url}, .node_timeout = busy_timeout, .fencing = true});
    auto won = r.acquire(locks, "stock");
    BOOST_TEST(!won.ec);
    BOOST_TEST(won.held.fencing_token() > 0u);
    BOOST_TEST(!r.extend(won.held, 20s));
    BOOST_TEST(!r.release(won.held));

    r[0].ask({"ACL", "SETUSER", "locker", "-zadd"});
    auto const refused = r.acquire(locks, "stock");
    BOOST_TEST((refused.ec == errc::no_quorum));
    BOOST_TEST((refused.report.nodes[0].error == errc::permission_denied));
    BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 0; }));
}

BOOST_AUTO_TEST_CASE(renewal_sets_a_missing_key_again)
{
    for (bool const with_fencing : {true, false}) {
        real_servers r(3);
        lock_manager locks(r.context, r.settings({.fencing = with_fencing}));
        auto won = r.acquire(locks, "stock", {.ttl = 5s, .renew = renewal::automatic});
        BOOST_TEST(!won.ec);
        r.run_to([&] { return r.keys("lock:stock") == 3; });
        r[1].ask({"FLUSHALL"});
        skip_time(1700ms);  // a third of the ttl
        BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 3; }));
        BOOST_TEST(won.held.held());
        BOOST_TEST(r.run_to([&] { return locks.stats().healed == 1; }));
        BOOST_TEST(!r.release(won.held));
        BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 0; }));
        r.shutdown(locks);
    }
}

BOOST_AUTO_TEST_CASE(acquire_of_similar_names_uses_separate_keys)
{
    for (std::string const prefix : {"lock:", ""}) {
        real_servers r(3);
        auto const settings = r.settings({.prefix = prefix, .fencing = true});
        lock_manager locks(r.context, settings), waiting(r.context, settings);
        for (std::string const name : {"{a}", "a"}) {
            auto held = r.acquire(locks, name, {.wait = 1s});
            BOOST_TEST(held.held.held());
            real_servers::outcome waiter;
            r.start_acquire(waiter, waiting, name, {.wait = 30s});  // creates the list of denied clients
            BOOST_TEST(r.run_to([&] { return r.keys(core::wanted_key(prefix + name)) == 3; }));
            for (auto const* suffix : {":fence", ":wanted", ":turn", ":gone:v", ":turn:{a}", ":wanted:{a}"})
                BOOST_TEST(!r.release(r.acquire(locks, name + suffix).held), name << suffix);
            BOOST_TEST(!r.release(r.acquire(locks, "{" + name + "}:fence").held));
            r.release(held.held);
            BOOST_TEST(r.run_to([&] { return waiter.done; }));
            r.release(waiter.held);
        }
        for (std::string const name : {"{b}", "b"}) {  // the same with the similar names first
            std::vector<lock> others;
            for (auto const& other : {name + ":fence", "{" + name + "}:fence", name + ":wanted", name + ":turn"})
                others.push_back(r.acquire(locks, other).held);
            BOOST_TEST(!r.release(r.acquire(locks, name).held));
        }
        for (auto const* marked : {"a:=fence:{lock:a}", "{a}:=fence", "a:=wanted:{lock:a}", "a:=turn", "a:=gone:x"}) {
            BOOST_TEST((r.acquire(locks, marked).ec == errc::invalid_argument));
            auto const inspected =
                r.wait_for<lock_info>([&](auto done) { locks.async_inspect(marked, std::move(done)); });
            BOOST_TEST((inspected.first == errc::invalid_argument));
        }
        r.shutdown(locks);
        r.shutdown(waiting);
    }
}

BOOST_AUTO_TEST_SUITE_END()
