// The answers of each kind of server to the greeting, and their meaning. The texts are those of real servers.

#include "stores/redis/greeting.hpp"
#include "stores/redis/shared_settings.hpp"
#include "support/redis_replies.hpp"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <optional>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::stores::redis;
using namespace redlock::test::replies;
using namespace std::chrono_literals;
using test::command;

BOOST_AUTO_TEST_SUITE(greeting_test)

namespace {

introduction greets(server s, std::string address = "redis://s", manager_options c = {.nodes = {}, .fencing = true})
{
    greeting g(net::parse_url(address), c);
    stores::redis::request r;
    g.ask(r, "0123456789abcdef");
    auto const answers = s.answers(r);
    BOOST_TEST(answers.size() == r.commands());
    return g.read(answers);
}

version const redis_6_0{.number = "6.0.20", .deletions = {}, .set_get = false, .zadd_gt = false};
version const redis_6_2{.number = "6.2.14", .deletions = {}, .set_get = false};
version const redis_7_0{};
version const redis_8_4{.number = "8.4.0", .deletions = {"del", "delex"}};
// Valkey 8 and 9 report this version, for clients that derive features from it.
version const valkey_8{.number = "7.2.4"};
version const valkey_9{.number = "7.2.4", .deletions = {"del", "delifeq"}};

}  // namespace

BOOST_AUTO_TEST_CASE(read_for_each_version_finds_its_features)
{
    struct {
        version v;
        deletion by;
        bool checks_type;
    } const all[] = {{redis_6_2, deletion::script, false},
                     {redis_7_0, deletion::script, true},
                     {redis_8_4, deletion::delex, true},
                     {valkey_8, deletion::script, true},
                     {valkey_9, deletion::delifeq, true}};
    for (auto const& one : all) {
        auto const i = greets(server(one.v));
        BOOST_TEST_CONTEXT(one.v.number << ' ' << one.v.deletions.size()) {
            BOOST_TEST(i.refusal.error == error_code());
            BOOST_TEST(i.refusal.text == "");
            BOOST_TEST((i.by == one.by));
            BOOST_TEST(i.checks_type == one.checks_type);
            BOOST_TEST(i.run_id == "abc");
            BOOST_TEST((!i.record || i.record->memory.up == 42s));
            BOOST_TEST(i.client_id == "7");
            BOOST_TEST(i.no_tracking == "");
            BOOST_TEST(i.tells_of_policy);
        }
    }
}

BOOST_AUTO_TEST_CASE(read_of_redis_6_0_refuses_fencing)
{
    auto const with = greets(server(redis_6_0));
    BOOST_TEST(with.refusal.error == make_error_code(errc::unsupported_server));
    BOOST_TEST(with.refusal.text == "fencing needs Redis 6.2, and this is version 6.0.20");
    BOOST_TEST(greets(server(redis_6_0), "redis://s", {.nodes = {}}).refusal.error == error_code());
}

BOOST_AUTO_TEST_CASE(ask_of_a_server_reads_its_record)
{
    for (auto const* address : {"redis://s", "redis-sentinel://s/m"}) {
        auto const i = greets(server(redis_7_0), address);
        BOOST_TEST(i.refusal.error == error_code());
        BOOST_TEST_REQUIRE(i.record.has_value());
        BOOST_TEST(i.record->memory.word == "f00d");
        BOOST_TEST((i.record->memory.began == core::beginning::anew));
        BOOST_TEST((i.record->memory.age == 42s));
        BOOST_TEST(i.record->memory.lives == "abc");
    }
    BOOST_TEST(
        !greets(server(redis_7_0), "redis://s", {.nodes = {}, .restart_guard = restart_guard::off, .record = false})
             .record.has_value());
}

BOOST_AUTO_TEST_CASE(read_of_a_server_without_a_record_refuses_it)
{
    auto const greeted = [](reply answer, restart_guard guard = restart_guard::automatic) {
        auto v = redis_7_0;
        v.answer = [answer](command const& c) {
            return c[0] == "EVALSHA" && c[1] == record_script.sha1 ? std::optional(answer) : std::nullopt;
        };
        auto i = greets(server(v), "redis://s", {.nodes = {}, .restart_guard = guard});
        BOOST_TEST(!i.record.has_value());
        return i.refusal;
    };
    auto const forbidden = refused("ERR ACL failure in script: User app has no permissions to run the 'info' command");
    auto const why = greeted(forbidden);
    BOOST_TEST((why.error == errc::permission_denied));
    BOOST_TEST(why.text.find("+info") != std::string::npos, why.text);
    BOOST_TEST(why.text.find("lock::=record") != std::string::npos, why.text);
    BOOST_TEST((greeted(nothing()).error == errc::unsupported_server));  // it hides its run id
    using stores::redis::resp::type;
    for (auto const& answer :
         {list(type::array, {"a", "r", "1", "0", ""}), list(type::array, {"a", "r", "x", "0", "", ""}),
          list(type::array, {"", "r", "1", "0", "", ""}), list(type::array, {"a", "rr", "1", "0", "", ""}),
          list(type::array, {"a", "r", "1", "0", "0-1", ""})})
        BOOST_TEST((greeted(answer).error == errc::unexpected_reply));
    BOOST_TEST(!greeted(refused("OOM command not allowed when used memory > 'maxmemory'.")).error);  // it passes
    BOOST_TEST(!greeted(forbidden, restart_guard::off).error);
}

