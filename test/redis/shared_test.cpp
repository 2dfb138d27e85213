// Shared locks on real servers.

#include "core/key.hpp"
#include "support/real_servers.hpp"
#include "bed/plain_client.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(shared_locks_on_real_servers)

namespace {

constexpr acquire_options reading{.ttl = 60s, .mode = mode::shared};

struct two_managers {
    explicit two_managers(manager_options special = {})
        : locks(r.context, r.settings(special)), other(r.context, r.settings(special))
    {
        r.connect(locks);
        r.connect(other);
    }

    ~two_managers()
    {
        r.shutdown(locks);
        r.shutdown(other);
    }

    real_servers r{3};
    lock_manager locks, other;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_shared_admits_readers_and_excludes_writers, two_managers)
{
    auto one = r.acquire(locks, "stock", reading), two = r.acquire(other, "stock", reading);
    BOOST_TEST(one.held.held());
    BOOST_TEST(two.held.held());
    BOOST_TEST(r[0].ask({"GET", "lock:stock"}) == ":=shared");
    BOOST_TEST((r.acquire(other, "stock").ec == errc::contended));
    BOOST_TEST(!r.extend(one.held, 30s));
    BOOST_TEST(!r.release(one.held));
    BOOST_TEST((r.acquire(locks, "stock").ec == errc::contended));
    BOOST_TEST(!r.release(two.held));
    auto alone = r.acquire(locks, "stock");
    BOOST_TEST(alone.held.held());
    BOOST_TEST((r.acquire(other, "stock", reading).ec == errc::contended));
    BOOST_TEST(!r.release(alone.held));
    BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 0 && r.keys(core::readers_key("lock:stock")) == 0; }));
}

// A plain Redlock client knows no shared locks.
BOOST_FIXTURE_TEST_CASE(acquire_shared_excludes_plain_redlock_clients, two_managers)
{

    auto reader = r.acquire(locks, "stock", reading);
    BOOST_TEST(r[0].ask({"SET", "lock:stock", "plain", "NX", "PX", "60000"}) == "(nil)");
    BOOST_TEST(!r.release(reader.held));
    BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 0; }));
    for (std::size_t i = 0; i < 3; ++i)
        BOOST_TEST(r[i].ask({"SET", "lock:stock", "plain", "NX", "PX", "60000"}) == "OK");
    BOOST_TEST((r.acquire(locks, "stock", reading).ec == errc::contended));
}

BOOST_FIXTURE_TEST_CASE(release_of_the_last_reader_wakes_a_waiting_writer, two_managers)
{
    for (int i = 0; i < 10; ++i) {
        auto reader = r.acquire(locks, "stock", reading);
        BOOST_REQUIRE(!reader.ec);
        real_servers::outcome writer, late;
        r.start_acquire(writer, other, "stock", {.ttl = 60s, .wait = 30s});
        BOOST_TEST(r.run_to([&] { return r.keys(core::wanted_key("lock:stock")) == 3; }));
        r.start_acquire(late, locks, "stock", {.ttl = 59s, .wait = 30s, .max_hold = 58s, .mode = mode::shared});
        BOOST_TEST(!r.release(reader.held));
        BOOST_TEST(r.run_to([&] { return writer.done && writer.held.held(); }));
        BOOST_TEST(!late.done);
        BOOST_TEST(!r.release(writer.held));
        BOOST_TEST(r.run_to([&] { return late.done; }));  // woken: the ttl of the writer is a minute
        BOOST_TEST(late.held.held());
        BOOST_TEST(!r.release(late.held));
        BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 0; }));
    }
}

BOOST_AUTO_TEST_CASE(acquire_shared_returns_at_least_the_token_of_the_last_writer, *only_with_fencing())
{
    two_managers t({.fencing = true});
    auto& r = t.r;
    auto first = r.acquire(t.locks, "stock");
    auto const number = first.held.fencing_token();
    BOOST_TEST(!r.release(first.held));
    BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 0; }));
    auto one = r.acquire(t.locks, "stock", reading), two = r.acquire(t.other, "stock", reading);
    BOOST_TEST(one.held.fencing_token() >= number);
    BOOST_TEST(two.held.fencing_token() >= number);
    auto const highest = std::max(one.held.fencing_token(), two.held.fencing_token());
    BOOST_TEST(!r.release(one.held));
    BOOST_TEST(!r.release(two.held));
    BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 0; }));
    auto next = r.acquire(t.other, "stock");
    BOOST_TEST(next.held.fencing_token() > highest);
    BOOST_TEST(!r.release(next.held));
}

