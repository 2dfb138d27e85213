// Each check of the doctor, on facts that the test makes up.

#include "tools/redlock/doctor/checks.hpp"
#include "tools/redlock/doctor/releases.hpp"
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

BOOST_AUTO_TEST_SUITE(doctor_checks)

namespace {

using namespace redlock::test::made_up;

// The findings of the check @p what about the first node, or about all nodes together.
findings found(std::vector<node_facts> const& nodes, std::string_view what, demands const& d = usual())
{
    auto all = diagnose(nodes, d);
    std::erase_if(all,
                  [&](auto const& f) { return f.what != what || (!f.node.empty() && f.node != nodes.front().name); });
    return all;
}

using change = std::function<void(node_facts&, demands&)>;

// Changes of the answers of a server.
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

void no_change(node_facts&, demands&) {}

// A defect, and the finding that must report it.
struct defect {
    std::string_view what;
    doctor::level level;
    std::string_view why;  ///< a part of the sentence
    std::string_view fix;  ///< a part of the line
    change make;
};

void must_find(defect const& wrong)
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
        BOOST_TEST(f.fix.find(wrong.fix) != f.fix.npos, f.fix);
        BOOST_TEST((f.level == level::ok || !f.fix.empty()), f.why);
    }
}

constexpr std::string_view client_line = "redis-cli -h 10.0.0.1 -p 6379 ";

}  // namespace

BOOST_AUTO_TEST_CASE(diagnose_of_three_healthy_nodes_finds_only_ok)
{
    auto const all = diagnose(healthy_set(), usual());

    for (auto const& f : all)
        BOOST_TEST((f.level == level::ok && f.fix.empty() && !f.why.empty()), f.what << ": " << f.why);
    BOOST_TEST((worst(all) == level::ok));
    BOOST_TEST(all.size() > 40u);
}

BOOST_AUTO_TEST_CASE(worst_of_findings_decides_the_exit_status)
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

BOOST_AUTO_TEST_CASE(reachable_of_an_unreachable_server_is_its_only_finding)
{
    auto nodes = healthy_set();
    nodes.front() = {.name = nodes.front().name, .place = nodes.front().place, .hello = silence("Connection refused")};
    auto all = diagnose(nodes, usual());
    std::erase_if(all, [&](auto const& f) { return f.node != nodes.front().name; });

    BOOST_TEST_REQUIRE(all.size() == 1u);
    BOOST_TEST(all.front().what == "reachable");
    BOOST_TEST((all.front().level == level::critical));
    BOOST_TEST(all.front().fix == "systemctl restart redis-server  # on 10.0.0.1");
    BOOST_TEST((found(nodes, "votes").front().level == level::warning));
    BOOST_TEST((found(nodes, "same-server").front().level == level::unknown));
}

BOOST_AUTO_TEST_CASE(reachable_line_to_run_depends_on_the_cause_and_the_port)
{
    auto nodes = healthy_set();
    auto const fix_for = [&](std::string const& why) {
        nodes.front().hello = silence(why);
        return found(nodes, "reachable").front().fix;
    };
    BOOST_TEST(fix_for("Connect timeout")
               == "systemctl restart redis-server  # on 10.0.0.1, if no firewall drops the packets");
    BOOST_TEST(fix_for("Host not found (authoritative)").find("-u redis://app@HOST:6379 ") != std::string::npos);
    BOOST_TEST(fix_for("Host not found (authoritative)").ends_with("# HOST: the right name, as 10.0.0.1 is unknown"));
    nodes.front().place.port = "7000";
    BOOST_TEST(fix_for("Connection refused")
               == "systemctl list-units --all '*redis*' '*valkey*'  # on 10.0.0.1: start the server of port 7000");
    BOOST_TEST(fix_for("Connect timeout")
               == "ss -ltnp 'sport = :7000'  # on 10.0.0.1: restart this server, if no firewall drops the packets");
}

