// The line of waiting clients, and what the servers remember about them.

#include "core/key.hpp"
#include "stores/memory/lock_table.hpp"
#include "stores/redis/encoder.hpp"
#include "stores/redis/decoder.hpp"
#include "stores/redis/scripts.hpp"
#include "support/real_servers.hpp"
#include "support/resp_commands.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using kind = node_command::kind;

BOOST_AUTO_TEST_SUITE(line_on_real_servers)

namespace {

std::string const key = "lock:stock";

/// One server and the model of it.
struct server_and_model {
    // @return how many clients are ahead; -1 if the lock was granted
    int contend(std::string const& who)
    {
        node_command const c{
            .what = commands::acquire{.contender = who}, .keys = {&key, 1}, .value = who, .ttl = 10min};
        auto const actual = ask(c);
        auto const expected = model.carry_out(c, now);
        BOOST_TEST((actual.vote == expected.vote));
        BOOST_TEST(actual.wanted == expected.wanted);
        BOOST_TEST(actual.ahead == expected.ahead);
        BOOST_TEST(actual.stands_by == expected.stands_by);
        holder = actual.vote == vote::granted ? who : holder;
        return actual.vote == vote::granted ? -1 : static_cast<int>(actual.ahead);
    }
    void release()
    {
        s.ask({"DEL", key});
        model.carry_out({.what = commands::release{}, .keys = {&key, 1}, .value = holder}, now);
    }
    void withdraw(std::string const& who)
    {
        s.ask({"HDEL", core::wanted_key(key), who});
        model.carry_out({.what = commands::withdraw{.contender = who}, .keys = {&key, 1}}, now);
    }
    void compare_places()
    {
        for (auto const& who : clients) {
            auto const place = core::place_key(key, who);
            BOOST_TEST(s.ask({"EXISTS", place}) == std::to_string(model.places.count(place)), who);
        }
    }
    void pass()
    {
        std::this_thread::sleep_for(2ms);  // the server orders clients by the millisecond in which they came
        now += 2ms;
    }

    node_reply ask(node_command const& c)
    {
        stores::redis::encoder encoder;
        auto command = take_commands(encoder.encode(c, {}).bytes()).front();
        command[0] = "EVAL";
        command[1] = stores::redis::contend_script.source;
        auto const answer = s.ask(command);
        using stores::redis::resp::type;
        stores::redis::reply r{answer.find('\n') == answer.npos ? type::number : type::array, answer, {}};
        if (r.type == type::array) {
            for (std::size_t begin = 0; begin <= answer.size();) {
                auto const end = std::min(answer.find('\n', begin), answer.size());
                r.elements.push_back(answer.substr(begin, end - begin));
                begin = end + 1;
            }
        }
        return stores::redis::decode(c, {&r, 1});
    }

    local_server s;
    stores::memory::lock_table model;
    clock::time_point now = clock::now();
    std::string holder;
    std::vector<std::string> const clients{"a", "b", "c", "d", "e", "f", "g", "h"};
};

/// How many keys the server tracks.
std::string tracked(local_server& s)
{
    auto const info = s.ask({"INFO", "stats"});
    constexpr std::string_view label = "tracking_total_keys:";
    auto const begin = info.find(label) + label.size();
    return info.substr(begin, info.find_first_of("\r\n", begin) - begin);
}

}  // namespace

BOOST_AUTO_TEST_CASE(line_of_the_script_is_that_of_the_model)
{
    server_and_model both;
    std::mt19937 random{60};
    std::size_t stood_by = 0, granted = 0;
    for (int i = 0; i < 600; ++i) {
        both.pass();
        auto const& who = both.clients[random() % both.clients.size()];
        auto const what = random() % 10;
        if (what == 0)
            both.release();
        else if (what == 1)
            both.withdraw(who);
        else if (who != both.holder || both.model.find(key, both.now) == nullptr) {
            auto const ahead = both.contend(who);
            stood_by += ahead == 3;
            granted += ahead == -1;
        }
        if (i % 20 == 0)
            both.compare_places();
    }
    BOOST_TEST(stood_by > 50u);
    BOOST_TEST(granted > 20u);
}

