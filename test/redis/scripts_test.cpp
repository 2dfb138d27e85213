#include "core/fencing.hpp"
#include "core/key.hpp"
#include "stores/memory/lock_table.hpp"
#include "stores/redis/encoder.hpp"
#include "stores/redis/decoder.hpp"
#include "stores/redis/scripts.hpp"
#include "support/long_proof.hpp"
#include "support/real_servers.hpp"
#include "support/resp_commands.hpp"
#include "bed/plain_client.hpp"
#include "testing/command_parts.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <random>
#include <span>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using handovers = commands::handovers;

BOOST_AUTO_TEST_SUITE(scripts)

namespace {

std::string eval(local_server& s, stores::redis::script const& script, std::vector<std::string> arguments)
{
    std::vector<std::string> command{"EVAL", std::string(script.source), "1"};
    command.insert(command.end(), arguments.begin(), arguments.end());
    return s.ask(command);
}

std::vector<std::string> lines_of(std::string const& answer)
{
    std::vector<std::string> all(1);
    for (char const c : answer) {
        if (c == '\n')
            all.emplace_back();
        else
            all.back() += c;
    }
    return all;
}

/// The reply to an inspection. No text in it has a line end.
node_reply inspect(testbed::plain_client& client, std::string const& key)
{
    node_command const c{.what = commands::inspect{}, .keys = {&key, 1}};
    stores::redis::encoder encoder;
    auto command = take_commands(encoder.encode(c, {}).bytes()).front();
    command[0] = "EVAL";
    command[1] = stores::redis::inspect_script.source;
    stores::redis::reply const answer{stores::redis::resp::type::array, {}, lines_of(client.ask(command))};
    return stores::redis::decode(c, {&answer, 1});
}

/// An inspection without its times.
std::string in_words(node_reply const& r)
{
    BOOST_REQUIRE(r.details);
    std::vector<std::string> clients;
    for (auto const& w : r.details->waiters)
        clients.push_back(fmt::format("{} waits to {} for {}", w.contender, w.shares ? "read" : "write", w.note));
    for (auto const& reader : r.details->readers) {
        clients.push_back(reader.value + " reads");
        BOOST_TEST(reader.remaining.count() > 3'500'000);
    }
    std::sort(clients.begin(), clients.end());
    auto words = r.vote == vote::granted ? "held by " + r.text : std::string("free");
    for (auto const& c : clients)
        words += "; " + c;
    return words;
}

}  // namespace

BOOST_AUTO_TEST_CASE(script_digests_are_equal_to_those_of_the_server)
{
    local_server s;
    for (auto const& script : stores::redis::all_scripts)
        BOOST_TEST(s.ask({"SCRIPT", "LOAD", std::string(script.source)}) == std::string(script.sha1));
}