BOOST_AUTO_TEST_CASE(upgrade_and_downgrade_of_a_shared_lock_succeed, *only_with_fencing())
{
    two_managers t({.fencing = true});
    auto& r = t.r;
    auto one = r.acquire(t.locks, "stock", {.ttl = 60s, .mode = mode::shared}),
         two = r.acquire(t.other, "stock", reading);
    auto const number = one.held.fencing_token();
    BOOST_TEST((r.upgrade(one.held) == errc::contended));
    BOOST_TEST(!r.release(two.held));
    for (error_code ec = errc::contended; ec == errc::contended; ec = r.upgrade(one.held)) {
    }
    BOOST_TEST((one.held.mode() == mode::exclusive));
    BOOST_TEST(one.held.fencing_token() > number);
    BOOST_TEST((r.acquire(t.other, "stock", reading).ec == errc::contended));
    BOOST_TEST((r.acquire(t.other, "stock").ec == errc::contended));
    BOOST_TEST(!r.extend(one.held, 55s));

    real_servers::outcome waits;
    r.start_acquire(waits, t.other, "stock", {.ttl = 30s, .wait = 60s, .mode = mode::shared});
    BOOST_TEST(!r.downgrade(one.held));
    BOOST_TEST(r.run_to([&] { return waits.done; }));
    BOOST_TEST(waits.held.held());
    BOOST_TEST(one.held.held());
    BOOST_TEST(waits.held.fencing_token() >= one.held.fencing_token());
    BOOST_TEST((r.acquire(t.other, "stock").ec == errc::contended));
    BOOST_TEST(!r.extend(one.held, 55s));
    BOOST_TEST(!r.release(one.held));
    BOOST_TEST(!r.release(waits.held));
    BOOST_TEST(r.run_to([&] { return r.keys("lock:stock") == 0; }));
}

BOOST_AUTO_TEST_CASE(acquire_shared_needs_only_six_more_commands_in_an_access_list)
{
    real_servers r(1);
    r[0].ask({"ACL",
              "SETUSER",
              "locker",
              "on",
              ">pw",
              "~lock:*",
              "-@all",
              "+hello",
              "+set",
              "+evalsha",
              "+script|load",
              "+get",
              "+del",
              "+pexpire",
              "+pttl",
              "+info",
              "+command|list",
              "+ping",
              "+zadd",
              "+zscore",
              "+zrem",
              "+zcard",
              "+zremrangebyscore",
              "+time"});
    auto const url = "redis://locker:pw@127.0.0.1:" + std::to_string(r[0].port());
    ending_manager locks(r, {.nodes = {url}, .node_timeout = busy_timeout});
    auto won = r.acquire(locks, "stock", reading);
    BOOST_TEST(!won.ec);
    BOOST_TEST(!r.extend(won.held, 20s));
    BOOST_TEST(!r.upgrade(won.held));
    BOOST_TEST(!r.extend(won.held, 20s));
    BOOST_TEST(!r.downgrade(won.held));
    BOOST_TEST(!r.release(won.held));
    BOOST_TEST(r.keys("lock:stock") == 0u);

    r[0].ask({"ACL", "SETUSER", "locker", "-zadd"});
    auto const refused = r.acquire(locks, "stock", reading);
    BOOST_TEST((refused.ec == errc::no_quorum));
    BOOST_TEST((refused.report.nodes[0].error == errc::permission_denied));
    BOOST_TEST(r.acquire(locks, "stock").held.held());  // an exclusive lock does not need ZADD
}

BOOST_FIXTURE_TEST_CASE(acquire_shared_with_a_wrong_readers_key_reports_wrong_type, two_managers)
{
    r.ask_all({"SET", core::readers_key("lock:stock"), "of somebody else"});
    auto const refused = r.acquire(locks, "stock", reading);
    BOOST_TEST((refused.ec == errc::no_quorum));
    BOOST_TEST((std::any_of(refused.report.nodes.begin(), refused.report.nodes.end(),
                            [](auto& n) { return n.error == errc::wrong_type; })));
    BOOST_TEST(r.keys("lock:stock") == 0u);
    BOOST_TEST(r[0].ask({"GET", core::readers_key("lock:stock")}) == "of somebody else");
}

BOOST_AUTO_TEST_SUITE_END()
