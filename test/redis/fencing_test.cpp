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

BOOST_AUTO_TEST_CASE(tokens_grow_over_managers_and_are_in_the_counters)
{
    real_servers r(5);
    ending_manager a(r, r.settings({.fencing = true})), b(r, r.settings({.fencing = true}));
    r.connect(a);
    r.connect(b);
    std::uint64_t last = 0;
    for (int i = 0; i < 40; ++i) {
        auto won = r.acquire(i % 2 ? a : b, "stock", {.wait = 5s});
        BOOST_REQUIRE(!won.ec);
        BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 5; }));  // or a late one takes its token after we have
                                                                          // looked
        BOOST_TEST(won.held.fencing_token() > last);
        last = won.held.fencing_token();
        BOOST_TEST(!r.release(won.held));
        r.run_to([&] { return r.keys("lock:stock") == 0; });
    }
    for (auto& s : r.servers) {
        BOOST_TEST(counter_of(*s) == std::to_string(last));
        BOOST_TEST(s->ask({"PTTL", core::fence_key("lock:stock")}) == "-1");  // it never expires
    }
    BOOST_TEST(a.stats().second_rounds + b.stats().second_rounds == 0u);
}

BOOST_AUTO_TEST_CASE(counters_ahead_of_the_clock_that_disagree_are_raised_to_one_token)
{
    real_servers r(3);
    ending_manager locks(r, r.settings({.fencing = true}));
    r.connect(locks);
    std::uint64_t const ahead = 1ull << 52;  // further than any clock
    for (std::size_t i = 0; i < 3; ++i)
        r[i].ask({"ZADD", core::fence_key("lock:stock"), std::to_string(ahead + 1000 * i), "token"});
    auto won = r.acquire(locks, "stock");
    BOOST_TEST(!won.ec);
    BOOST_TEST(won.report.rounds >= 2u);  // the first one learns what to propose,
    BOOST_TEST(won.report.rounds <= 3u);  // and the next one perhaps of the third node
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

BOOST_AUTO_TEST_CASE(tokens_outlive_a_crash_of_all_servers_with_a_log)
{
    real_servers r(3, {"--appendonly", "yes", "--appendfsync", "always"});
    ending_manager locks(r, r.settings({.fencing = true}));
    auto won = r.acquire(locks, "stock", {.ttl = 60s, .wait = 5s});
    auto const token = won.held.fencing_token();
    r.ask_all({"ZADD", core::fence_key("lock:stock"), std::to_string(token + 1'000'000'000'000), "token"});  // beyond
                                                                                                             // the
                                                                                                             // clock
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

BOOST_AUTO_TEST_CASE(a_lock_does_not_reappear_after_its_release)
{
    for (bool const with_fencing : {true, false}) {
        real_servers r(3);
        lock_manager locks(r.context, r.settings({.node_timeout = 1s, .fencing = with_fencing}));
        r.connect(locks);
        r[0].pause();  // what it is sent stays in its buffers
        auto won = r.acquire(locks, "stock", {.ttl = 30s});
        BOOST_TEST(!won.ec);
        BOOST_TEST(!r.release(won.held));
        // The connection is given up; then the server goes on, with what it had been sent, and a new connection.
        for (int i = 0; i < 3 && locks.stats().nodes[0].connected; ++i) {
            skip_time(1s);  // it looks so often
            r.context.restart();
            r.context.run_for(50ms);
        }
        BOOST_TEST(r.run_to([&] { return !locks.stats().nodes[0].connected; }));
        r[0].resume();
        BOOST_TEST(r.run_to([&] { return locks.stats().nodes[0].connected; }));
        // Long before the ttl is over, because the server has ended the old connection before it carried out the
        // release.
        BOOST_TEST(r.run_to([&] { return locks.stats().cleaning == 0; }));
        BOOST_TEST(r.keys("lock:stock") == 0u);
        r.context.restart();
        r.context.run_for(200ms);
        BOOST_TEST(r.keys("lock:stock") == 0u);
        BOOST_TEST(r[0].ask({"INFO", "commandstats"}).find("cmdstat_client|kill:calls=1,") != std::string::npos);
        r.shutdown(locks);
    }
}

BOOST_AUTO_TEST_CASE(where_the_server_may_not_end_the_old_connection_the_clean_up_looks_again)
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
    // It was found and deleted, or it was not there, and believed only when the ttl was over.
    auto const statistics = r[0].ask({"INFO", "commandstats"});
    bool const deleted = statistics.find("cmdstat_del:calls=1,") != std::string::npos;
    BOOST_TEST((deleted || clock::now() >= begun + 5s));
    BOOST_TEST(statistics.find("cmdstat_client|kill:calls=0,") != std::string::npos);  // it was refused
}

BOOST_FIXTURE_TEST_CASE(another_life_of_a_server_is_not_asked_to_end_a_connection_of_the_one_before, connected_to<3>)
{
    r[0].kill();
    r[0].start();
    BOOST_TEST(r.run_to([&] { return locks.stats().nodes[0].connections == 2 || (r.acquire(locks, "stock"), false); }));
    BOOST_TEST(r[0].ask({"INFO", "commandstats"}).find("client|kill") == std::string::npos);
    shut_down_without_patience(r, locks);
}

BOOST_AUTO_TEST_CASE(fencing_needs_two_commands_in_an_access_list_and_no_other_keys)
{
    real_servers r(1);
    r[0].ask({"ACL",    "SETUSER", "locker",        "on",           ">pw",   "~lock:*", "-@all",
              "+hello", "+set",    "+evalsha",      "+script|load", "+get",  "+del",    "+pexpire",
              "+pttl",  "+info",   "+command|list", "+ping",        "+zadd", "+zincrby"});
    auto const url = "redis://locker:pw@127.0.0.1:" + std::to_string(r[0].port());
    ending_manager locks(r, {.nodes = {url}, .node_timeout = patience, .fencing = true});
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

BOOST_AUTO_TEST_CASE(a_renewal_sets_the_key_again_on_a_server_that_forgot)
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

BOOST_AUTO_TEST_CASE(no_lock_is_called_as_what_belongs_to_another)
{
    for (std::string const prefix : {"lock:", ""}) {
        real_servers r(3);
        auto const settings = r.settings({.prefix = prefix, .fencing = true});
        lock_manager locks(r.context, settings), waiting(r.context, settings);
        for (std::string const name : {"{a}", "a"}) {
            auto held = r.acquire(locks, name, {.wait = 1s});
            BOOST_TEST(held.held.held());
            real_servers::outcome waiter;
            r.start_acquire(waiter, waiting, name, {.wait = 30s});  // makes the list
            BOOST_TEST(r.run_to([&] { return r.keys(core::wanted_key(prefix + name)) == 3; }));
            for (auto const* suffix : {":fence", ":wanted", ":turn", ":gone:v", ":turn:{a}", ":wanted:{a}"})
                BOOST_TEST(!r.release(r.acquire(locks, name + suffix).held), name << suffix);
            BOOST_TEST(!r.release(r.acquire(locks, "{" + name + "}:fence").held));
            r.release(held.held);
            BOOST_TEST(r.run_to([&] { return waiter.done; }));
            r.release(waiter.held);
        }
        for (std::string const name : {"{b}", "b"}) {  // the other way round
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