BOOST_AUTO_TEST_CASE(login_refused_by_the_server_is_critical_with_a_line_to_run)
{
    auto const login = [](std::string_view why, std::string_view fix, std::string answer) {
        must_find({"login", level::critical, why, fix, refuses(&node_facts::hello, answer)});
    };
    login("WRONGPASS", "--password-file", "WRONGPASS invalid username-password pair");
    login("NOPERM", "ACL SETUSER app +hello", "NOPERM this user has no permissions to run the 'hello' command");
    login("NOPERM", "ACL SETUSER app +select", "NOPERM User app has no permissions to run the 'select' command");
    login("DB index", "CONFIG GET databases", "ERR DB index is out of range");
    login("max number", "CONFIG SET maxclients $((n * 2))", "ERR max number of clients reached");
    login("DENIED", "| redis-cli -p 6379 -x CONFIG SET requirepass  # on 10.0.0.1;",
          "DENIED Redis is running in protected mode");
}

BOOST_AUTO_TEST_CASE(certificate_level_depends_on_its_dates_and_trust)
{
    using enum level;
    auto const shown = [](auto begins, auto ends, std::string complaint = {}) {
        return [=](node_facts& f, demands&) {
            f.certificate = server_certificate{.begins = today + begins, .ends = today + ends, .complaint = complaint};
        };
    };
    using std::chrono::days;
    must_find({"certificate", ok, "ends in 90 days, on 2026-08-30", "", shown(-days(1), days(90))});
    must_find({"certificate", warning, "ends in 29 days", "tls-cert-file", shown(-days(1), days(29))});
    must_find({"certificate", critical, "ends in 6 days", "tls-cert-file", shown(-days(1), days(6))});
    must_find({"certificate", critical, "has ended on 2026-05-31", "tls-cert-file",
               shown(-days(9), -days(1), "certificate has expired")});
    must_find({"certificate", critical, "begins on 2026-06-02", "tls-cert-file",
               shown(days(1), days(90), "certificate is not yet valid")});
    must_find({"certificate", critical, "not trusted", "--ca-file",
               shown(-days(1), days(90), "unable to get local issuer certificate")});
    must_find({"certificate", unknown, "could not be read", "openssl s_client -connect 10.0.0.1:6379",
               [](auto& f, auto&) { f.certificate = server_certificate{.unread = "Connection refused"}; }});
}

BOOST_AUTO_TEST_CASE(round_trip_is_compared_with_node_timeout_and_ttl)
{
    using enum level;
    must_find({"round-trip", ok, "p50 0.3 ms, p99 0.3 ms of 50", "", no_change});
    must_find({"round-trip", warning, "some votes come after node_timeout (50 ms)",
               "redlock -u redis://app@10.0.0.1:6379 -u redis://app@10.0.0.2:6379 -u redis://app@10.0.0.3:6379"
               " --prefix jobs: --node-timeout 280ms doctor",
               [](auto& f, auto&) { f.round_trips.back() = 70ms; }});
    must_find({"round-trip", critical, "most votes", "--node-timeout 240ms doctor",
               [](auto& f, auto&) { f.round_trips.assign(50, 60ms); }});
    must_find({"round-trip", warning, "a tenth of the ttl (200 ms)", "--ttl 600ms", [](auto& f, auto& d) {
                   f.round_trips.assign(50, 30ms);
                   d.ttl = 200ms;
               }});
    must_find({"round-trip", unknown, "stopped answering", "--latency", [](auto& f, auto&) { f.round_trips.clear(); }});
}

