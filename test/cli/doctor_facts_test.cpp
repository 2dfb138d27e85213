// What the doctor makes of facts that are made up here: each check by itself.

#include "cli/doctor/checks.hpp"
#include "cli/doctor/releases.hpp"
#include "cli/made_up_nodes.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::cli;
using namespace redlock::cli::doctor;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(doctor_facts)

namespace {

using namespace redlock::test::made_up;

// What a check says of the first node, or of all of them.
findings found(std::vector<node_facts> const& nodes, std::string_view what, demands const& d = usual())
{
    auto all = diagnose(nodes, d);
    std::erase_if(all,
                  [&](auto const& f) { return f.what != what || (!f.node.empty() && f.node != nodes.front().name); });
    return all;
}

using change = std::function<void(node_facts&, demands&)>;

// Changes of what a server has answered.
change sets(reply node_facts::*what, std::string name, std::string value)
{
    return [=](node_facts& f, demands&) { set(f.*what, name, value); };
}
change info(std::string name, std::string value) { return sets(&node_facts::info, name, value); }
change setting(std::string name, std::string value) { return sets(&node_facts::settings, name, value); }
change answers(reply node_facts::*what, reply answer)
{
    return [=](node_facts& f, demands&) { f.*what = answer; };
}
change refuses(reply node_facts::*what, std::string why = "NOPERM no") { return answers(what, error(why)); }
change both(change first, change second)
{
    return [=](node_facts& f, demands& d) { first(f, d), second(f, d); };
}

void nothing(node_facts&, demands&) {}

// A defect, and what is to be said of it.
struct defect {
    std::string_view what;
    doctor::level level;
    std::string_view why;   ///< a part of the sentence
    std::string_view mend;  ///< a part of the line
    change make;
};

void must_be_told(defect const& wrong)
{
    auto nodes = healthy_set();
    auto d = usual();
    wrong.make(nodes.front(), d);
    auto const all = found(nodes, wrong.what, d);
    BOOST_TEST_CONTEXT(wrong.what << ": " << wrong.why) {
        BOOST_TEST_REQUIRE(all.size() == 1u);
        auto const& f = all.front();
        BOOST_TEST(to_string(f.level) == to_string(wrong.level));
        BOOST_TEST(f.why.find(wrong.why) != f.why.npos, f.why);
        BOOST_TEST(f.mend.find(wrong.mend) != f.mend.npos, f.mend);
        BOOST_TEST((f.level == level::ok || !f.mend.empty()), f.why);
    }
}

constexpr std::string_view us = "redis-cli -h 10.0.0.1 -p 6379 ";

}  // namespace

BOOST_AUTO_TEST_CASE(a_healthy_set_of_three_is_well)
{
    auto const all = diagnose(healthy_set(), usual());

    for (auto const& f : all)
        BOOST_TEST((f.level == level::ok && f.mend.empty() && !f.why.empty()), f.what << ": " << f.why);
    BOOST_TEST((worst(all) == level::ok));
    BOOST_TEST(all.size() > 40u);
}

BOOST_AUTO_TEST_CASE(the_worst_decides_about_the_status)
{
    using enum level;
    auto const of = [](std::initializer_list<level> levels) {
        findings all;
        for (auto const l : levels)
            all.push_back({.level = l});
        return exit_status_of(worst(all));
    };
    BOOST_TEST(of({}) == 0);
    BOOST_TEST(of({ok, unknown, ok}) == 3);
    BOOST_TEST(of({unknown, warning}) == 1);
    BOOST_TEST(of({unknown, critical, warning}) == 2);
}

BOOST_AUTO_TEST_CASE(who_cannot_be_reached_is_told_and_nothing_else_of_it)
{
    auto nodes = healthy_set();
    nodes.front() = {.name = nodes.front().name, .place = nodes.front().place, .hello = silence("Connection refused")};
    auto all = diagnose(nodes, usual());
    std::erase_if(all, [&](auto const& f) { return f.node != nodes.front().name; });

    BOOST_TEST_REQUIRE(all.size() == 1u);
    BOOST_TEST(all.front().what == "reachable");
    BOOST_TEST((all.front().level == level::critical));
    BOOST_TEST(all.front().mend == "systemctl restart redis-server  # on 10.0.0.1");
    BOOST_TEST((found(nodes, "votes").front().level == level::warning));
    BOOST_TEST((found(nodes, "same-server").front().level == level::unknown));
}