BOOST_AUTO_TEST_CASE(client_that_is_called_and_does_not_come_is_forgotten)
{
    server_and_model both;
    auto const contend = [&](char const* who) {
        both.pass();
        return both.contend(who);
    };
    BOOST_TEST(contend("a") == -1);
    for (auto const* who : {"b", "c", "d"})
        BOOST_TEST(contend(who) == 0);
    for (auto const* who : {"e", "f"})
        BOOST_TEST(contend(who) == 3);
    BOOST_TEST(contend("c") == 1);
    both.release();
    BOOST_TEST(contend("d") == -1);
    both.compare_places();  // f still stands by, and e was called
    BOOST_TEST(both.s.ask({"EXISTS", core::place_key(key, "e")}) == "0");
    BOOST_TEST(both.s.ask({"EXISTS", core::place_key(key, "f")}) == "1");
    std::this_thread::sleep_for(1100ms);
    both.now += 1100ms;
    BOOST_TEST(contend("f") == 0);  // b, c and e are dead
    BOOST_TEST(both.s.ask({"HLEN", core::wanted_key(key)}) == "1");
}

// Older access lists lack some of the commands.
BOOST_AUTO_TEST_CASE(client_that_may_not_read_the_line_never_stands_by)
{
    for (auto const* forbidden : {"-time", "-hget", "-hgetall", "-hset"}) {
        server_and_model both;
        for (auto const& who : both.clients) {
            both.pass();
            both.contend(who);
        }
        both.s.ask({"ACL", "SETUSER", "default", forbidden});
        for (int i = 0; i < 2; ++i) {
            node_command const c{
                .what = commands::acquire{.contender = "me"}, .keys = {&key, 1}, .value = "v", .ttl = 10min};
            auto const denied = both.ask(c);
            BOOST_TEST((denied.vote == vote::denied), forbidden);
            BOOST_TEST(denied.ahead == 0u, forbidden);
        }
        BOOST_TEST(both.s.ask({"EXISTS", core::place_key(key, "me")}) == "0");
        both.s.ask({"DEL", key});
        node_command const c{
            .what = commands::acquire{.contender = "me"}, .keys = {&key, 1}, .value = "v", .ttl = 10min};
        BOOST_TEST((both.ask(c).vote == vote::granted), forbidden);
    }
}

// The list is text that everybody with the right to write keys may change.
BOOST_AUTO_TEST_CASE(line_with_odd_wishes_still_grants_the_lock)
{
    server_and_model both;
    auto const wanted = core::wanted_key(key);
    for (auto const* odd : {"", "1", "r", "1\x1f", "1\x1f\x1f",
                            "1\x1f"
                            "1\x1f",
                            "1\x1f"
                            "x\x1f"
                            "9",
                            "\x1f"
                            "1\x1f"
                            "2",
                            "1\x1f"
                            "99999999999999999999\x1f"
                            "99999999999999999999"})
        both.s.ask({"HSET", wanted, fmt::format("odd {}", std::hash<std::string>()(odd)), odd});
    node_command const c{.what = commands::acquire{.contender = "me"}, .keys = {&key, 1}, .value = "v", .ttl = 10min};
    BOOST_TEST((both.ask(c).vote == vote::granted));
    BOOST_TEST((both.ask(c).vote == vote::denied));
    both.s.ask({"DEL", key});
    BOOST_TEST((both.ask(c).vote == vote::granted));
}