BOOST_AUTO_TEST_CASE(clock_level_depends_on_its_rate_and_offset)
{
    using enum level;
    auto const shifted = [](std::chrono::microseconds first, std::chrono::microseconds last, auto error) {
        return [=](node_facts& f, demands&) {
            f.first_time->theirs += first;
            f.last_time->theirs += last;
            f.last_time->error = error;
        };
    };
    must_find({"clock", critical, "gains 2.00 % within 1.0 s, more than drift_factor (1 %): two may hold a lock",
               "set-ntp true  # on 10.0.0.1", shifted(0s, 20ms, 100us)});
    must_find({"clock", warning, "loses 2.00 %", "set-ntp", shifted(0s, -20ms, 100us)});
    must_find({"clock", ok, "runs as fast: +5000 ppm, give or take 200", "", shifted(0s, 5ms, 100us)});
    must_find({"clock", unknown, "answers are too slow", "--watch", shifted(0s, 20ms, 15ms)});
    must_find({"clock", warning, "90 s ahead of ours", "set-ntp", shifted(90s, 90s, 100us)});
    must_find({"clock", warning, "90 s behind ours", "set-ntp", shifted(-90s, -90s, 100us)});
    must_find({"clock", unknown, "not read twice", "--watch", [](auto& f, auto&) { f.last_time.reset(); }});
}

BOOST_AUTO_TEST_CASE(role_replicas_and_sentinel_report_servers_other_than_a_lone_primary)
{
    using enum level;
    auto const is_replica = sets(&node_facts::hello, "role", "replica");
    auto const of = [&](std::string host, std::string port) {
        return both(is_replica, both(info("master_host", host), info("master_port", port)));
    };
    auto const watched_by = [](std::string count) {
        return answers(&node_facts::sentinels, words({"__sentinel__:hello", count}));
    };
    must_find({"role", critical, "a replica of 10.0.0.9:6380",
               "redlock -u redis://app@10.0.0.9:6380 -u redis://app@10.0.0.2:6379 -u redis://app@10.0.0.3:6379"
               " --prefix jobs: doctor",
               of("10.0.0.9", "6380")});
    must_find({"role", critical, "a replica of 10.0.0.2:6379",
               "redlock -u redis://app@10.0.0.2:6379 -u redis://app@10.0.0.3:6379 --prefix jobs: doctor",
               of("10.0.0.2", "6379")});
    must_find({"role", critical, "a replica", "INFO replication", both(is_replica, refuses(&node_facts::info))});
    must_find({"role", critical, "member of a cluster", "redlock -u redis-cluster://app@10.0.0.1:6379 -u ",
               sets(&node_facts::hello, "mode", "cluster")});
    must_find({"role", critical, "a Sentinel", "redis-sentinel://10.0.0.1:6379/NAME",
               sets(&node_facts::hello, "mode", "sentinel")});
    must_find({"replicas", warning, "a replica is attached", "INFO replication", info("connected_slaves", "1")});
    must_find({"replicas", warning, "2 replicas are attached", "", info("connected_slaves", "2")});
    must_find({"sentinel", warning, "a Sentinel watches it", "SUBSCRIBE __sentinel__:hello", watched_by("1")});
    must_find({"sentinel", critical, "3 Sentinels watch it", "SUBSCRIBE __sentinel__:hello",
               both(watched_by("3"), info("connected_slaves", "1"))});
}

BOOST_AUTO_TEST_CASE(version_level_depends_on_the_release_and_on_fencing)
{
    using enum level;
    auto const is = [](std::string version) { return info("redis_version", version); };
    must_find({"version", ok, "Redis 7.4.1 is supported until 2026-11-30", "", is("7.4.1")});
    must_find({"version", ok, "Redis 8.2.3 is supported; no end of life is announced", "", is("8.2.3")});
    must_find({"version", ok, "Redis 8.10.0 is supported; no end of life is announced", "", is("8.10.0")});
    must_find({"version", unknown, "Redis 7.9.0 is no release that this version of redlock knows", "INFO server",
               is("7.9.0")});
    must_find({"version", critical, "Redis 5.0.7 is too old", "apt-cache policy redis-server", is("5.0.7")});
    must_find({"version", critical, "fencing needs 6.2", "apt-cache policy redis-server",
               both(is("6.0.16"), [](auto&, auto& d) { d.used.fencing = true; })});
    must_find({"version", ok, "Valkey 8.1.3 is supported until 2028-03-31", "", info("valkey_version", "8.1.3")});
    must_find({"version", ok, "Valkey 9.1.3 is supported until 2029-05-19", "", info("valkey_version", "9.1.3")});
    BOOST_TEST(!life_of("redis", "8.1").is_known);  // a release of Valkey
    BOOST_TEST(!life_of("redis", "7.9").is_newer);
}