BOOST_AUTO_TEST_CASE(ask_of_a_server_reads_the_settings_of_others)
{
    auto v = redis_7_0;
    v.answer = [](command const& c) {
        bool const asks = c[0] == "EVALSHA" && c[1] == record_script.sha1;
        return asks ? std::optional(list(stores::redis::resp::type::array,
                                         {"f00d", "r", "42000", "0", "", "abc", "max_ttl=5000", "max_ttl=7000"}))
                    : std::nullopt;
    };
    auto const i = greets(server(v));
    BOOST_TEST_REQUIRE(i.record.has_value());
    BOOST_TEST((i.record->other_settings == std::vector<std::string>{"max_ttl=5000", "max_ttl=7000"}));
}

BOOST_AUTO_TEST_CASE(differences_of_settings_name_each_setting_and_both_values)
{
    auto const ours = shared_settings({.nodes = {"a", "b", "c"}});
    BOOST_TEST(ours
               == "nodes=3 max_ttl=60000 restart_guard=automatic allow_eviction=false drift_factor=0.01 fencing=false");
    BOOST_TEST(differences(ours, ours).empty());
    BOOST_TEST(differences(ours, "").empty());
    BOOST_TEST(differences(ours, "color=red max_ttl_min=1 max_ttl").empty());
    BOOST_TEST(differences(ours, ours + " fence_quorum=3").empty());  // from a client of 0.1.0
    auto const theirs = shared_settings({.nodes = {"a", "b", "c"}, .max_ttl = 5s, .restart_guard = restart_guard::off});
    auto const found = differences(ours, theirs);
    BOOST_TEST_REQUIRE(found.size() == 2u);
    BOOST_TEST(found[0] == "another client has used max_ttl=5000 within the last hour, this one 60000");
    BOOST_TEST(found[1] == "another client has used restart_guard=off within the last hour, this one automatic");
    for (auto const& other :
         {manager_options{.nodes = {"a"}}, manager_options{.nodes = {"a", "b", "c"}, .drift_factor = 0.09},
          manager_options{.nodes = {"a", "b", "c"}, .fencing = true},
          manager_options{.nodes = {"a", "b", "c"}, .allow_eviction = true}})
        BOOST_TEST(differences(ours, shared_settings(other)).size() == 1u);
}

BOOST_AUTO_TEST_CASE(differences_from_a_stricter_client_are_left_out)
{
    auto const automatic = shared_settings({.nodes = {"a"}}),
               strict = shared_settings({.nodes = {"a"}, .restart_guard = restart_guard::strict});
    BOOST_TEST(differences(automatic, strict).empty());
    BOOST_TEST(differences(strict, automatic).size() == 1u);
    BOOST_TEST(differences(strict, strict).empty());
}

BOOST_AUTO_TEST_CASE(ask_of_a_cluster_member_uses_keys_in_its_own_slots)
{
    auto where = net::parse_url("redis://s");
    where.topology = net::topology::member;
    where.tag = "{3}";
    greeting g(where, {.nodes = {}, .fencing = true});
    stores::redis::request r;
    g.ask(r, "0123456789abcdef");
    for (auto const& c : test::take_commands(r.bytes())) {
        for (auto const& word : c)
            BOOST_TEST((!word.starts_with("lock:") || word.find("{3}") != word.npos), word);
    }
    auto member = redis_7_0, alone = redis_7_0;
    member.mode = "cluster";
    BOOST_TEST(g.read(server(member).answers(r)).refusal.error == error_code());
    BOOST_TEST((g.read(server(alone).answers(r)).refusal.error == errc::unsupported_server));
}

