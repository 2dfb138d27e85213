#include "core/key.hpp"
#include "support/real_servers.hpp"
#include "testbed/plain_client.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(fencing_on_real_servers)

namespace {

config fenced(real_servers& r)
{
    auto c = r.settings();
    c.fencing = true;
    return c;
}

std::string counter_of(local_server& s)
{
    return s.ask({"GET", core::fence_key("lock:stock")});
}

}  // namespace

BOOST_AUTO_TEST_CASE(tokens_grow_over_managers_and_are_in_the_counters)
{
    real_servers r(5);
    lock_manager a(r.context, fenced(r)), b(r.context, fenced(r));
    std::uint64_t last = 0;
    for (int i = 0; i < 40; ++i) {
        auto won = r.acquire(i % 2 ? a : b, "stock", {.wait = 5s});
        BOOST_REQUIRE(!won.ec);
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
    r.shutdown(a);
    r.shutdown(b);
}

BOOST_AUTO_TEST_CASE(counters_that_disagree_are_raised_in_a_second_round)
{
    real_servers r(3);
    lock_manager locks(r.context, fenced(r));
    r.connect(locks);
    std::uint64_t const ahead = 1ull << 52;  // further than any clock
    for (std::size_t i = 0; i < 3; ++i)
        r[i].ask({"SET", core::fence_key("lock:stock"), std::to_string(ahead + 1000 * i)});
    auto won = r.acquire(locks, "stock");
    BOOST_TEST(!won.ec);
    BOOST_TEST(won.report.second_rounds == 1u);
    BOOST_TEST(won.held.fencing_token() > ahead);
    auto const token = won.held.fencing_token();
    auto const at_least = std::count_if(r.servers.begin(), r.servers.end(), [&](auto& s) { return std::stoull(counter_of(*s)) >= token; });
    BOOST_TEST(at_least >= 2);
    BOOST_TEST(!r.release(won.held));
    r.run_to([&] { return r.keys("lock:stock") == 0; });
    BOOST_TEST(r.acquire(locks, "stock").held.fencing_token() > token);
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(tokens_outlive_a_crash_of_all_servers_with_a_log)
{
    real_servers r(3, {"--appendonly", "yes", "--appendfsync", "always"});
    lock_manager locks(r.context, fenced(r));
    auto won = r.acquire(locks, "stock", {.wait = 5s});
    auto const token = won.held.fencing_token();
    for (auto& s : r.servers)
        s->ask({"SET", core::fence_key("lock:stock"), std::to_string(token + 1'000'000'000'000)});  // beyond the clock
    for (auto& s : r.servers) {
        s->kill();
        s->start();
    }
    r.run_to([&] { return !r.extend(won.held, 10s); });
    BOOST_TEST(!r.release(won.held));
    auto next = r.acquire(locks, "stock", {.wait = 5s});
    BOOST_TEST(next.held.fencing_token() > token + 1'000'000'000'000);
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(a_lock_does_not_reappear_after_its_release)
{
    for (bool const with_fencing : {true, false}) {
        real_servers r(3);
        auto settings = r.settings();
        settings.fencing = with_fencing;
        settings.node_timeout = 100ms;
        settings.connect_timeout = 300ms;
        lock_manager locks(r.context, settings);
        r.connect(locks);
        r[0].pause();  // what it is sent stays in its buffers
        auto won = r.acquire(locks, "stock", {.ttl = 30s});
        BOOST_TEST(!won.ec);
        BOOST_TEST(!r.release(won.held));
        // The connection is given up; then the server goes on, with what it had been sent, and a new connection.
        BOOST_TEST(r.run_to([&] { return !locks.stats().nodes[0].connected; }));
        r[0].resume();
        BOOST_TEST(r.run_to([&] { return locks.stats().nodes[0].connected; }));
        BOOST_TEST(r.run_to([&] { return locks.stats().cleaning == 0 || r.keys("lock:stock") == 0; }));
        r.context.restart();
        r.context.run_for(1s);
        BOOST_TEST(r.keys("lock:stock") == 0u);
        if (with_fencing)  // the tombstone stops whatever is still on its way
            BOOST_TEST(locks.stats().cleaning == 0u);
        r.shutdown(locks);
    }
}

BOOST_AUTO_TEST_CASE(fencing_needs_the_time_and_the_counters_keys_in_an_access_list)
{
    real_servers r(1);
    r[0].ask({"ACL", "SETUSER", "locker", "on", ">pw", "~lock:*", "~{lock:*", "-@all", "+hello", "+set", "+evalsha", "+script|load",
              "+get", "+mget", "+exists", "+del", "+pexpire", "+pttl", "+info", "+command|list", "+ping", "+time"});
    auto const url = "redis://locker:pw@127.0.0.1:" + std::to_string(r[0].port());
    lock_manager locks(r.context, {.nodes = {url}, .fencing = true});
    auto won = r.acquire(locks, "stock");
    BOOST_TEST(!won.ec);
    BOOST_TEST(won.held.fencing_token() > 0u);
    BOOST_TEST(!r.extend(won.held, 20s));
    BOOST_TEST(!r.release(won.held));

    r[0].ask({"ACL", "SETUSER", "locker", "resetkeys", "~lock:*"});
    auto const refused = r.acquire(locks, "stock");
    BOOST_TEST((refused.ec == errc::no_quorum));
    BOOST_TEST((refused.report.nodes[0].error == errc::permission_denied));
    BOOST_TEST(r.keys("lock:stock") == 0u);
    r.shutdown(locks);
}

BOOST_AUTO_TEST_CASE(a_renewal_sets_the_key_again_on_a_server_that_forgot)
{
    for (bool const with_fencing : {true, false}) {
        real_servers r(3);
        auto settings = r.settings();
        settings.fencing = with_fencing;
        lock_manager locks(r.context, settings);
        auto won = r.acquire(locks, "stock", {.ttl = 1s, .renew = renewal::automatic});
        BOOST_TEST(!won.ec);
        r.run_to([&] { return r.keys("lock:stock") == 3; });
        r[1].ask({"FLUSHALL"});
        BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 3; }));
        BOOST_TEST(won.held.held());
        BOOST_TEST(r.run_to([&] { return locks.stats().healed == 1; }));
        if (with_fencing)
            BOOST_TEST(counter_of(r[1]) == std::to_string(won.held.fencing_token()));
        BOOST_TEST(!r.release(won.held));
        BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 0; }));
        r.shutdown(locks);
    }
}

BOOST_AUTO_TEST_SUITE_END()