BOOST_AUTO_TEST_CASE(version_after_end_of_life_is_a_remark_and_with_strict_a_warning)
{
    auto nodes = healthy_set();
    set(nodes.front().info, "redis_version", "7.0.15");
    auto d = usual();

    auto const usually = found(nodes, "version", d).front();
    d.strict = true;
    auto const strictly = found(nodes, "version", d).front();

    BOOST_TEST((usually.level == level::ok && usually.is_remark && usually.fix.empty()));
    BOOST_TEST(usually.why
               == "Redis 7.0.15 reached its end of life on 2024-07-29; a distribution may still correct it");
    BOOST_TEST((strictly.level == level::warning && !strictly.is_remark));
    BOOST_TEST(strictly.fix.starts_with("apt-cache policy redis-server  # on 10.0.0.1; "), strictly.fix);
}

BOOST_AUTO_TEST_CASE(version_newer_than_all_known_releases_is_a_remark_even_if_strict)
{
    auto nodes = healthy_set();
    set(nodes.front().info, "redis_version", "99.1.0");
    auto d = usual();
    d.strict = true;

    auto const f = found(nodes, "version", d).front();

    BOOST_TEST((f.level == level::ok && f.is_remark && f.fix.empty()));
    BOOST_TEST(f.why == "Redis 99.1.0 is newer than this version of redlock knows");
}

BOOST_AUTO_TEST_CASE(clients_and_timeout_levels_depend_on_the_limits_of_the_server)
{
    using enum level;
    auto const used = [](std::string count) { return info("connected_clients", count); };
    must_find({"clients", ok, "80 of 100", "", used("80")});
    must_find({"clients", warning, "81 of 100", "CONFIG SET maxclients 200", used("81")});
    must_find({"clients", critical, "96 of 100", "CONFIG SET maxclients 200", used("96")});
    must_find(
        {"clients", warning, "2 were refused since its start", "CONFIG RESETSTAT", info("rejected_connections", "2")});
    must_find({"clients", unknown, "not known", "CONFIG GET maxclients",
               both(info("maxclients", ""), refuses(&node_facts::settings, "ERR unknown command 'CONFIG'"))});
    must_find({"timeout", warning, "idle for 2 s", "CONFIG SET timeout 0", setting("timeout", "2")});
    must_find({"timeout", ok, "idle for 300 s", "", setting("timeout", "300")});
    must_find({"timeout", unknown, "does not contain timeout", client_line,
               answers(&node_facts::settings, words({"appendfsync", "always"}))});
}

BOOST_AUTO_TEST_CASE(slow_log_reports_slow_commands_of_the_last_hour)
{
    using enum level;
    auto const entry = [](std::string when, std::string took, std::string command) {
        return list({text("7"), text(when), text(took), words({command, "secret"}), text("127.0.0.1:1"), text("")});
    };
    auto const logged = [](std::vector<reply> entries) { return answers(&node_facts::slow_log, list(entries)); };
    must_find({"slow-log", ok, "no command", "",
               logged({entry("1000000", "50000", "KEYS"), entry("900000", "900000", "KEYS")})});
    must_find({"slow-log", warning,
               "2 commands within the last hour have taken longer than node_timeout (50 ms), during which nobody "
               "votes; the slowest, KEYS, 80 ms",
               "SLOWLOG GET",
               logged({entry("1000000", "60000", "SORT"), entry("999000", "80000", "KEYS"),
                       entry("900000", "900000", "SAVE")})});
    must_find({"slow-log", unknown, "its slow log does not record all", "slowlog-log-slower-than 10000",
               setting("slowlog-log-slower-than", "60000")});
    must_find({"slow-log", unknown, "its slow log does not record all", "slowlog-log-slower-than 5000",
               both(setting("slowlog-log-slower-than", "-1"), [](auto&, auto& d) { d.node_timeout = 5ms; })});
    must_find({"slow-log", unknown, "not known what its slow log records", "CONFIG GET slowlog-log-slower-than",
               refuses(&node_facts::settings, "ERR unknown command 'CONFIG'")});
}