// An entry of the table of tracked keys stays until the key changes. So a client must not track a key that does not
// exist: nobody may ever set it.
BOOST_AUTO_TEST_CASE(tracked_keys_are_forgotten_when_nobody_waits)
{
    real_servers r(1);
    ending_manager locks(r, r.settings()), other(r, r.settings());
    r.connect(locks);
    r.connect(other);
    auto const acquire = [&](auto names, acquire_options options) {
        return r.wait_for<lock>([&](auto done) { other.async_acquire(names, options, std::move(done)); });
    };
    using names = std::vector<std::string>;
    int number = 0;
    auto const one = [&](std::function<void(names const&)> const& visit) {
        for (int i = 0; i < 3; ++i, ++number)
            visit({fmt::format("a{}", number), fmt::format("b{}", number)});
    };
    auto const waits = [&](names const& n, acquire_options held, auto const& start) {
        auto [ec, l] = acquire(n[0], held);
        BOOST_REQUIRE(!ec);
        real_servers::outcome waiter;
        auto const before = locks.stats().rounds;
        start([&](error_code failure, lock won) {
            waiter.done = true, waiter.ec = failure, waiter.held = std::move(won);
        });
        BOOST_TEST(r.run_to([&] { return waiter.done || locks.stats().rounds > before; }));
        r.context.restart();
        r.context.run_for(20ms);
        r.release(l);
        BOOST_TEST(r.run_to([&] { return waiter.done; }));
        r.release(waiter.held);
    };
    acquire_options const held{.ttl = 60s}, patient{.ttl = 60s, .wait = 30s}, impatient{.ttl = 60s, .wait = 30ms};
    auto shared = held, shared_wait = patient;
    shared.mode = shared_wait.mode = mode::shared;
    one([&](auto& n) { waits(n, held, [&](auto f) { locks.async_acquire(n[0], patient, f); }); });
    one([&](auto& n) { waits(n, held, [&](auto f) { locks.async_acquire(n[0], impatient, f); }); });
    one([&](auto& n) { waits(n, held, [&](auto f) { locks.async_acquire(n, patient, f); }); });
    one([&](auto& n) { waits(n, held, [&](auto f) { locks.async_acquire(n, impatient, f); }); });
    one([&](auto& n) { waits(n, held, [&](auto f) { locks.async_acquire(n[0], shared_wait, f); }); });
    one([&](auto& n) { waits(n, shared, [&](auto f) { locks.async_acquire(n[0], patient, f); }); });
    one([&](auto& n) {  // any of several
        auto [ec, b] = acquire(n[1], held);
        waits(n, held, [&](auto f) { locks.async_acquire_any(n, patient, f); });
        r.release(b);
    });
    one([&](auto& n) {  // a look at a free name
        r.wait_for<lock_info>([&](auto done) { locks.async_inspect(n[0], std::move(done)); });
    });
    BOOST_TEST(r.run_to([&] { return tracked(r[0]) == "0"; }), tracked(r[0]));
}

BOOST_AUTO_TEST_CASE(line_of_many_processes_leaves_nothing_tracked)
{
    constexpr std::size_t count = 12;
    real_servers r(1);
    std::vector<std::unique_ptr<ending_manager>> all;
    std::vector<lock> held(count);
    std::size_t cycles = 0;
    std::function<void(std::size_t)> visit = [&](std::size_t i) {
        all[i]->async_acquire("stock", {.ttl = 60s, .wait = 1min}, [&, i](error_code ec, lock l) {
            BOOST_TEST(!ec);
            held[i] = std::move(l);
            held[i].async_release([&, i](error_code) {
                if (++cycles < 20 * count)
                    visit(i);
            });
        });
    };
    for (std::size_t i = 0; i < count; ++i) {
        all.push_back(std::make_unique<ending_manager>(r, r.settings()));
        r.connect(*all[i]);
    }
    for (std::size_t i = 0; i < count; ++i)
        visit(i);
    auto const waiting = [&] {
        std::size_t n = 0;
        for (auto& m : all)
            n += m->stats().waiting;
        return n;
    };
    BOOST_TEST(r.run_to([&] { return cycles >= 20 * count && waiting() == 0; }));
    BOOST_TEST(r.run_to([&] { return tracked(r[0]) == "0"; }), tracked(r[0]));
}

// A server forgets a dead writer soon after the lock is free, but only if somebody asks.
BOOST_AUTO_TEST_CASE(reader_behind_a_dead_writer_gets_the_free_lock)
{
    real_servers r(1);
    ending_manager locks(r, r.settings()), other(r, r.settings());
    r.connect(locks);
    auto held = r.acquire(other, "stock", {.ttl = 60s, .mode = mode::shared});
    BOOST_REQUIRE(!held.ec);
    r[0].ask({"HSET", core::wanted_key(key), "dead", "1"});
    r[0].ask({"PEXPIRE", core::wanted_key(key), "60000"});
    real_servers::outcome reader;
    auto const before = locks.stats().rounds;
    r.start_acquire(reader, locks, "stock", {.ttl = 60s, .wait = 20s, .mode = mode::shared});
    BOOST_TEST(r.run_to([&] { return locks.stats().rounds >= before + 2; }));
    r.release(held.held);
    BOOST_TEST(r.run_to([&] { return reader.done; }));
    BOOST_TEST(reader.held.held());
    r.release(reader.held);
}

BOOST_AUTO_TEST_SUITE_END()
