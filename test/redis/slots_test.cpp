// async_acquire_any on real servers.

#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <deque>
#include <map>
#include <set>
#include <string>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(any_of_several_on_real_servers)

namespace {

// The ttl is long, so a test that waits for its end fails.
constexpr acquire_options held_long{.ttl = 60s};

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

    real_servers::outcome any(lock_manager& by, acquire_options options = held_long)
    {
        real_servers::outcome o;
        options.explain = true;
        auto [ec, held] =
            r.wait_for<lock>([&](auto done) { by.async_acquire_any(slots("mailer", 3), options, std::move(done)); });
        o.ec = ec;
        o.report = *held.report();
        o.held = std::move(held);
        return o;
    }

    std::size_t slot_keys()
    {
        std::size_t n = 0;
        for (auto const& name : slots("mailer", 3))
            n += r.keys("lock:" + name);
        return n;
    }

    real_servers r{3};
    lock_manager locks, other;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(acquire_any_grants_each_slot_once, two_managers)
{
    std::deque<real_servers::outcome> held;
    std::set<std::string> names;
    // The requests of the managers reach the nodes in any order, so they may split the votes. With a wait, each manager
    // asks again until it wins.
    for (auto* by : {&locks, &other, &locks}) {
        held.push_back(any(*by, {.ttl = 60s, .wait = 30s}));
        BOOST_REQUIRE(held.back().held.held());
        names.insert(held.back().held.resource());
    }
    BOOST_TEST(names.size() == 3u);
    for (auto* by : {&locks, &other}) {
        auto const one_more = any(*by);
        BOOST_TEST((one_more.ec == errc::contended));
        BOOST_TEST((one_more.report.remaining > 1s && one_more.report.remaining < 61s));
    }
    for (auto& o : held) {
        BOOST_TEST(!r.extend(o.held, 30s));
        BOOST_TEST(!r.release(o.held));
    }
    BOOST_TEST(r.run_to([&] { return slot_keys() == 0; }));
}

BOOST_FIXTURE_TEST_CASE(acquire_any_with_wait_is_woken_by_the_release_of_any_slot, two_managers)
{
    for (std::size_t i = 0; i < 12; ++i) {
        std::deque<real_servers::outcome> held;
        for (int n = 0; n < 3; ++n)
            held.push_back(any(other, {.ttl = 60s, .wait = 30s}));
        real_servers::outcome waiter;
        auto const before = locks.stats().rounds;
        locks.async_acquire_any(slots("mailer", 3), {.ttl = 60s, .wait = 30s}, [&](error_code ec, lock l) {
            waiter.done = true;
            waiter.ec = ec;
            waiter.held = std::move(l);
        });
        BOOST_TEST(r.run_to([&] { return locks.stats().rounds > before; }));
        r.context.restart();
        r.context.run_for(50ms);  // by now the manager has usually asked for notifications
        auto const name = held[i % 3].held.resource();
        BOOST_TEST(!r.release(held[i % 3].held));
        BOOST_TEST(r.run_to([&] { return waiter.done; }));
        BOOST_TEST(waiter.held.resource() == name);
        BOOST_TEST(!r.release(waiter.held));
        held.clear();
        BOOST_TEST(r.run_to([&] { return slot_keys() == 0; }));
    }
}

BOOST_AUTO_TEST_CASE(acquire_any_returns_growing_fencing_tokens_for_each_slot)
{
    two_managers t({.fencing = true});
    std::map<std::string, std::uint64_t> highest;
    for (int i = 0; i < 12; ++i) {
        auto one = t.any(t.locks, {.ttl = 60s, .wait = 30s}), two = t.any(t.other, {.ttl = 60s, .wait = 30s});
        for (auto* o : {&one, &two}) {
            BOOST_REQUIRE(o->held.held());
            auto& before = highest[o->held.resource()];
            BOOST_TEST(o->held.fencing_token() > before);
            before = o->held.fencing_token();
        }
        BOOST_TEST(!t.r.release(two.held));
        BOOST_TEST(!t.r.release(one.held));
    }
}

BOOST_FIXTURE_TEST_CASE(acquire_any_skips_a_key_of_another_type, two_managers)
{
    r.ask_all({"LPUSH", "lock:mailer:2", "of somebody else"});
    auto one = any(locks, {.ttl = 60s, .wait = 30s}), two = any(other, {.ttl = 60s, .wait = 30s});
    BOOST_TEST(one.held.held());
    BOOST_TEST(two.held.held());
    BOOST_TEST((any(locks).ec == errc::contended));
    BOOST_TEST(r[0].ask({"LLEN", "lock:mailer:2"}) == "1");
    BOOST_TEST(!r.release(one.held));
    BOOST_TEST(!r.release(two.held));
}

BOOST_AUTO_TEST_CASE(acquire_any_needs_no_more_commands_in_an_access_list)
{
    real_servers r(1);
    r[0].ask({"ACL", "SETUSER", "locker", "on", ">pw", "~lock:*", "-@all", "+hello", "+set", "+evalsha", "+script|load",
              "+get", "+del", "+pexpire", "+pttl", "+info", "+command|list", "+ping"});
    auto const url = "redis://locker:pw@127.0.0.1:" + std::to_string(r[0].port());
    ending_manager locks(r, {.nodes = {url}, .node_timeout = busy_timeout});
    std::deque<lock> held;
    for (int i = 0; i < 3; ++i) {
        auto [ec, l] = r.wait_for<lock>(
            [&](auto done) { locks.async_acquire_any(slots("mailer", 3), {.ttl = 60s, .wait = 5s}, std::move(done)); });
        BOOST_TEST(!ec);
        held.push_back(std::move(l));
    }
    bool done = false;
    lock waited;
    locks.async_acquire_any(slots("mailer", 3), {.ttl = 60s, .wait = 30s},
                            [&](error_code, lock l) { done = true, waited = std::move(l); });
    r.context.restart();
    r.context.run_for(50ms);
    BOOST_TEST(!r.release(held.front()));
    BOOST_TEST(r.run_to([&] { return done; }));
    BOOST_TEST(waited.held());
    held.clear();
    waited = {};
}

BOOST_FIXTURE_TEST_CASE(acquire_any_after_script_flush_loads_the_script_again, two_managers)
{
    for (int i = 0; i < 3; ++i) {
        r.ask_all({"SCRIPT", "FLUSH"});
        auto one = any(locks, {.ttl = 60s, .wait = 30s});
        BOOST_TEST(one.held.held());
        BOOST_TEST(!r.release(one.held));
        BOOST_TEST(r.run_to([&] { return slot_keys() == 0; }));
    }
}

BOOST_AUTO_TEST_SUITE_END()