BOOST_AUTO_TEST_CASE(reachable_by_cause_and_port_names_the_mend)
{
    auto nodes = healthy_set();
    auto const mend_for = [&](std::string const& why) {
        nodes.front().hello = silence(why);
        return found(nodes, "reachable").front().mend;
    };
    BOOST_TEST(mend_for("Connect timeout")
               == "systemctl restart redis-server  # on 10.0.0.1, if no firewall drops the packets");
    BOOST_TEST(mend_for("Host not found (authoritative)").find("-u redis://app@HOST:6379 ") != std::string::npos);
    BOOST_TEST(mend_for("Host not found (authoritative)").ends_with("# HOST: the right name, as 10.0.0.1 is unknown"));
    nodes.front().place.port = "7000";
    BOOST_TEST(mend_for("Connection refused")
               == "systemctl list-units --all '*redis*' '*valkey*'  # on 10.0.0.1: start the server of port 7000");
    BOOST_TEST(mend_for("Connect timeout")
               == "ss -ltnp 'sport = :7000'  # on 10.0.0.1: restart this server, if no firewall drops the packets");
}

BOOST_AUTO_TEST_CASE(connections_that_are_refused)
{
    auto const login = [](std::string_view why, std::string_view mend, std::string answer) {
        must_be_told({"login", level::critical, why, mend, refuses(&node_facts::hello, answer)});
    };
    login("WRONGPASS", "--password-file", "WRONGPASS invalid username-password pair");
    login("NOPERM", "ACL SETUSER app +hello", "NOPERM this user has no permissions to run the 'hello' command");
    login("NOPERM", "ACL SETUSER app +select", "NOPERM User app has no permissions to run the 'select' command");
    login("DB index", "CONFIG GET databases", "ERR DB index is out of range");
    login("max number", "CONFIG SET maxclients $((n * 2))", "ERR max number of clients reached");
    login("DENIED", "| redis-cli -p 6379 -x CONFIG SET requirepass  # on 10.0.0.1;",
          "DENIED Redis is running in protected mode");
}

BOOST_AUTO_TEST_CASE(certificates)
{
    using enum level;
    auto const shown = [](auto begins, auto ends, std::string complaint = {}) {
        return [=](node_facts& f, demands&) {
            f.certificate = server_certificate{.begins = today + begins, .ends = today + ends, .complaint = complaint};
        };
    };
    using std::chrono::days;
    must_be_told({"certificate", ok, "ends in 90 days, on 2026-08-30", "", shown(-days(1), days(90))});
    must_be_told({"certificate", warning, "ends in 29 days", "tls-cert-file", shown(-days(1), days(29))});
    must_be_told({"certificate", critical, "ends in 6 days", "tls-cert-file", shown(-days(1), days(6))});
    must_be_told({"certificate", critical, "has ended on 2026-05-31", "tls-cert-file",
                  shown(-days(9), -days(1), "certificate has expired")});
    must_be_told({"certificate", critical, "begins on 2026-06-02", "tls-cert-file",
                  shown(days(1), days(90), "certificate is not yet valid")});
    must_be_told({"certificate", critical, "not trusted", "--ca-file",
                  shown(-days(1), days(90), "unable to get local issuer certificate")});
    must_be_told({"certificate", unknown, "could not be read", "openssl s_client -connect 10.0.0.1:6379",
                  [](auto& f, auto&) { f.certificate = server_certificate{.unread = "Connection refused"}; }});
}

BOOST_AUTO_TEST_CASE(round_trips_against_node_timeout_and_ttl)
{
    using enum level;
    must_be_told({"round-trip", ok, "p50 0.3 ms, p99 0.3 ms of 50", "", nothing});
    must_be_told({"round-trip", warning, "some votes come after node_timeout (50 ms)",
                  "redlock -u redis://app@10.0.0.1:6379 -u redis://app@10.0.0.2:6379 -u redis://app@10.0.0.3:6379"
                  " --prefix jobs: --node-timeout 280ms doctor",
                  [](auto& f, auto&) { f.round_trips.back() = 70ms; }});
    must_be_told({"round-trip", critical, "most votes", "--node-timeout 240ms doctor",
                  [](auto& f, auto&) { f.round_trips.assign(50, 60ms); }});
    must_be_told({"round-trip", warning, "a tenth of the ttl (200 ms)", "--ttl 600ms", [](auto& f, auto& d) {
                      f.round_trips.assign(50, 30ms);
                      d.ttl = 200ms;
                  }});
    must_be_told(
        {"round-trip", unknown, "stopped answering", "--latency", [](auto& f, auto&) { f.round_trips.clear(); }});
}