BOOST_AUTO_TEST_CASE(eviction_level_depends_on_the_policy_and_the_used_memory)
{
    using enum level;
    auto const memory = [](std::string policy, std::string limit, std::string used, std::string evicted = "0") {
        return both(both(info("maxmemory_policy", policy), info("maxmemory", limit)),
                    both(info("used_memory", used), info("evicted_keys", evicted)));
    };
    must_find({"eviction", critical, "allkeys-lru and maxmemory 1.0 MiB", "CONFIG SET maxmemory-policy noeviction",
               memory("allkeys-lru", "1048576", "9")});
    must_find({"eviction", ok, "no maxmemory", "", memory("volatile-ttl", "0", "9")});
    must_find({"eviction", warning, "evicted 7 keys", "CONFIG RESETSTAT", memory("noeviction", "1048576", "9", "7")});
    must_find(
        {"eviction", warning, "grants no locks", "CONFIG SET maxmemory 2000", memory("noeviction", "1000", "901")});
    must_find({"eviction", ok, "noeviction", "", memory("noeviction", "1000", "900")});
    must_find({"eviction", unknown, "does not contain maxmemory_policy", "INFO", info("maxmemory_policy", "")});
}

BOOST_AUTO_TEST_CASE(durability_level_depends_on_the_settings_and_the_state_of_the_log)
{
    using enum level;
    must_find({"durability", ok, "votes at once", "", no_change});
    must_find({"durability", warning, "does not vote for 60 s (max_ttl)", "CONFIG SET appendonly yes",
               info("aof_enabled", "0")});
    must_find({"durability", critical, "last write", "df -h", info("aof_last_write_status", "err")});
    must_find({"durability", warning, "appendfsync is everysec", "CONFIG SET appendfsync always",
               setting("appendfsync", "everysec")});
    must_find({"durability", warning, "no-appendfsync-on-rewrite is yes", "no-appendfsync-on-rewrite no",
               setting("no-appendfsync-on-rewrite", "yes")});
    must_find({"durability", warning, "being rewritten", "INFO persistence", info("aof_rewrite_in_progress", "1")});
    must_find({"durability", warning, "being rewritten", "INFO persistence", info("aof_rewrite_scheduled", "1")});
    must_find({"durability", unknown, "CONFIG GET is refused", "ACL SETUSER app '+config|get'",
               refuses(&node_facts::settings)});
}

BOOST_AUTO_TEST_CASE(server_place_client_names_address_files_and_password)
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
               == "redis-sentinel://app@a:26379,b:26379/stock?db=2&sentinel_password=PASSWORD");
    BOOST_TEST(without_password("rediss-sentinel://:x@a/stock?sentinel_tls=off&sentinel_user=u&map=h:1=p:2,i:3=[::1]:4")
               == "rediss-sentinel://a:26379/stock?sentinel_user=u&sentinel_tls=off&map=h:1=p:2,i:3=[::1]:4");
    BOOST_TEST(without_password("redis-cluster://:x@a:7000") == "redis-cluster://a:7000");
    BOOST_TEST(without_password("postgresql://app:x@a/db") == "URL");
}

