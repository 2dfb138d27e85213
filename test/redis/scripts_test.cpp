#include "core/fencing.hpp"
#include "core/key.hpp"
#include "memory/lock_table.hpp"
#include "redis/reply.hpp"
#include "redis/scripts.hpp"
#include "support/real_servers.hpp"
#include "testbed/plain_client.hpp"

#include <boost/test/unit_test.hpp>

#include <random>

using namespace redlock;
using namespace redlock::test;
using handovers = node_command::handovers;

BOOST_AUTO_TEST_SUITE(scripts)

namespace {

std::string eval(local_server& s, redis::script const& script, std::vector<std::string> arguments)
{
    std::vector<std::string> command{"EVAL", std::string(script.source), "1"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return s.ask(command);
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_digests_are_those_of_the_server)
{
    local_server s;
    for (auto const& script : redis::all_scripts)
        BOOST_TEST(s.ask({"SCRIPT", "LOAD", std::string(script.source)}) == std::string(script.sha1));
}

BOOST_AUTO_TEST_CASE(rule_7_scripts_compare_the_whole_value)
{
    local_server s;
    s.ask({"SET", "k", "mine", "PX", "10000"});
    for (auto const* other : {"min", "mine ", "", "MINE"}) {
        BOOST_TEST(eval(s, redis::release_script, {"k", other}) == "0");
        BOOST_TEST(eval(s, redis::extend_script, {"k", other, "20000", "0"}) == "0");
    }
    BOOST_TEST(s.ask({"GET", "k"}) == "mine");
    BOOST_TEST(eval(s, redis::extend_script, {"k", "mine", "20000", "0"}) == "1");
    BOOST_TEST(std::stol(s.ask({"PTTL", "k"})) > 15'000);
    BOOST_TEST(eval(s, redis::release_script, {"k", "mine"}) == "1");
    BOOST_TEST(eval(s, redis::release_script, {"k", "mine"}) == "0");
    BOOST_TEST(eval(s, redis::extend_script, {"k", "mine", "20000", "0"}) == "0");
    BOOST_TEST(s.ask({"EXISTS", "k"}) == "0");
}

BOOST_AUTO_TEST_CASE(extending_never_shortens_nor_limits_what_has_no_end)
{
    local_server s;
    s.ask({"SET", "k", "mine", "PX", "60000"});
    BOOST_TEST(eval(s, redis::extend_script, {"k", "mine", "1000", "0"}) == "1");
    BOOST_TEST(std::stol(s.ask({"PTTL", "k"})) > 50'000);
    s.ask({"PERSIST", "k"});
    BOOST_TEST(eval(s, redis::extend_script, {"k", "mine", "1000", "0"}) == "1");
    BOOST_TEST(s.ask({"PTTL", "k"}) == "-1");
}

namespace {

struct step : node_command {
    bool tombstone = false;
};

// What the library would send, in words.
std::vector<std::vector<std::string>> commands_for(step const& o)
{
    auto const key = o.key(), value = std::string(o.value), counter = core::fence_key(key);
    auto const ttl = std::to_string(o.ttl.count()), fence = std::to_string(o.fence);
    auto const eval = [&](redis::script const& s, std::vector<std::string> arguments) {
        std::vector<std::string> c{"EVAL", std::string(s.source), "2", key, core::tombstone_key(key, value)};
        c.insert(c.end(), arguments.begin(), arguments.end());
        return c;
    };
    switch (o.what) {
    case node_command::kind::acquire: {
        std::vector<std::string> const set{"SET", key, value, "NX", "PX", ttl};
        if (o.contends())
            return {{"EVAL", std::string(redis::contend_script.source), "3", key, core::wanted_key(key), core::turn_key(key), value, ttl,
                     std::string(o.contender), "1000000", o.handed_on == handovers::follow ? "1" : "0"}};
        if (o.fence == 0)
            return {set};
        return {set, {"ZADD", counter, "GT", "CH", fence, "token"}};
    }
    case node_command::kind::raise:
        return {{"ZADD", counter, "GT", fence, "token"}, {"ZINCRBY", counter, "1", "token"}};
    case node_command::kind::extend:
        return {eval(redis::extend_script, {value, ttl, o.heal ? "1" : "0"})};
    default:
        if (o.handed_on == handovers::end)
            return {{"EVAL", std::string(redis::release_script.source), "2", key, core::turn_key(key), value}};
        if (!o.tombstone)
            return {{"EVAL", std::string(redis::release_script.source), "1", key, value}};
        return {eval(redis::bury_script, {value, std::to_string(core::tombstone_life.count())})};
    }
}

// The answer to the last command.
std::string words_for(step const& o, node_reply const& r, bool raised)
{
    if (o.what == node_command::kind::extend && r.healed)
        return "2";
    if (o.what == node_command::kind::raise)
        return std::to_string(r.fence);
    bool const granted = r.vote == vote::granted;
    if (o.contends())
        return granted ? (r.wanted ? "2" : "1") : "denied";
    if (o.what == node_command::kind::acquire && o.fence != 0)
        return raised ? "1" : "0";
    if (o.what == node_command::kind::acquire)
        return granted ? "OK" : "(nil)";
    return granted ? "1" : "0";
}

}  // namespace

BOOST_AUTO_TEST_CASE(servers_do_what_the_double_in_memory_does_in_any_order)
{
    local_server s;
    testbed::plain_client client(s.port());
    std::mt19937 random(20);
    auto const below = [&](unsigned n) { return random() % n; };
    detail::lock_table table;
    auto const now = clock::now();  // nothing expires meanwhile
    std::string const keys[] = {"lock:a", "lock:{b}c"}, values[] = {"v1", "v2", "v3"};
    for (int i = 0; i < 20'000; ++i) {
        step o;
        o.keys = {&keys[below(2)], 1};
        o.value = values[below(3)];
        o.ttl = std::chrono::hours(1);
        node_command::kind const kinds[] = {node_command::kind::acquire, node_command::kind::raise, node_command::kind::extend,
                                              node_command::kind::release};
        o.what = kinds[below(4)];
        if (o.what == node_command::kind::raise || (o.what == node_command::kind::acquire && below(3) != 0))
            o.fence = below(3) == 0 ? 1'795'000'000'000'000 + below(1000) : 1 + below(1000) * (1 + below(1000));
        std::string const contender = "c" + std::to_string(below(3));
        if (o.what == node_command::kind::acquire && o.fence == 0 && below(2) == 0)
            o.contender = contender;
        o.heal = o.what == node_command::kind::extend && below(2) == 0;
        o.tombstone = o.what == node_command::kind::release && below(20) == 0;
        if (o.contends())
            o.handed_on = below(2) == 0 ? handovers::follow : handovers::end;
        else if (o.what == node_command::kind::release && !o.tombstone && below(2) == 0)
            o.handed_on = handovers::end;
        if (below(50) == 0) {  // it forgets
            table = {};
            client.ask({"FLUSHALL"});
        }
        auto const before = table.counters[o.key()];
        auto const reply = table.carry_out(o, now, o.tombstone);
        auto const expected = words_for(o, reply, table.counters[o.key()] > before);
        std::string actual;
        for (auto const& command : commands_for(o))
            actual = client.ask(command);
        if (expected == "denied")
            BOOST_REQUIRE((std::stol(actual) > 3'500'000 && std::stol(actual) <= 3'600'000
                           && (std::stol(actual.substr(actual.find('\n'))) > 900'000) == reply.handed_on));
        else
            BOOST_REQUIRE_MESSAGE(actual == expected, "step " << i << ": " << actual << " instead of " << expected);
        if (o.what == node_command::kind::acquire) {
            auto const* const e = table.find(o.key(), now);
            BOOST_REQUIRE((e && client.ask({"GET", o.key()}) == e->value));
        }
    }
    for (auto const& key : keys) {
        auto const* const e = table.find(key, now);
        BOOST_TEST(client.ask({"GET", key}) == (e ? e->value : "(nil)"));
        auto const c = table.counters[key];
        BOOST_TEST(client.ask({"ZSCORE", core::fence_key(key), "token"}) == (c == 0 ? "(nil)" : std::to_string(c)));
    }
}

BOOST_AUTO_TEST_CASE(what_is_called_as_the_list_or_the_turn_of_another_is_left_alone)
{
    local_server s;
    for (auto const* helper : {"lock:{x}:turn", "lock:{x}:wanted"})
        s.ask({"SET", helper, "the lock of somebody else", "PX", "60000"});
    auto const contend = [&](char const* value, char const* turn) {
        return s.ask({"EVAL", std::string(redis::contend_script.source), "3", "lock:{x}", "lock:{x}:wanted", "lock:{x}:turn", value, "30000", "me",
                      "1000", turn});
    };
    for (auto const* turn : {"0", "1"}) {
        BOOST_TEST(contend("v", turn) == "1");
        auto const denied = contend("w", turn);
        BOOST_TEST(std::stol(denied) > 29'000);
        BOOST_TEST(denied.substr(denied.find('\n')) == "\n-2");
        BOOST_TEST(s.ask({"EVAL", std::string(redis::release_script.source), "2", "lock:{x}", "lock:{x}:turn", "v"}) == "1");
    }
    for (auto const* helper : {"lock:{x}:turn", "lock:{x}:wanted"}) {
        BOOST_TEST(s.ask({"GET", helper}) == "the lock of somebody else");
        BOOST_TEST(std::stol(s.ask({"PTTL", helper})) > 30'000);
    }
}

BOOST_AUTO_TEST_CASE(the_list_of_who_wants_a_lock_is_short_and_outlives_it)
{
    local_server s;
    s.ask({"SET", "k", "v", "PX", "30000"});
    for (int i = 0; i < 300; ++i)
        s.ask({"EVAL", std::string(redis::contend_script.source), "3", "k", "w", "t", "other", "30000", std::to_string(i), "1000", "0"});
    BOOST_TEST(s.ask({"HLEN", "w"}) == "100");
    BOOST_TEST(std::stol(s.ask({"PTTL", "w"})) > std::stol(s.ask({"PTTL", "k"})));
}

BOOST_AUTO_TEST_CASE(counters_are_exact_to_the_last)
{
    local_server s;
    auto const top = std::to_string(core::fence_end - 2);
    BOOST_TEST(s.ask({"ZADD", "c", "GT", "CH", top, "token"}) == "1");
    BOOST_TEST(s.ask({"ZADD", "c", "GT", "CH", top, "token"}) == "0");
    BOOST_TEST(s.ask({"ZINCRBY", "c", "1", "token"}) == std::to_string(core::fence_end - 1));
    BOOST_TEST(s.ask({"ZADD", "c", "GT", "CH", top, "token"}) == "0");
}

BOOST_AUTO_TEST_CASE(inspecting_tells_value_and_ttl_or_nothing)
{
    local_server s;
    BOOST_TEST(eval(s, redis::inspect_script, {"k"}) == "(nil)");
    s.ask({"SET", "k", "mine"});
    BOOST_TEST(eval(s, redis::inspect_script, {"k"}) == "mine\n-1");
}

BOOST_AUTO_TEST_CASE(rule_13_a_forgotten_script_is_loaded_again)
{
    real_servers r(3);
    lock_manager locks(r.context, r.settings());
    for (int i = 0; i < 3; ++i) {
        auto won = r.acquire(locks, "stock", {.wait = 5s});
        BOOST_TEST(won.held.held());
        for (auto& s : r.servers)
            s->ask({"SCRIPT", "FLUSH"});
        BOOST_TEST(!r.extend(won.held, 20s));
        for (auto& s : r.servers)
            s->ask({"SCRIPT", "FLUSH"});
        BOOST_TEST(!r.release(won.held));
    }
    BOOST_TEST(!r.shutdown(locks));
    BOOST_TEST(r.keys("lock:stock") == 0u);
}

BOOST_AUTO_TEST_CASE(scripts_are_loaded_once_a_connection)
{
    real_servers r(1);
    lock_manager locks(r.context, r.settings());
    r.connect(locks);
    auto const loaded = r[0].ask({"INFO", "commandstats"});
    BOOST_TEST(loaded.find("cmdstat_script|load:calls=5,") != std::string::npos);
    r[0].ask({"CONFIG", "RESETSTAT"});
    for (int i = 0; i < 20; ++i) {
        auto won = r.acquire(locks, "stock");
        r.extend(won.held, 20s);
        r.release(won.held);
    }
    auto const statistics = r[0].ask({"INFO", "commandstats"});
    BOOST_TEST(statistics.find("cmdstat_script|load:") == std::string::npos);
    BOOST_TEST(statistics.find("cmdstat_eval:") == std::string::npos);
    bool const native = statistics.find("cmdstat_delifeq") != std::string::npos || statistics.find("cmdstat_delex") != std::string::npos;
    BOOST_TEST(statistics.find(native ? "cmdstat_evalsha:calls=20," : "cmdstat_evalsha:calls=40,") != std::string::npos);
    BOOST_TEST(statistics.find("cmdstat_set:calls=20,") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