BOOST_AUTO_TEST_CASE(clocks_by_their_rate_and_their_offset)
{
    using enum level;
    auto const shifted = [](std::chrono::microseconds first, std::chrono::microseconds last, auto error) {
        return [=](node_facts& f, demands&) {
            f.first_time->theirs += first;
            f.last_time->theirs += last;
            f.last_time->error = error;
        };
    };
    must_be_told({"clock", critical, "gains 2.00 % within 1.0 s, more than drift_factor (1 %): two may hold a lock",
                  "set-ntp true  # on 10.0.0.1", shifted(0s, 20ms, 100us)});
    must_be_told({"clock", warning, "loses 2.00 %", "set-ntp", shifted(0s, -20ms, 100us)});
    must_be_told({"clock", ok, "runs as fast: +5000 ppm, give or take 200", "", shifted(0s, 5ms, 100us)});
    must_be_told({"clock", unknown, "cannot be told", "--watch", shifted(0s, 20ms, 15ms)});  // it may be our mistake
    must_be_told({"clock", warning, "90 s ahead of ours", "set-ntp", shifted(90s, 90s, 100us)});
    must_be_told({"clock", warning, "90 s behind ours", "set-ntp", shifted(-90s, -90s, 100us)});
    must_be_told({"clock", unknown, "not seen twice", "--watch", [](auto& f, auto&) { f.last_time.reset(); }});
}

BOOST_AUTO_TEST_CASE(what_a_server_is)
{
    using enum level;
    auto const is_replica = sets(&node_facts::hello, "role", "replica");
    auto const of = [&](std::string host, std::string port) {
        return both(is_replica, both(info("master_host", host), info("master_port", port)));
    };
    auto const watched_by = [](std::string count) {
        return answers(&node_facts::sentinels, words({"__sentinel__:hello", count}));
    };
    must_be_told({"role", critical, "a replica of 10.0.0.9:6380",
                  "redlock -u redis://app@10.0.0.9:6380 -u redis://app@10.0.0.2:6379 -u redis://app@10.0.0.3:6379"
                  " --prefix jobs: doctor",
                  of("10.0.0.9", "6380")});
    must_be_told({"role", critical, "a replica of 10.0.0.2:6379",
                  "redlock -u redis://app@10.0.0.2:6379 -u redis://app@10.0.0.3:6379 --prefix jobs: doctor",
                  of("10.0.0.2", "6379")});
    must_be_told({"role", critical, "a replica", "INFO replication", both(is_replica, refuses(&node_facts::info))});
    must_be_told({"role", critical, "member of a cluster", "redlock -u redis-cluster://app@10.0.0.1:6379 -u ",
                  sets(&node_facts::hello, "mode", "cluster")});
    must_be_told({"role", critical, "a Sentinel", "redis-sentinel://10.0.0.1:6379/NAME",
                  sets(&node_facts::hello, "mode", "sentinel")});
    must_be_told({"replicas", warning, "a replica is attached", "INFO replication", info("connected_slaves", "1")});
    must_be_told({"replicas", warning, "2 replicas are attached", "", info("connected_slaves", "2")});
    must_be_told({"sentinel", warning, "a Sentinel watches it", "SUBSCRIBE __sentinel__:hello", watched_by("1")});
    must_be_told({"sentinel", critical, "3 Sentinels watch it", "SUBSCRIBE __sentinel__:hello",
                  both(watched_by("3"), info("connected_slaves", "1"))});
}

BOOST_AUTO_TEST_CASE(version_check_knows_releases_and_their_end_of_life)
{
    using enum level;
    auto const is = [](std::string version) { return info("redis_version", version); };
    must_be_told({"version", ok, "Redis 7.4.1 is corrected until 2026-11-30", "", is("7.4.1")});
    must_be_told({"version", ok, "Redis 8.2.3 is corrected; no end of life is announced", "", is("8.2.3")});
    must_be_told({"version", ok, "Redis 8.10.0 is corrected; no end of life is announced", "", is("8.10.0")});
    must_be_told({"version", unknown, "Redis 7.9.0 is no release that this version of redlock knows", "INFO server",
                  is("7.9.0")});
    must_be_told({"version", critical, "Redis 5.0.7 is too old", "apt-cache policy redis-server", is("5.0.7")});
    must_be_told({"version", critical, "fencing needs 6.2", "apt-cache policy redis-server",
                  both(is("6.0.16"), [](auto&, auto& d) { d.used.fencing = true; })});
    must_be_told({"version", ok, "Valkey 8.1.3 is corrected until 2028-03-31", "", info("valkey_version", "8.1.3")});
    must_be_told({"version", ok, "Valkey 9.1.3 is corrected until 2029-05-19", "", info("valkey_version", "9.1.3")});
    BOOST_TEST(!life_of("redis", "8.1").is_known);  // a release of Valkey
    BOOST_TEST(!life_of("redis", "7.9").is_newer);
}