BOOST_AUTO_TEST_CASE(keys_without_expiry_or_of_another_type_are_warnings)
{
    using enum level;
    must_find({"keys", ok, "7 keys looked at, 5 with the prefix lock:", "", [](auto& f, auto&) {
                   f.keys.looked_at = 7;
                   f.keys.found = 5;
               }});
    must_find({"keys", warning, "1 key without an expiry, which nobody releases: lock:a b",
               "-n 3 PEXPIRE 'lock:a b' 60000  # if its holder has ended; unused for 60 s", [](auto& f, auto&) {
                   f.place.database = 3;
                   f.keys.endless.add({.name = "lock:a b", .type = "string", .idle = 60s});
               }});
    must_find({"keys", warning, "lock:x (list)", "RENAMENX lock:x no-lock:x  # if no program uses it any more",
               [](auto& f, auto&) { f.keys.foreign.add({.name = "lock:x", .type = "list", .idle = 60s}); }});
    must_find({"keys", warning, "lock:\\x1bit's\\x0a",
               R"(printf '%s\n' '"PEXPIRE" "lock:\x1bit\x27s\x0a" "60000"' | redis-cli)",
               [](auto& f, auto&) { f.keys.endless.add({.name = "lock:\x1bit's\n", .type = "string", .idle = 60s}); }});
    for (auto const why : {"9 keys of another type", "lock:4 (list) and 4 more"})
        must_find({"keys", warning, why, "", [](auto& f, auto&) {
                       for (int i = 0; i < 9; ++i)
                           f.keys.foreign.add({.name = fmt::format("lock:{}", i), .type = "list"});
                   }});
    must_find({"keys", ok, "others are there (--keys)", "", [](auto& f, auto&) { f.keys.is_all = false; }});
    must_find({"keys", unknown, "SCAN is refused", "ACL SETUSER app +scan", [](auto& f, auto&) {
                   f.keys.refusal = error("NOPERM no");
                   f.keys.refused = "scan";
               }});
}

// A key that was used lately, or has an expiry, may be a lock that somebody holds.
BOOST_AUTO_TEST_CASE(keys_that_may_be_held_get_a_line_that_only_asks)
{
    using enum level;
    for (auto const idle : {std::optional<std::chrono::seconds>(), std::optional(59s)}) {
        must_find({"keys", warning, "without an expiry", "OBJECT IDLETIME lock:x  # the seconds since it was used",
                   [&](auto& f, auto&) { f.keys.endless.add({.name = "lock:x", .type = "string", .idle = idle}); }});
        must_find({"keys", warning, "lock:x (list)", "OBJECT IDLETIME lock:x  # the seconds since it was used",
                   [&](auto& f, auto&) { f.keys.foreign.add({.name = "lock:x", .type = "list", .idle = idle}); }});
    }
    must_find({"keys", warning, "lock:x (hash, for 28 s)",
               "PTTL lock:x  # another kind of client holds it for 28 s: stop that client first", [](auto& f, auto&) {
                   f.keys.foreign.add({.name = "lock:x", .type = "hash", .left = 28s, .idle = 100s});
               }});
}

BOOST_AUTO_TEST_CASE(counters_above_half_of_maxmemory_are_a_warning)
{
    using enum level;
    auto const counted = [](std::size_t count) {
        return [=](node_facts& f, demands&) {
            f.keys.counters = count;
            f.keys.measured = 10;
            f.keys.measured_bytes = 1024;
        };
    };
    must_find({"counters", ok, "no fencing counters", "", counted(0)});
    must_find({"counters", ok, "1000 counters of fencing, one for each resource and for ever, take about 100 KiB", "",
               counted(1000)});
    must_find({"counters", warning, "more than half of maxmemory", "CONFIG SET maxmemory",
               both(counted(1000), info("maxmemory", "204799"))});
    must_find({"counters", unknown, "MEMORY USAGE is refused", "+memory|usage",
               both(counted(1), [](auto& f, auto&) { f.keys.unmeasured = error("NOPERM no"); })});
}