// Rule 7 of docs/architecture.md.
BOOST_AUTO_TEST_CASE(release_and_extend_scripts_compare_the_whole_value)
{
    local_server s;
    s.ask({"SET", "k", "mine", "PX", "10000"});
    for (auto const* other : {"min", "mine ", "", "MINE"}) {
        BOOST_TEST(eval(s, stores::redis::release_script, {"k", other}) == "0");
        BOOST_TEST(eval(s, stores::redis::extend_script, {"k", other, "20000", "0"}) == "0");
    }
    BOOST_TEST(s.ask({"GET", "k"}) == "mine");
    BOOST_TEST(eval(s, stores::redis::extend_script, {"k", "mine", "20000", "0"}) == "1");
    BOOST_TEST(std::stol(s.ask({"PTTL", "k"})) > 15'000);
    BOOST_TEST(eval(s, stores::redis::release_script, {"k", "mine"}) == "1");
    BOOST_TEST(eval(s, stores::redis::release_script, {"k", "mine"}) == "0");
    BOOST_TEST(eval(s, stores::redis::extend_script, {"k", "mine", "20000", "0"}) == "0");
    BOOST_TEST(s.ask({"EXISTS", "k"}) == "0");
}

BOOST_AUTO_TEST_CASE(extend_script_never_shortens_the_ttl)
{
    local_server s;
    s.ask({"SET", "k", "mine", "PX", "60000"});
    BOOST_TEST(eval(s, stores::redis::extend_script, {"k", "mine", "1000", "0"}) == "1");
    BOOST_TEST(std::stol(s.ask({"PTTL", "k"})) > 50'000);
}

BOOST_AUTO_TEST_CASE(extend_script_gives_a_persistent_key_its_ttl_back)
{
    local_server s;
    for (auto const* script : {&stores::redis::extend_script, &stores::redis::extend_all_script}) {
        bool const is_of_several = script == &stores::redis::extend_all_script;
        s.ask({"SET", "k", "mine"});
        BOOST_TEST(eval(s, *script,
                        is_of_several ? std::vector<std::string>{"k", "mine", "60000", "1", "0"}
                                      : std::vector<std::string>{"k", "mine", "60000", "0"})
                   == "1");
        BOOST_TEST(std::stol(s.ask({"PTTL", "k"})) > 0);
    }
}

BOOST_AUTO_TEST_CASE(tombstone_script_ends_the_turn_of_our_lock_only)
{
    local_server s;
    for (std::string const value : {"another", "mine"}) {
        s.ask({"SET", "k", "mine", "PX", "60000"});
        s.ask({"SADD", "turn", "1"});
        BOOST_TEST(s.ask({"EVAL", std::string(stores::redis::tombstone_script.source), "3", "k", "gone", "turn", value,
                          "60000"})
                   == (value == "mine" ? "1" : "0"));
        BOOST_TEST(s.ask({"EXISTS", "turn"}) == (value == "mine" ? "0" : "1"));
        BOOST_TEST(s.ask({"GET", "gone"}) == "1");
    }
}

namespace {

struct step : node_command {
    bool tombstone = false;
};

// The commands that the library sends, except that hand-overs and denied clients are remembered longer: the test may be
// slow.
std::vector<command> commands_for(step const& o, stores::redis::encoder& encoder)
{
    auto all = take_commands(encoder.encode(o, {.tombstone = o.tombstone}).bytes());
    if (o.which() == node_command::kind::withdraw)
        return all;
    if (o.contends() || o.which() == node_command::kind::upgrade
        || (o.is_shared() && o.which() == node_command::kind::acquire))
        all.front()[3 + std::stoul(all.front()[2]) + (o.wants_any() ? 4 : 3)] = "1000000";
    return all;
}

// The expected answer to the last command, without times.
std::string words_for(step const& o, node_reply const& r, bool raised, bool shares)
{
    using kind = node_command::kind;
    bool const granted = r.vote == vote::granted;
    if (o.which() == kind::withdraw)
        return "as it is";  // the answers to later commands show whether there was an entry
    if (o.which() == kind::upgrade)
        return o.fence() != 0 ? raised ? "1" : "0" : granted ? "1" : r.ours == 1 ? "others" : "0";
    if (o.is_shared() && o.which() == kind::raise)
        return "as it is";  // the answer does not matter; the counter is compared
    if (o.is_shared() && o.which() == kind::acquire)
        return granted ? r.wanted ? "2" : "1"
                       : fmt::format("{} {}", r.behind_writer ? "behind a writer" : "denied",
                                     r.handed_on ? "handed on" : "kept");
    if (o.which() == kind::raise)
        return std::to_string(r.fence);
    if (o.which() == kind::extend)
        return r.healed || (o.which() == kind::extend && o.as<commands::extend>().alone && !granted && shares) ? "2"
               : granted                                                                                       ? "1"
                                                                                                               : "0";
    if (o.which() == kind::release && o.has_several_keys())
        return std::to_string(r.ours);
    if (o.wants_any() && granted)
        return std::to_string(4 * r.chosen + r.wanted + (r.fence != 0 ? 2 : 0));
    if (o.wants_any() || (o.contends() && !granted)) {
        auto words = o.has_several_keys() ? std::to_string(r.ours) : std::string(r.handed_on ? "handed on" : "kept");
        for (auto const& k : r.taken)
            words += fmt::format(" {}{}", k.index, k.handed_on ? " handed on" : " kept");
        return words;
    }
    if (o.contends())
        return std::to_string(1 + r.wanted + (o.has_several_keys() && (o.fence() == 0 || r.fence != 0) ? 2 : 0));
    if (o.which() == kind::acquire && o.has_several_keys())
        return !granted ? "0" : o.fence() == 0 || r.fence != 0 ? "2" : "1";
    if (o.which() == kind::acquire && o.fence() != 0)
        return raised ? "1" : "0";
    if (o.which() == kind::acquire)
        return granted ? "OK" : "(nil)";
    return granted ? "1" : "0";
}

// The answer of a server in the same words. Locks have a ttl of an hour, hand-overs of a thousand seconds.
std::string in_words(step const& o, std::string const& answer)
{
    if (o.which() == node_command::kind::withdraw && (answer == "0" || answer == "1"))
        return "as it is";
    if (o.which() == node_command::kind::upgrade && answer != "0" && answer != "1") {
        auto const left = std::stol(answer);
        BOOST_REQUIRE((left > 3'500'000 && left <= 3'600'000));
        return "others";
    }
    if (o.is_shared() && o.which() == node_command::kind::raise && (answer == "0" || answer == "1"))
        return "as it is";
    if (o.is_shared() && o.which() == node_command::kind::acquire && answer.find('\n') != answer.npos) {
        long left = 0, handovers = 0, waiting = 0;
        std::istringstream(answer) >> left >> handovers >> waiting;
        BOOST_REQUIRE((waiting == 1 ? left > 900'000 : left > 3'500'000 && left <= 3'600'000));
        return fmt::format("{} {}", waiting == 1 ? "behind a writer" : "denied", handovers > 0 ? "handed on" : "kept");
    }
    if (!(o.contends() || o.wants_any()) || answer.find('\n') == answer.npos)
        return o.contends() && o.has_several_keys() && answer == "0" ? "0" : answer;
    std::vector<long> numbers;
    std::istringstream lines(answer);
    for (long n = 0; lines >> n;)
        numbers.push_back(n);
    auto const state = [&](std::size_t at) {
        BOOST_REQUIRE((numbers.at(at) > 3'500'000 && numbers.at(at) <= 3'600'000));
        BOOST_REQUIRE((numbers.at(at + 1) > 900'000 || numbers.at(at + 1) == -2));
        return numbers.at(at + 1) > 0 ? "handed on" : "kept";
    };
    if (!o.has_several_keys())
        return state(0);
    if (o.wants_any()) {
        std::string words = "0";
        for (std::size_t at = 0; at < numbers.size(); at += 2)
            words += fmt::format(" {} {}", at / 2, state(at));
        return words;
    }
    auto words = std::to_string(numbers.at(0));
    for (std::size_t at = 1; at < numbers.size(); at += 3)
        words += fmt::format(" {} {}", numbers.at(at), state(at + 1));
    return words;
}

}  // namespace

BOOST_AUTO_TEST_CASE(scripts_in_random_order_behave_like_lock_table)
{
    local_server s;
    testbed::plain_client client(s.port());
    for (auto const& script : stores::redis::all_scripts)
        client.ask({"SCRIPT", "LOAD", std::string(script.source)});
    std::mt19937 random(20), random_of_notes(45);
    auto const below = [&](unsigned n) { return random() % n; };
    stores::redis::encoder encoder;
    stores::memory::lock_table table;
    auto const now = clock::now();  // nothing expires meanwhile
    std::string const names[] = {"lock:a", "lock:{b}c", "lock:d", "lock:e"}, values[] = {"v1", "v2", "v3"};
    std::size_t granted_sets = 0, grown = 0, shared = 0, behind = 0, upgraded = 0, together = 0, downgraded = 0,
                chosen = 0, chosen_later = 0, all_taken = 0, waiters = 0, readers_listed = 0, replaced = 0;
    int const count = pick(8'000, 40'000);
    for (int i = 0; i < count; ++i) {
        step o;
        std::vector<std::string> keys;
        if (below(2) == 0)
            keys = {names[below(4)]};
        else
            std::sample(std::begin(names), std::end(names), std::back_inserter(keys), 2 + below(3), random);
        o.keys = std::span<std::string const>(keys);
        o.value = values[below(3)];
        o.ttl = std::chrono::hours(1);
        node_command::kind const kinds[] = {node_command::kind::acquire,  node_command::kind::raise,
                                            node_command::kind::extend,   node_command::kind::release,
                                            node_command::kind::release,  node_command::kind::upgrade,
                                            node_command::kind::downgrade};
        o.what = testing::command_of(below(20) == 0 ? node_command::kind::withdraw
                                                    : kinds[below(o.has_several_keys() ? 5 : 7)]);
        if (o.which() == node_command::kind::extend && below(3) == 0) {
            o.what = commands::replace{.former = values[below(3)]};
        }
        bool const acquires = o.which() == node_command::kind::acquire;
        bool const upgrades = o.which() == node_command::kind::upgrade;
        if (o.which() != node_command::kind::withdraw && !o.has_several_keys()
            && (upgrades || o.which() == node_command::kind::downgrade || below(2) == 0))
            o.mode = mode::shared;
        if (o.which() == node_command::kind::raise || ((acquires || upgrades) && below(3) != 0))
            testing::set_fence(o, below(3) == 0 ? 1'795'000'000'000'000 + below(1000)
                                                : 1 + below(1000) * (1 + below(1000)));
        std::string const contender = "c" + std::to_string(below(3));
        if (acquires && (o.fence() == 0 || o.has_several_keys() || o.is_shared()) && below(2) == 0)
            testing::set_contender(o, contender);
        if ((upgrades && below(2) == 0) || o.which() == node_command::kind::withdraw)
            testing::set_contender(o, contender);
        if (!servers_fence()) {
            testing::set_fence(o, 0);
            if (o.which() == node_command::kind::raise)
                o.what = commands::extend{};
        }
        std::string note(o.contender().empty() ? 0 : random_of_notes() % 20, ' ');
        std::generate(note.begin(), note.end(),
                      [&] { return static_cast<char>(0x20 + random_of_notes() % (0x100 - 0x20)); });
        testing::set_note(o, note);
        if (acquires) {
            auto& a = o.as<commands::acquire>();
            a.passes = o.is_shared() && below(2) == 0;
            a.any = o.has_several_keys() && below(4) == 0;
            if (a.any)
                std::shuffle(keys.begin(), keys.end(), random);
            a.grows = o.contends() && o.has_several_keys() && !a.any && below(2) == 0;
        }
        if (o.which() == node_command::kind::extend) {
            bool const heals = below(2) == 0;
            o.what = commands::extend{.heal = heals, .alone = o.is_shared() && below(3) == 0};
        }
        o.tombstone = o.which() == node_command::kind::release && below(20) == 0;
        if (o.is_shared())
            testing::set_handed_on(o, handovers::unsaid);
        else if (acquires && o.contends())
            testing::set_handed_on(o, below(2) == 0 && (!o.has_several_keys() || o.wants_any()) ? handovers::follow
                                                                                                : handovers::end);
        else if (o.which() == node_command::kind::release && !o.has_several_keys() && below(2) == 0)
            testing::set_handed_on(o, handovers::end);
        if (below(50) == 0) {  // both lose all keys
            table = {};
            client.ask({"FLUSHALL"});
        }
        auto const before = table.counters[o.key()];
        auto const reply = table.carry_out(o, now, o.tombstone);
        auto const* const left = table.find(o.key(), now);
        bool const shares = left && left->value == core::shared_word && table.readers[o.key()].contains(o.value);
        auto const expected = words_for(o, reply, table.counters[o.key()] > before, shares);
        upgraded += upgrades && reply.vote == vote::granted;
        together += upgrades && reply.ours == 1;
        downgraded += o.which() == node_command::kind::downgrade && reply.vote == vote::granted;
        std::string actual, counter;
        for (auto const& command : commands_for(o, encoder))
            (command.front() == "ZSCORE" ? counter : actual) = client.ask(command);
        if (reply.vote == vote::granted && !counter.empty())
            BOOST_REQUIRE((counter == (reply.fence == 0 ? "(nil)" : std::to_string(reply.fence))));
        shared += o.is_shared() && acquires && reply.vote == vote::granted;
        behind += reply.behind_writer;
        BOOST_REQUIRE_MESSAGE(in_words(o, actual) == expected,
                              "step " << i << ", " << o.what.index() << (o.is_shared() ? " shared: " : ": ")
                                      << in_words(o, actual) << " instead of " << expected);
        if (acquires && o.contends() && !o.has_several_keys() && reply.vote == vote::denied && !reply.behind_writer)
            BOOST_REQUIRE(lines_of(actual).back() == reply.text);
        replaced += o.which() == node_command::kind::replace && o.as<commands::replace>().former != o.value
                    && reply.vote == vote::granted;
        granted_sets += acquires && o.has_several_keys() && !o.wants_any() && reply.vote == vote::granted;
        chosen += o.wants_any() && reply.vote == vote::granted;
        chosen_later += o.wants_any() && reply.chosen > 0;
        all_taken += o.wants_any() && reply.vote == vote::denied;
        grown += o.grows() && reply.vote == vote::denied && reply.ours > 0;
        encoder.forget();
        for (auto const& key : i % 10 == 0 ? std::span(names) : std::span<std::string const>()) {
            auto const inspected = table.carry_out({.what = commands::inspect{}, .keys = {&key, 1}}, now);
            BOOST_REQUIRE(in_words(inspect(client, key)) == in_words(inspected));
            waiters += inspected.details->waiters.size();
            readers_listed += inspected.details->readers.size();
            auto const* const e = table.find(key, now);
            BOOST_REQUIRE((client.ask({"GET", key}) == (e ? e->value : "(nil)")));
            auto const readers = e && e->value == core::shared_word ? table.readers[key].size() : 0;
            if (readers > 0)
                BOOST_REQUIRE((client.ask({"ZCARD", core::readers_key(key)}) == std::to_string(readers)));
            auto const c = table.counters[key];
            BOOST_REQUIRE(
                (client.ask({"ZSCORE", core::fence_key(key), "token"}) == (c == 0 ? "(nil)" : std::to_string(c))));
        }
    }
    BOOST_TEST(granted_sets > pick(10u, 100u));
    BOOST_TEST(grown > pick(10u, 100u));
    BOOST_TEST(shared > pick(50u, 500u));
    BOOST_TEST(behind > pick(5u, 50u));
    BOOST_TEST(upgraded > pick(10u, 100u));
    BOOST_TEST(together > pick(4u, 40u));
    BOOST_TEST(downgraded > pick(10u, 100u));
    BOOST_TEST(chosen > pick(30u, 300u));
    BOOST_TEST(chosen_later > pick(10u, 100u));
    BOOST_TEST(all_taken > pick(10u, 100u));
    BOOST_TEST(waiters > pick(100u, 1000u));
    BOOST_TEST(readers_listed > pick(30u, 300u));
    BOOST_TEST(replaced > pick(10u, 100u));
}

BOOST_AUTO_TEST_CASE(acquire_all_and_contend_all_with_a_wrong_type_change_nothing)
{
    local_server s;
    auto const eval_all = [&](stores::redis::script const& script, std::vector<std::string> arguments) {
        std::vector<std::string> c{"EVAL", std::string(script.source)};
        c.insert(c.end(), arguments.begin(), arguments.end());
        try {
            return s.ask(c);
        } catch (std::exception const& e) {
            return std::string(e.what());
        }
    };
    s.ask({"LPUSH", "b", "a list"});
    s.ask({"SET", "c:counter", "no counter"});
    auto const is_wrong_type = [](std::string const& answer) { return answer.find("WRONGTYPE") != answer.npos; };
    BOOST_TEST(is_wrong_type(eval_all(stores::redis::acquire_all_script, {"2", "a", "b", "v", "10000", "2"})));
    if (servers_fence())
        BOOST_TEST(is_wrong_type(eval_all(stores::redis::acquire_all_script,
                                          {"4", "a", "c", "a:counter", "c:counter", "v", "10000", "2", "7"})));
    for (auto const* grows : {"0", "1"}) {
        std::vector<std::string> command{"7", "a",     "b",  "wa",   "wb", "ta",  "tb", "gone",
                                         "v", "10000", "me", "1000", "2",  grows, ""};
        BOOST_TEST(is_wrong_type(eval_all(stores::redis::contend_all_script, command)));
    }
    BOOST_TEST(s.ask({"EXISTS", "a", "c"}) == "0");
    // Extend and release: a key that is not a string is not ours.
    s.ask({"SET", "a", "v"});
    BOOST_TEST(eval_all(stores::redis::extend_all_script, {"2", "a", "b", "v", "10000", "2", "0"}) == "0");
    BOOST_TEST(eval_all(stores::redis::release_all_script, {"2", "a", "b", "v", "2"}) == "1");
}

// A lock whose key has another type counts as taken. A counter of another type is an error before a lock is set.
BOOST_AUTO_TEST_CASE(acquire_any_script_skips_keys_of_another_type)
{
    local_server s;
    auto const any = [&](std::vector<std::string> keys, std::vector<std::string> arguments) {
        std::vector<std::string> c{"EVAL", std::string(stores::redis::acquire_any_script.source),
                                   std::to_string(keys.size())};
        c.insert(c.end(), keys.begin(), keys.end());
        c.insert(c.end(), arguments.begin(), arguments.end());
        try {
            return s.ask(c);
        } catch (std::exception const& e) {
            return std::string(e.what());
        }
    };
    s.ask({"LPUSH", "a", "a list"});
    BOOST_TEST(any({"a", "b"}, {"v", "10000", "2", "", "1000", "0", ""}) == "4");
    BOOST_TEST(s.ask({"GET", "b"}) == "v");
    auto const denied = any({"a", "b"}, {"w", "10000", "2", "", "1000", "0", ""});
    BOOST_TEST(denied.find("-1\n-2\n") == 0u);
    BOOST_TEST(s.ask({"LLEN", "a"}) == "1");
    s.ask({"SET", "d:counter", "no counter"});
    BOOST_TEST(
        any({"b", "d", "b:counter", "d:counter"}, {"w", "10000", "2", "", "1000", "0", "", "7"}).find("WRONGTYPE")
        != std::string::npos);
    BOOST_TEST(s.ask({"EXISTS", "d", "b:counter"}) == "0");
}

BOOST_AUTO_TEST_CASE(contend_script_on_a_full_server_tells_that_the_lock_is_held)
{
    local_server s;
    auto const contend = [&](char const* value) {
        return s.ask({"EVAL", std::string(stores::redis::contend_script.source), "3", "lock:{x}", "lock:{x}:wanted",
                      "lock:{x}:turn", value, "30000", "me", "1000", "0", ""});
    };
    s.ask({"CONFIG", "SET", "maxmemory", "1"});
    BOOST_TEST(contend("v").find("OOM") != std::string::npos);
    s.ask({"CONFIG", "SET", "maxmemory", "0"});
    BOOST_TEST(contend("v") == "1");
    s.ask({"CONFIG", "SET", "maxmemory", "1"});
    auto const denied = contend("w");
    BOOST_TEST(denied.substr(denied.find('\n')) == "\n-2\nv");
    s.ask({"CONFIG", "SET", "maxmemory", "0"});
    s.ask({"ACL", "SETUSER", "default", "-set"});  // other errors are told although the lock is held
    BOOST_TEST(contend("w").find("-2") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(contend_script_keeps_foreign_strings_in_place_of_its_lists)
{
    local_server s;
    for (auto const* helper : {"lock:{x}:turn", "lock:{x}:wanted"})
        s.ask({"SET", helper, "the lock of somebody else", "PX", "60000"});
    auto const contend = [&](char const* value, char const* turn) {
        return s.ask({"EVAL", std::string(stores::redis::contend_script.source), "3", "lock:{x}", "lock:{x}:wanted",
                      "lock:{x}:turn", value, "30000", "me", "1000", turn, "a note"});
    };
    for (auto const* turn : {"0", "1"}) {
        BOOST_TEST(contend("v", turn) == "1");
        auto const denied = contend("w", turn);
        BOOST_TEST(std::stol(denied) > 29'000);
        BOOST_TEST(denied.substr(denied.find('\n')) == "\n-2\nv");
        BOOST_TEST(
            s.ask({"EVAL", std::string(stores::redis::release_script.source), "2", "lock:{x}", "lock:{x}:turn", "v"})
            == "1");
    }
    for (auto const* helper : {"lock:{x}:turn", "lock:{x}:wanted"}) {
        BOOST_TEST(s.ask({"GET", helper}) == "the lock of somebody else");
        BOOST_TEST(std::stol(s.ask({"PTTL", helper})) > 30'000);
    }
}

BOOST_AUTO_TEST_CASE(contend_script_limits_the_list_of_denied_clients)
{
    local_server s;
    s.ask({"SET", "k", "v", "PX", "30000"});
    for (int i = 0; i < 300; ++i)
        s.ask({"EVAL", std::string(stores::redis::contend_script.source), "3", "k", "w", "t", "other", "30000",
               std::to_string(i), "1000", "0", ""});
    BOOST_TEST(s.ask({"HLEN", "w"}) == "64");
    BOOST_TEST(std::stol(s.ask({"PTTL", "w"})) > std::stol(s.ask({"PTTL", "k"})));
}

BOOST_AUTO_TEST_CASE(zadd_and_zincrby_are_exact_up_to_the_highest_token, *only_with_fencing())
{
    local_server s;
    auto const top = std::to_string(core::fence_end - 2);
    BOOST_TEST(s.ask({"ZADD", "c", "GT", "CH", top, "token"}) == "1");
    BOOST_TEST(s.ask({"ZADD", "c", "GT", "CH", top, "token"}) == "0");
    BOOST_TEST(s.ask({"ZINCRBY", "c", "1", "token"}) == std::to_string(core::fence_end - 1));
    BOOST_TEST(s.ask({"ZADD", "c", "GT", "CH", top, "token"}) == "0");
}

BOOST_AUTO_TEST_CASE(inspect_script_returns_value_and_ttl_without_lists)
{
    local_server s;
    testbed::plain_client client(s.port());
    BOOST_TEST(in_words(inspect(client, "k")) == "free");
    s.ask({"SET", "k", "mine"});
    auto const held = inspect(client, "k");
    BOOST_TEST(in_words(held) == "held by mine");
    BOOST_TEST(held.remaining.count() == -1);
    BOOST_TEST((held.details->knows_waiters && held.details->knows_readers));
}

BOOST_AUTO_TEST_CASE(inspect_script_lists_old_clients_that_wait_for_a_free_lock)
{
    local_server s;
    testbed::plain_client client(s.port());
    s.ask({"HSET", core::wanted_key("k"), "0123456789abcdef", "1", "fedcba9876543210", "r"});
    BOOST_TEST(in_words(inspect(client, "k"))
               == "free; 0123456789abcdef waits to write for ; fedcba9876543210 waits to read for ");
}

BOOST_AUTO_TEST_CASE(inspect_script_leaves_out_readers_that_have_expired)
{
    local_server s;
    testbed::plain_client client(s.port());
    auto const now = std::stoll(lines_of(s.ask({"TIME"})).front()) * 1000;
    s.ask({"SET", "k", std::string(core::shared_word)});
    s.ask({"ZADD", core::readers_key("k"), std::to_string(now - 1000), "gone", std::to_string(now + 3'600'000), "v"});
    BOOST_TEST(in_words(inspect(client, "k")) == "held by :=shared; v reads");
}

BOOST_AUTO_TEST_CASE(inspect_script_limits_its_answer)
{
    local_server s;
    testbed::plain_client client(s.port());
    auto const later = std::stoll(lines_of(s.ask({"TIME"})).front()) * 1000 + 3'600'000;
    s.ask({"SET", "k", std::string(core::shared_word)});
    for (int i = 0; i < 100; ++i) {
        s.ask({"ZADD", core::readers_key("k"), std::to_string(later), "v" + std::to_string(i)});
        s.ask(
            {"HSET", core::wanted_key("k"), std::string(5000, 'c') + std::to_string(i), "1" + std::string(5000, 'n')});
    }
    auto const all = inspect(client, "k");
    BOOST_TEST(all.details->readers.size() == 64u);
    BOOST_TEST(all.details->waiters.size() == 64u);
    for (auto const& w : all.details->waiters)
        BOOST_TEST((w.contender.size() == 512 && w.note.size() == 511));
    s.ask({"SET", "k", std::string(3'000'000, 'x')});
    BOOST_TEST(inspect(client, "k").text == std::string(512, 'x'));
}

BOOST_AUTO_TEST_CASE(inspect_script_of_a_user_who_may_not_read_the_lists_shows_the_holder)
{
    local_server s;
    s.ask({"ACL", "SETUSER", "few", "on", ">secret", "~*", "-@all", "+eval", "+get", "+pttl"});
    testbed::plain_client client(s.port());
    client.ask({"AUTH", "few", "secret"});
    s.ask({"SET", "k", "mine"});
    BOOST_TEST(in_words(inspect(client, "k")) == "held by mine");
    BOOST_TEST(s.ask({"ACL", "LOG"}).find("hgetall") == std::string::npos);
    s.ask({"HSET", core::wanted_key("k"), "me", "1"});
    auto const held = inspect(client, "k");
    BOOST_TEST(in_words(held) == "held by mine");
    BOOST_TEST((!held.details->knows_waiters && held.details->knows_readers));
    s.ask({"SET", "k", std::string(core::shared_word)});
    BOOST_TEST(in_words(inspect(client, "k")) == "held by :=shared");
    BOOST_TEST(!inspect(client, "k").details->knows_readers);
}

BOOST_AUTO_TEST_CASE(inspect_script_does_not_know_what_lists_of_another_type_hold)
{
    local_server s;
    testbed::plain_client client(s.port());
    s.ask({"SET", "k", std::string(core::shared_word)});
    s.ask({"SET", core::wanted_key("k"), "of somebody else"});
    s.ask({"SET", core::readers_key("k"), "of somebody else"});
    auto const held = inspect(client, "k");
    BOOST_TEST(in_words(held) == "held by :=shared");
    BOOST_TEST((!held.details->knows_waiters && !held.details->knows_readers));
}

// Rule 13 of docs/architecture.md.
BOOST_FIXTURE_TEST_CASE(extend_and_release_after_script_flush_load_the_script_again, manager_of<3>)
{
    for (int i = 0; i < 3; ++i) {
        auto won = r.acquire(locks, "stock", {.wait = 5s});
        BOOST_TEST(won.held.held());
        r.ask_all({"SCRIPT", "FLUSH"});
        BOOST_TEST(!r.extend(won.held, 20s));
        r.ask_all({"SCRIPT", "FLUSH"});
        BOOST_TEST(!r.release(won.held));
    }
    BOOST_TEST(!r.shutdown(locks));
    BOOST_TEST(r.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(script_load_runs_once_for_each_connection, connected_to<1>)
{
    BOOST_TEST(carried_out(r[0], "script|load") == 14);
    r[0].ask({"CONFIG", "RESETSTAT"});
    for (int i = 0; i < 20; ++i) {
        auto won = r.acquire(locks, "stock");
        r.extend(won.held, 20s);
        r.release(won.held);
    }
    auto const statistics = r[0].ask({"INFO", "commandstats"});
    BOOST_TEST(carried_out(r[0], "script|load") == 0);
    BOOST_TEST(statistics.find("cmdstat_eval:") == std::string::npos);
    bool const native = statistics.find("cmdstat_delifeq") != std::string::npos
                        || statistics.find("cmdstat_delex") != std::string::npos;
    BOOST_TEST(statistics.find(native ? "cmdstat_evalsha:calls=20," : "cmdstat_evalsha:calls=40,")
               != std::string::npos);
    BOOST_TEST(statistics.find("cmdstat_set:calls=20,") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