BOOST_AUTO_TEST_CASE(version_check_after_end_of_life_is_a_remark_and_strict_warns)
{
    auto nodes = healthy_set();
    set(nodes.front().info, "redis_version", "7.0.15");
    auto d = usual();

    auto const usually = found(nodes, "version", d).front();
    d.strict = true;
    auto const strictly = found(nodes, "version", d).front();

    BOOST_TEST((usually.level == level::ok && usually.is_remark && usually.mend.empty()));
    BOOST_TEST(usually.why
               == "Redis 7.0.15 reached its end of life on 2024-07-29; a distribution may still correct it");
    BOOST_TEST((strictly.level == level::warning && !strictly.is_remark));
    BOOST_TEST(strictly.mend.starts_with("apt-cache policy redis-server  # on 10.0.0.1; "), strictly.mend);
}

BOOST_AUTO_TEST_CASE(version_check_of_a_newer_release_is_a_remark_also_if_strict)
{
    auto nodes = healthy_set();
    set(nodes.front().info, "redis_version", "99.1.0");
    auto d = usual();
    d.strict = true;

    auto const f = found(nodes, "version", d).front();

    BOOST_TEST((f.level == level::ok && f.is_remark && f.mend.empty()));
    BOOST_TEST(f.why == "Redis 99.1.0 is newer than this version of redlock knows");
}

BOOST_AUTO_TEST_CASE(how_busy_a_server_is)
{
    using enum level;
    auto const used = [](std::string count) { return info("connected_clients", count); };
    must_be_told({"clients", ok, "80 of 100", "", used("80")});
    must_be_told({"clients", warning, "81 of 100", "CONFIG SET maxclients 200", used("81")});
    must_be_told({"clients", critical, "96 of 100", "CONFIG SET maxclients 200", used("96")});
    must_be_told(
        {"clients", warning, "2 were refused since its start", "CONFIG RESETSTAT", info("rejected_connections", "2")});
    must_be_told({"clients", unknown, "not known", "CONFIG GET maxclients",
                  both(info("maxclients", ""), refuses(&node_facts::settings, "ERR unknown command 'CONFIG'"))});
    must_be_told({"timeout", warning, "idle for 2 s", "CONFIG SET timeout 0", setting("timeout", "2")});
    must_be_told({"timeout", ok, "idle for 300 s", "", setting("timeout", "300")});
    must_be_told({"timeout", unknown, "does not contain timeout", us,
                  answers(&node_facts::settings, words({"appendfsync", "always"}))});
}

BOOST_AUTO_TEST_CASE(slow_commands_of_the_last_hour)
{
    using enum level;
    auto const entry = [](std::string when, std::string took, std::string command) {
        return list({text("7"), text(when), text(took), words({command, "secret"}), text("127.0.0.1:1"), text("")});
    };
    auto const logged = [](std::vector<reply> entries) { return answers(&node_facts::slow_log, list(entries)); };
    must_be_told({"slow-log", ok, "no command", "",
                  logged({entry("1000000", "50000", "KEYS"), entry("900000", "900000", "KEYS")})});
    must_be_told({"slow-log", warning,
                  "2 commands within the last hour have taken longer than node_timeout (50 ms), during which nobody "
                  "votes; the slowest, KEYS, 80 ms",
                  "SLOWLOG GET",
                  logged({entry("1000000", "60000", "SORT"), entry("999000", "80000", "KEYS"),
                          entry("900000", "900000", "SAVE")})});
    must_be_told({"slow-log", unknown, "do not come into its slow log", "slowlog-log-slower-than 10000",
                  setting("slowlog-log-slower-than", "60000")});
    must_be_told({"slow-log", unknown, "do not come into its slow log", "slowlog-log-slower-than 5000",
                  both(setting("slowlog-log-slower-than", "-1"), [](auto&, auto& d) { d.node_timeout = 5ms; })});
}