BOOST_AUTO_TEST_CASE(permissions_report_refused_commands_and_failed_steps)
{
    using enum level;
    must_find({"permissions", ok,
               "a lock was acquired, extended, waited for, released (not tried: --fencing, --waiting, --shared, "
               "--sets)",
               "", no_change});
    must_find({"permissions", critical, "may not run pexpire, without which nothing is extended",
               "ACL SETUSER app +pexpire", [](auto& f, auto&) {
                   f.trials.emplace_back("pexpire",
                                         error("NOPERM this user has no permissions to run the 'pexpire' command"));
                   f.probe = {.done = {"acquired"},
                              .failed_at = "extended",
                              .error = errc::permission_denied,
                              .message = "refused"};
               }});
    must_find({"permissions", warning, "may not run config|get", "ACL SETUSER app '+config|get'",
               [](auto& f, auto&) { f.trials.emplace_back("config|get", error("NOPERM no")); }});
    must_find({"permissions", critical, "may not use keys that begin with my lock:", "ACL SETUSER app '~my lock:*'",
               [](auto& f, auto& d) {
                   d.prefix = "my lock:";
                   f.trials.front().second = error("NOPERM No permissions to access a key");
               }});
    must_find(
        {"permissions", critical, "a lock was acquired, but it could not be extended: ran out", "", [](auto& f, auto&) {
             f.probe = {.done = {"acquired"}, .failed_at = "extended", .error = errc::lost, .message = "ran out"};
             f.place.user = "app";
         }});
    must_find({"permissions", unknown, "another client holds the lock", "doctor --probe =doctor-2", [](auto& f, auto&) {
                   f.probe = {
                       .failed_at = "acquired", .error = errc::contended, .message = "contended", .is_taken = true};
               }});
}

BOOST_AUTO_TEST_CASE(diagnose_of_a_missing_answer_finds_unknown_with_a_line_to_run)
{
    using enum level;
    for (auto const what : {"replicas", "version", "clients", "eviction", "durability"}) {
        must_find({what, unknown, "INFO is refused: NOPERM no", "ACL SETUSER app +info", refuses(&node_facts::info)});
        must_find({what, unknown, "INFO is not answered", "redis-cli -h 10.0.0.1 -p 6379 INFO",
                   answers(&node_facts::info, silence())});
    }
    must_find({"clock", unknown, "TIME is refused", "+time", refuses(&node_facts::time)});
    must_find({"timeout", unknown, "CONFIG GET is refused: ERR unknown command", "doctor --skip timeout",
               refuses(&node_facts::settings, "ERR unknown command 'CONFIG'")});
    must_find({"sentinel", unknown, "PUBSUB NUMSUB is refused", "+pubsub|numsub", refuses(&node_facts::sentinels)});
    must_find({"slow-log", unknown, "SLOWLOG GET is refused", "+slowlog|get", refuses(&node_facts::slow_log)});
}

BOOST_AUTO_TEST_CASE(nodes_of_one_or_an_even_number_are_a_warning)
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

BOOST_AUTO_TEST_CASE(same_server_is_critical_and_same_host_is_a_warning)
{
    auto nodes = healthy_set();
    set(nodes[1].info, "run_id", nodes[0].info.field("run_id"));
    auto const same = found(nodes, "same-server");
    BOOST_TEST_REQUIRE(same.size() == 1u);
    BOOST_TEST((same.front().level == level::critical));
    BOOST_TEST(same.front().why.find("redis://10.0.0.1:6379 and redis://10.0.0.2:6379 are one server") == 0u);

    nodes = healthy_set();
    nodes[2].run_ids = {"one", "another"};
    auto const several = found(nodes, "same-server");
    BOOST_TEST_REQUIRE(several.size() == 1u);
    BOOST_TEST((several.front().level == level::critical));
    BOOST_TEST(several.front().why
               == "redis://10.0.0.3:6379 leads to 2 servers, so several clients would get one lock");

    nodes[2].addresses = {"fe80::1", nodes[0].addresses.front()};
    auto const together = found(nodes, "same-host");
    BOOST_TEST_REQUIRE(together.size() == 1u);
    BOOST_TEST((together.front().level == level::warning));
    BOOST_TEST(together.front().why.find("redis://10.0.0.1:6379 and redis://10.0.0.3:6379 are on one host (10.0.0.1)")
               == 0u);
}