BOOST_AUTO_TEST_CASE(read_of_a_server_that_cannot_vote_gives_the_reason)
{
    struct {
        std::string_view why;
        std::function<void(version&)> change;
        errc error;
        std::string_view words;
    } const all[] = {
        {"replica", [](auto& v) { v.role = "replica"; }, errc::node_read_only, "its role is replica"},
        {"cluster member", [](auto& v) { v.mode = "cluster"; }, errc::wrong_cluster_node, "member of a cluster"},
        {"Sentinel", [](auto& v) { v.mode = "sentinel"; }, errc::unsupported_server, "this is a Sentinel"},
        {"eviction is possible", [](auto& v) { v.memory = "maxmemory:1000\r\nmaxmemory_policy:allkeys-lru\r\n"; },
         errc::node_may_evict, "its maxmemory-policy is allkeys-lru"},
        {"server is loading", [](auto& v) { v.persistence = "loading:1\r\n"; }, errc::node_loading,
         "it is loading its data"},
        {"password is missing",
         [](auto& v) {
             v.answer = refuses("HELLO", "NOAUTH HELLO must be called with the client already authenticated");
         },
         errc::authentication_failed, "NOAUTH"},
        {"not a Redis server", [](auto& v) { v.answer = [](command const&) { return std::optional(word("OK")); }; },
         errc::unexpected_reply, "its replies do not match the greeting"},
        {"scripts are forbidden",
         [](auto& v) {
             v.answer = refuses("EVALSHA", "NOPERM User locks has no permissions to run the 'evalsha' command");
         },
         errc::permission_denied, "'evalsha'"},
        {"scripts cannot be loaded",
         [](auto& v) {
             v.answer = [](command const& c) -> std::optional<reply> {
                 if (c[0] == "SCRIPT")
                     return refused("ERR unknown command 'SCRIPT', with args beginning with: 'LOAD' ");
                 if (c[0] == "EVALSHA")
                     return refused("NOSCRIPT No matching script. Please use EVAL.");
                 return std::nullopt;
             };
         },
         errc::permission_denied, "SCRIPT LOAD"}};
    for (auto const& one : all) {
        version v = redis_7_0;
        one.change(v);
        auto const i = greets(server(v));
        BOOST_TEST_CONTEXT(one.why) {
            BOOST_TEST(i.refusal.error == make_error_code(one.error));
            BOOST_TEST((i.refusal.text.find(one.words) != std::string::npos), "\"" << i.refusal.text << '"');
        }
    }
}

BOOST_AUTO_TEST_CASE(read_of_a_temporary_error_or_one_about_other_keys_ignores_it)
{
    for (auto const* words :
         {"OOM command not allowed when used memory > 'maxmemory'.",
          "MISCONF Redis is configured to save RDB snapshots", "NOPERM No permissions to access a key"}) {
        version v = redis_7_0;
        v.answer = [&](command const& c) {
            bool const is_about_locks = c[0] == "SET" || (c[0] == "EVALSHA" && c[1] != record_script.sha1);
            return is_about_locks ? std::optional(refused(words)) : std::nullopt;
        };
        BOOST_TEST(greets(server(v)).refusal.error == error_code(), words);
    }
}

BOOST_AUTO_TEST_CASE(read_without_permission_for_tracking_or_config_accepts)
{
    version v = redis_7_0;
    v.answer = [](command const& c) -> std::optional<reply> {
        if (c[0] == "CLIENT" && c[1] == "TRACKING")
            return refused("NOPERM User locks has no permissions to run the 'client|tracking' command");
        if (c[0] == "CONFIG")
            return refused("NOPERM User locks has no permissions to run the 'config|get' command");
        return std::nullopt;
    };
    auto const i = greets(server(v));
    BOOST_TEST(i.refusal.error == error_code());
    BOOST_TEST((i.no_tracking.find("client|tracking") != std::string::npos));
    BOOST_TEST(!i.tells_of_policy);
}

BOOST_AUTO_TEST_CASE(ask_selects_the_database_of_the_address)
{
    bool chosen = false;
    version v = redis_7_0;
    v.answer = [&](command const& c) -> std::optional<reply> {
        chosen = chosen || c == command{"SELECT", "3"};
        return std::nullopt;
    };
    BOOST_TEST(greets(server(v), "redis://s/3").refusal.error == error_code());
    BOOST_TEST(chosen);
    v.answer = refuses("SELECT", "ERR DB index is out of range");
    auto const i = greets(server(v), "redis://s/3");
    BOOST_TEST(i.refusal.error == make_error_code(errc::server_error));
    BOOST_TEST(i.refusal.text == "ERR DB index is out of range");
}

BOOST_AUTO_TEST_SUITE_END()