BOOST_AUTO_TEST_CASE(what_is_evicted)
{
    using enum level;
    auto const memory = [](std::string policy, std::string limit, std::string used, std::string evicted = "0") {
        return both(both(info("maxmemory_policy", policy), info("maxmemory", limit)),
                    both(info("used_memory", used), info("evicted_keys", evicted)));
    };
    must_be_told({"eviction", critical, "allkeys-lru and maxmemory 1.0 MiB", "CONFIG SET maxmemory-policy noeviction",
                  memory("allkeys-lru", "1048576", "9")});
    must_be_told({"eviction", ok, "no maxmemory", "", memory("volatile-ttl", "0", "9")});
    must_be_told(
        {"eviction", warning, "evicted 7 keys", "CONFIG RESETSTAT", memory("noeviction", "1048576", "9", "7")});
    must_be_told(
        {"eviction", warning, "grants no locks", "CONFIG SET maxmemory 2000", memory("noeviction", "1000", "901")});
    must_be_told({"eviction", ok, "noeviction", "", memory("noeviction", "1000", "900")});
    must_be_told({"eviction", unknown, "does not contain maxmemory_policy", "INFO", info("maxmemory_policy", "")});
}

BOOST_AUTO_TEST_CASE(what_a_restart_forgets)
{
    using enum level;
    must_be_told({"durability", ok, "votes at once", "", nothing});
    must_be_told({"durability", warning, "does not vote for 60 s (max_ttl)", "CONFIG SET appendonly yes",
                  info("aof_enabled", "0")});
    must_be_told({"durability", critical, "last write", "df -h", info("aof_last_write_status", "err")});
    must_be_told({"durability", warning, "appendfsync is everysec", "CONFIG SET appendfsync always",
                  setting("appendfsync", "everysec")});
    must_be_told({"durability", warning, "no-appendfsync-on-rewrite is yes", "no-appendfsync-on-rewrite no",
                  setting("no-appendfsync-on-rewrite", "yes")});
    must_be_told({"durability", warning, "being rewritten", "INFO persistence", info("aof_rewrite_in_progress", "1")});
    must_be_told({"durability", warning, "being rewritten", "INFO persistence", info("aof_rewrite_scheduled", "1")});
    must_be_told({"durability", unknown, "CONFIG GET is refused", "ACL SETUSER app '+config|get'",
                  refuses(&node_facts::settings)});
}

BOOST_AUTO_TEST_CASE(the_client_in_a_line_finds_the_server_and_trusts_it)
{
    using cli::server_place;
    BOOST_TEST((server_place{.host = "a",
                             .port = "1",
                             .has_tls = true,
                             .tls = {.ca_file = "our ca.pem", .certificate_file = "c.pem", .private_key_file = "k.pem"}}
                    .client())
               == "redis-cli -h a -p 1 --tls --cacert 'our ca.pem' --cert c.pem --key k.pem");
    BOOST_TEST((server_place{.host = "a;b", .port = "1"}.client()) == "redis-cli -h 'a;b' -p 1");
    BOOST_TEST((server_place{.socket = "/run/a b"}.client()) == "redis-cli -s '/run/a b'");
    BOOST_TEST(
        (server_place{.host = "a", .port = "1", .user = "app", .password = cli::password_in("our file")}.client())
        == "REDISCLI_AUTH=\"$(head -n 1 <'our file')\" redis-cli -h a -p 1 --user app");
    BOOST_TEST((server_place{.host = "a", .port = "1", .user = "app", .administrator = server_user()}.admin_client())
               == "redis-cli -h a -p 1");
    BOOST_TEST((server_place{.host = "a", .port = "1", .user = "app"}.admin_client())
               == "REDISCLI_AUTH=\"${REDISCLI_AUTH:?set it to the password}\" redis-cli -h a -p 1 --user default");
}

BOOST_AUTO_TEST_CASE(without_password_keeps_the_user_the_database_and_the_service)
{
    BOOST_TEST(without_password("valkey://10.0.0.1/2") == "valkey://10.0.0.1/2");
    BOOST_TEST(without_password("rediss://a%20b:p@w@[::1]:7000/2") == "rediss://a%20b@[::1]:7000/2");
    BOOST_TEST(without_password("redis://:password@10.0.0.1") == "redis://10.0.0.1:6379");
    BOOST_TEST(without_password("unix://app:password@/run/redis?db=1") == "unix://app@/run/redis?db=1");
    BOOST_TEST(without_password("redis-sentinel://app:x@a,b/stock?db=2&sentinel_password=y")
               == "redis-sentinel://app@a:26379,b:26379/stock?db=2");
    BOOST_TEST(without_password("redis-cluster://:x@a:7000") == "redis-cluster://a:7000");
    BOOST_TEST(without_password("postgresql://app:x@a/db") == "URL");
}