BOOST_AUTO_TEST_CASE(same_settings_names_settings_that_differ_between_clients)
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
    BOOST_TEST((different[0].level == level::warning));
    BOOST_TEST((different[1].level == level::ok));  // they exclude each other all the same
    BOOST_TEST(different[0].why == "clients within the last hour had different settings: max_ttl was 60000 and 5000");
    BOOST_TEST(different[1].why == "clients within the last hour had different settings: fencing was true and false");

    for (auto& f : nodes)
        f.clients = text("5000 restart_guard=automatic\n7000 restart_guard=strict\n");
    BOOST_TEST((found(nodes, "same-settings").front().level == level::ok));  // strict is the default of the tool
    nodes[1].clients.text += "9000 restart_guard=off\n";
    BOOST_TEST((found(nodes, "same-settings").front().level == level::warning));

    for (auto& f : nodes)
        f.clients = error("NOPERM");
    BOOST_TEST((found(nodes, "same-settings").front().level == level::unknown));
}

BOOST_AUTO_TEST_CASE(same_database_names_databases_with_other_clients)
{
    auto nodes = healthy_set();
    BOOST_TEST((found(nodes, "same-database").front().level == level::ok));
    nodes[1].other_databases = {2, 5};
    auto const other = found(nodes, "same-database");
    BOOST_TEST_REQUIRE(other.size() == 1u);
    BOOST_TEST((other.front().level == level::warning));
    BOOST_TEST(other.front().why.find("in the database 2 and 5 of redis://10.0.0.2:6379") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(votes_without_a_majority_are_critical)
{
    auto nodes = healthy_set();
    auto const level_now = [&] { return found(nodes, "votes").front().level; };
    BOOST_TEST((level_now() == level::ok));
    nodes[0].probe = {.failed_at = "acquired", .error = errc::permission_denied};
    BOOST_TEST((level_now() == level::warning));
    BOOST_TEST(found(nodes, "votes").front().fix.find("0 more may fail") != std::string::npos);
    nodes[1].probe = nodes[0].probe;
    BOOST_TEST((level_now() == level::critical));
}

BOOST_AUTO_TEST_CASE(restart_guard_with_quarantined_nodes_names_the_time_to_wait)
{
    auto nodes = healthy_set();
    auto d = usual();
    auto const now = [&] { return found(nodes, "restart-guard", d).front(); };
    BOOST_TEST(now().why
               == "no node is in quarantine; 3 of 3 vote at once after a restart, the others after 60 s (max_ttl)");

    nodes[0].vote.quarantine = 39'500ms;
    nodes[0].vote.reason = redlock::quarantine_reason::restarted;
    BOOST_TEST((now().level == level::warning));
    BOOST_TEST(now().why.find("1 of 3 nodes do not vote yet: " + nodes[0].name + ": it has restarted") == 0u);
    nodes[1].vote.quarantine = 50s;
    BOOST_TEST((now().level == level::critical));
    BOOST_TEST(now().why.find("no lock for 40 s (--restart-guard strict)") != std::string::npos);
    BOOST_TEST(now().fix.find("sleep 40") == 0u);
    BOOST_TEST((found(nodes, "votes", d).front().level == level::critical));
    BOOST_TEST(now().why.find(nodes[1].name + ": it is new to this prefix") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(restart_guard_with_new_nodes_prints_the_line_that_founds_them)
{
    auto nodes = healthy_set();
    auto d = usual();
    for (auto& f : nodes) {
        f.vote.quarantine = 50s;
        f.vote.reason = redlock::quarantine_reason::fresh;
    }
    auto const now = found(nodes, "restart-guard", d).front();
    BOOST_TEST((now.level == level::critical));
    BOOST_TEST(now.why.find("3 of 3 nodes do not vote yet: it is new to this prefix") == 0u);
    BOOST_TEST(now.fix.find(" nodes init  # if all servers are newly installed") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(diagnose_of_another_store_reports_its_settings_as_unknown)
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

BOOST_AUTO_TEST_CASE(names_of_checks_are_unique_and_can_be_skipped)
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