BOOST_AUTO_TEST_CASE(keys_that_are_no_locks)
{
    using enum level;
    must_be_told({"keys", ok, "7 keys looked at, 5 with the prefix lock:", "", [](auto& f, auto&) {
                      f.keys.looked_at = 7;
                      f.keys.found = 5;
                  }});
    must_be_told({"keys", warning, "1 key without an expiry, which nobody releases: lock:a b",
                  "-n 3 PEXPIRE 'lock:a b' 60000", [](auto& f, auto&) {
                      f.place.database = 3;
                      f.keys.endless.add("lock:a b", "string");
                  }});
    must_be_told({"keys", warning, "lock:x (list)", "RENAMENX lock:x no-lock:x",
                  [](auto& f, auto&) { f.keys.foreign.add("lock:x", "list"); }});
    must_be_told({"keys", warning, "lock:\\x1bit's\\x0a",
                  R"(printf '%s\n' '"PEXPIRE" "lock:\x1bit\x27s\x0a" "60000"' | redis-cli)",
                  [](auto& f, auto&) { f.keys.endless.add("lock:\x1bit's\n", "string"); }});
    for (auto const why : {"9 keys of another type", "lock:4 (list) and 4 more"})
        must_be_told({"keys", warning, why, "", [](auto& f, auto&) {
                          for (int i = 0; i < 9; ++i)
                              f.keys.foreign.add(fmt::format("lock:{}", i), "list");
                      }});
    must_be_told({"keys", ok, "others are there (--keys)", "", [](auto& f, auto&) { f.keys.is_all = false; }});
    must_be_told({"keys", unknown, "SCAN is refused", "ACL SETUSER app +scan", [](auto& f, auto&) {
                      f.keys.refusal = error("NOPERM no");
                      f.keys.refused = "scan";
                  }});
}

BOOST_AUTO_TEST_CASE(counters_and_their_memory)
{
    using enum level;
    auto const counted = [](std::size_t count) {
        return [=](node_facts& f, demands&) {
            f.keys.counters = count;
            f.keys.measured = 10;
            f.keys.measured_bytes = 1024;
        };
    };
    must_be_told({"counters", ok, "no fencing counters", "", counted(0)});
    must_be_told({"counters", ok, "1000 counters of fencing, one for each resource and for ever, take about 100 KiB",
                  "", counted(1000)});
    must_be_told({"counters", warning, "more than half of maxmemory", "CONFIG SET maxmemory",
                  both(counted(1000), info("maxmemory", "204799"))});
    must_be_told({"counters", unknown, "MEMORY USAGE is refused", "+memory|usage",
                  both(counted(1), [](auto& f, auto&) { f.keys.unmeasured = error("NOPERM no"); })});
}

BOOST_AUTO_TEST_CASE(permissions_by_what_was_tried)
{
    using enum level;
    must_be_told({"permissions", ok,
                  "a lock was acquired, extended, waited for, released (what is asked for by --fencing, --waiting, "
                  "--shared, --sets was not tried)",
                  "", nothing});
    must_be_told({"permissions", critical, "may not run pexpire, without which nothing is extended",
                  "ACL SETUSER app +pexpire", [](auto& f, auto&) {
                      f.trials.emplace_back("pexpire",
                                            error("NOPERM this user has no permissions to run the 'pexpire' command"));
                      f.probe = {.done = {"acquired"},
                                 .failed_at = "extended",
                                 .error = errc::permission_denied,
                                 .message = "refused"};
                  }});
    must_be_told({"permissions", warning, "may not run config|get", "ACL SETUSER app '+config|get'",
                  [](auto& f, auto&) { f.trials.emplace_back("config|get", error("NOPERM no")); }});
    must_be_told({"permissions", critical, "may not use keys that begin with my lock:", "ACL SETUSER app '~my lock:*'",
                  [](auto& f, auto& d) {
                      d.prefix = "my lock:";
                      f.trials.front().second = error("NOPERM No permissions to access a key");
                  }});
    must_be_told(
        {"permissions", critical, "a lock was acquired, but it could not be extended: ran out", "", [](auto& f, auto&) {
             f.probe = {.done = {"acquired"}, .failed_at = "extended", .error = errc::lost, .message = "ran out"};
             f.place.user = "app";
         }});
    must_be_told({"permissions", unknown, "held by somebody else", "doctor --probe =doctor-2", [](auto& f, auto&) {
                      f.probe = {
                          .failed_at = "acquired", .error = errc::contended, .message = "contended", .is_taken = true};
                  }});
}

BOOST_AUTO_TEST_CASE(what_cannot_be_read_is_unknown_with_the_line_to_run)
{
    using enum level;
    for (auto const what : {"replicas", "version", "clients", "eviction", "durability"}) {
        must_be_told(
            {what, unknown, "INFO is refused: NOPERM no", "ACL SETUSER app +info", refuses(&node_facts::info)});
        must_be_told({what, unknown, "INFO is not answered", "redis-cli -h 10.0.0.1 -p 6379 INFO",
                      answers(&node_facts::info, silence())});
    }
    must_be_told({"clock", unknown, "TIME is refused", "+time", refuses(&node_facts::time)});
    must_be_told({"timeout", unknown, "CONFIG GET is refused: ERR unknown command", "doctor --skip timeout",
                  refuses(&node_facts::settings, "ERR unknown command 'CONFIG'")});
    must_be_told({"sentinel", unknown, "PUBSUB NUMSUB is refused", "+pubsub|numsub", refuses(&node_facts::sentinels)});
    must_be_told({"slow-log", unknown, "SLOWLOG GET is refused", "+slowlog|get", refuses(&node_facts::slow_log)});
}

BOOST_AUTO_TEST_CASE(how_many_nodes_there_are)
{
    auto const of = [](int count) {
        std::vector<node_facts> nodes;
        for (int i = 1; i <= count; ++i)
            nodes.push_back(healthy(i));
        return found(nodes, "nodes").front();
    };
    BOOST_TEST((of(1).level == level::warning));
    BOOST_TEST(of(1).why.find("as good as that server's memory") != std::string::npos);
    BOOST_TEST((of(2).level == level::warning));
    BOOST_TEST((of(4).level == level::warning));
    BOOST_TEST(of(4).why.find("4 nodes survive the failure of 1, as 3 do") != std::string::npos);
    BOOST_TEST((of(5).level == level::ok));
    BOOST_TEST(of(5).why == "of 5 nodes 2 may fail");
}

BOOST_AUTO_TEST_CASE(servers_that_are_one_or_that_fail_together)
{
    auto nodes = healthy_set();
    set(nodes[1].info, "run_id", nodes[0].info.field("run_id"));
    auto const same = found(nodes, "same-server");
    BOOST_TEST_REQUIRE(same.size() == 1u);
    BOOST_TEST((same.front().level == level::critical));
    BOOST_TEST(same.front().why.find("redis://10.0.0.1:6379 and redis://10.0.0.2:6379 are one server") == 0u);

    nodes[2].addresses = {"fe80::1", nodes[0].addresses.front()};
    auto const together = found(nodes, "same-host");
    BOOST_TEST_REQUIRE(together.size() == 1u);
    BOOST_TEST((together.front().level == level::warning));
    BOOST_TEST(together.front().why.find("redis://10.0.0.1:6379 and redis://10.0.0.3:6379 are on one host (10.0.0.1)")
               == 0u);
}

BOOST_AUTO_TEST_CASE(same_settings_names_what_clients_have_differently)
{
    auto nodes = healthy_set();
    BOOST_TEST((found(nodes, "same-settings").front().level == level::ok));
    for (auto& f : nodes)
        f.clients = text("5000 nodes=3 max_ttl=60000 fencing=true\n");
    auto const same = found(nodes, "same-settings");
    BOOST_TEST_REQUIRE(same.size() == 1u);
    BOOST_TEST((same.front().level == level::ok));

    nodes[1].clients.text += "7000 nodes=3 max_ttl=5000 fencing=false\n";
    auto const different = found(nodes, "same-settings");
    BOOST_TEST_REQUIRE(different.size() == 2u);
    BOOST_TEST((different[0].level == level::warning && different[1].level == level::warning));
    BOOST_TEST(different[0].why == "clients within the last hour had different settings: max_ttl was 60000 and 5000");
    BOOST_TEST(different[1].why == "clients within the last hour had different settings: fencing was true and false");

    for (auto& f : nodes)
        f.clients = text("5000 restart_guard=automatic\n7000 restart_guard=strict\n");
    BOOST_TEST((found(nodes, "same-settings").front().level == level::ok));  // the command line beside a program
    nodes[1].clients.text += "9000 restart_guard=off\n";
    BOOST_TEST((found(nodes, "same-settings").front().level == level::warning));

    for (auto& f : nodes)
        f.clients = error("NOPERM");
    BOOST_TEST((found(nodes, "same-settings").front().level == level::unknown));
}

BOOST_AUTO_TEST_CASE(whether_enough_nodes_vote)
{
    auto nodes = healthy_set();
    auto const level_now = [&] { return found(nodes, "votes").front().level; };
    BOOST_TEST((level_now() == level::ok));
    nodes[0].probe = {.failed_at = "acquired", .error = errc::permission_denied};
    BOOST_TEST((level_now() == level::warning));
    BOOST_TEST(found(nodes, "votes").front().mend.find("0 more may fail") != std::string::npos);
    nodes[1].probe = nodes[0].probe;
    BOOST_TEST((level_now() == level::critical));
}

BOOST_AUTO_TEST_CASE(restart_guard_with_quarantined_nodes_says_how_long)
{
    auto nodes = healthy_set();
    auto d = usual();
    auto const now = [&] { return found(nodes, "restart-guard", d).front(); };
    BOOST_TEST(now().why
               == "no node is in quarantine; 3 of 3 vote at once after a restart, the others after 60 s (max_ttl)");

    nodes[0].vote.quarantine = 39'500ms;
    BOOST_TEST((now().level == level::warning));
    BOOST_TEST(now().why.find("1 of 3 nodes do not vote yet: "
                              "they have restarted, or are new to the prefix lock:")
               == 0u);
    nodes[1].vote.quarantine = 50s;
    BOOST_TEST((now().level == level::critical));
    BOOST_TEST(now().why.find("no lock for 40 s (--restart-guard strict)") != std::string::npos);
    BOOST_TEST(now().mend.find("sleep 40") == 0u);
    BOOST_TEST((found(nodes, "votes", d).front().level == level::critical));
    nodes[0].has_no_marker = nodes[1].has_no_marker = true;
    BOOST_TEST(now().why.find("no client has locked there with the prefix lock: before") != std::string::npos);
    BOOST_TEST(now().why.find("restarted") == std::string::npos);
}

BOOST_AUTO_TEST_CASE(restart_guard_if_young_servers_vote_is_a_warning)
{
    auto nodes = healthy_set();
    for (auto& f : nodes) {
        set(f.info, "uptime_in_seconds", "21");
        set(f.info, "aof_enabled", "0");
    }
    auto d = usual();
    d.restart_guard = redlock::restart_guard::automatic;
    auto const now = found(nodes, "restart-guard", d).front();
    BOOST_TEST((now.level == level::warning));
    BOOST_TEST(now.why.find("two may hold a lock for 40 s, unless the nodes are new") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(of_other_stores_only_the_votes_are_known)
{
    auto nodes = healthy_set();
    nodes[0] = {.name = "etcd://10.0.0.1", .is_server = false};
    nodes[0].probe.done = {"acquired", "released"};
    nodes[0].vote.is_connected = true;
    auto all = diagnose(nodes, usual());
    std::erase_if(all, [](auto const& f) { return f.node != "etcd://10.0.0.1"; });

    BOOST_TEST_REQUIRE(all.size() == 3u);
    BOOST_TEST((all[0].what == "reachable" && all[0].level == level::ok));
    BOOST_TEST((all[1].what == "permissions" && all[1].level == level::ok));
    BOOST_TEST((all[2].what == "settings" && all[2].level == level::unknown));
    BOOST_TEST((worst(diagnose(nodes, usual(), {"settings"})) == level::ok));

    nodes[0].probe = {.failed_at = "acquired", .error = errc::node_unreachable, .message = "Connection refused"};
    BOOST_TEST((found(nodes, "reachable").front().level == level::critical));
}

BOOST_AUTO_TEST_CASE(checks_are_named_once_and_can_be_skipped)
{
    auto names = names_of_checks();
    auto const all = diagnose(healthy_set(), usual());
    for (auto const& name : names) {
        auto const left = diagnose(healthy_set(), usual(), {std::string(name)});
        BOOST_TEST(std::ranges::none_of(left, [&](auto const& f) { return f.what == name; }), name);
        BOOST_TEST(std::ranges::count(names, name) == 1, name);
    }
    BOOST_TEST(
        std::ranges::all_of(all, [&](auto const& f) { return std::ranges::find(names, f.what) != names.end(); }));
}

BOOST_AUTO_TEST_SUITE_END()
