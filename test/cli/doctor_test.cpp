// redlock doctor on real servers. Most tests use servers with one defect.

#include "cli/doctor_report.hpp"
#include "fault/stepped_clock.hpp"
#include "support/certificates.hpp"
#include "support/real_servers.hpp"
#include "bed/plain_client.hpp"
#include "bed/postgres_server.hpp"
#include "bed/proxy.hpp"
#include "bed/sentinel_set.hpp"

#include <boost/test/unit_test.hpp>
#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>

using namespace redlock::test;
using redlock::testbed::plain_client;

BOOST_AUTO_TEST_SUITE(doctor)

namespace {

std::vector<std::string> const durable_log{"--appendonly", "yes", "--appendfsync", "always"};
// These checks depend on the machine that runs the tests.
std::string const of_this_machine = "same-host,round-trip,clock,slow-log";

struct one_server {
    local_server s;
};

template <std::size_t count>
struct some_servers {
    real_servers r{count};
};

std::string table_of(std::vector<std::string> urls, std::vector<std::string> options = {})
{
    std::vector<std::string> arguments{"doctor", "--skip", of_this_machine};
    for (auto const& url : urls)
        arguments.insert(arguments.end(), {"-u", url});
    arguments.insert(arguments.end(), options.begin(), options.end());
    return run_tool(arguments).out;
}

}  // namespace

BOOST_AUTO_TEST_CASE(doctor_of_three_durable_servers_of_any_release_is_ok)
{
    real_servers r(3, durable_log);

    auto const seen = run_doctor({r[0].url(), r[1].url(), r[2].url()},
                                 {"--fencing", "--waiting", "--shared", "--sets", "--skip", of_this_machine});

    BOOST_TEST(seen.status == 0, seen.out);
    BOOST_TEST(seen.summary().starts_with("OK: 3 nodes, "), seen.out);
    BOOST_TEST(
        seen.of("permissions").why
        == "a lock was acquired, extended, waited for, fenced, released, shared, acquired together with another lock");
    for (auto const& s : r.servers)
        BOOST_TEST(s->ask({"DBSIZE"}) == "2");  // every client leaves the server's record and the settings; no counter
}

BOOST_AUTO_TEST_CASE(doctor_of_new_durable_servers_reports_that_no_node_votes)
{
    real_servers r(3, durable_log);
    r.ask_all({"FLUSHALL"});  // they are not founded any more
    std::vector<std::string> const strict{"--restart-guard", "strict", "--skip", of_this_machine};
    std::vector<std::string> const urls{r[0].url(), r[1].url(), r[2].url()};

    auto const first = run_doctor(urls, strict);
    BOOST_TEST(first.of("restart-guard").level == "CRIT");
    auto const why = first.of("restart-guard").why;
    BOOST_TEST(why.starts_with("3 of 3 nodes do not vote yet: "
                               "it is new to this prefix, or has lost all its keys"),
               why);
    BOOST_TEST(first.of("votes").level == "CRIT");
    BOOST_TEST(first.of("votes").why == "0 of 3 nodes vote for a lock, and 2 are needed");
    BOOST_TEST(first.status == 2);

    auto const tool =
        run_tool({"-u", urls[0], "-u", urls[1], "-u", urls[2], "--restart-guard", "strict", "run", "-n", "k", "true"});
    BOOST_TEST(tool.status == 69, tool.err);
    must_say(tool, 69, "it is new to this prefix", "if all servers are newly installed: redlock nodes init");
    auto const second = run_doctor(urls, strict).of("restart-guard");
    BOOST_TEST(has(second.why, "it is new to this prefix"), second.why);
    BOOST_TEST(has(second.fix, " nodes init"), second.fix);
    BOOST_TEST(run_doctor(urls, {"--restart-guard", "off"}).of("votes").level == "OK");

    auto const init = run_tool({"-u", urls[0], "-u", urls[1], "-u", urls[2], "nodes", "init"});
    must_show(init, 0, "3 nodes are founded, and vote from now on, for the prefix lock:");
    BOOST_TEST(run_doctor(urls, strict).of("restart-guard").level == "OK");
}

BOOST_AUTO_TEST_CASE(doctor_of_a_user_without_info_prints_the_rule_that_is_missing)
{
    local_server const s;
    s.ask({"ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", "-@dangerous"});

    auto const seen = run_doctor({"redis://app:pw@127.0.0.1:" + std::to_string(s.port())});

    auto const all = seen.all_of("permissions");
    auto const about_info = std::ranges::find_if(all, [](auto const& f) { return has(f.why, "may not run info,"); });
    BOOST_TEST_REQUIRE((about_info != all.end()), seen.out);
    BOOST_TEST(about_info->level == "CRIT");
    BOOST_TEST(has(about_info->fix, "+info"), about_info->fix);
    BOOST_TEST(has(seen.of("votes").why, "+info"), seen.of("votes").why);
}

BOOST_AUTO_TEST_CASE(doctor_of_a_new_database_reports_that_it_does_not_vote)
{
    bool const is_known = count_of(run_tool({"version", "-v"}).out, "postgresql://") > 0;
    if (!is_known || redlock::testbed::postgres_programs().empty())
        return;
    redlock::testbed::postgres_server const s({"fsync=off"});
    auto const strict = run_doctor({s.url()}, {"--restart-guard", "strict"});
    strict.must_have({{"restart-guard", "CRIT"}, {"votes", "CRIT"}});
    BOOST_TEST(run_doctor({s.url()}).of("votes").level == "OK");
}

BOOST_FIXTURE_TEST_CASE(doctor_of_a_server_that_is_down_or_hangs_is_critical, some_servers<3>)
{
    BOOST_TEST(run_tool({"-u", r[0].url(), "-u", r[1].url(), "-u", r[2].url(), "nodes", "init"}).status == 0);
    r[0].kill();
    auto const down = run_doctor({r[0].url(), r[1].url(), r[2].url()});
    down.must_have({{"reachable", "CRIT", r[0].url()}, {"votes", "WARN"}});
    BOOST_TEST(down.status == 2);

    r[1].pause();
    auto const still = run_doctor({r[0].url(), r[1].url(), r[2].url()}, {"--connect-timeout", "200ms"});
    still.must_have({{"reachable", "CRIT", r[1].url()}, {"reachable", "OK", r[2].url()}, {"votes", "CRIT"}});
    r[1].resume();
}

BOOST_AUTO_TEST_CASE(doctor_with_a_wrong_password_never_shows_it)
{
    local_server guarded({"--requirepass", "correct-horse"});
    auto const port = std::to_string(guarded.port());

    auto const without = run_doctor({guarded.url()});
    BOOST_TEST(without.status == 2);
    BOOST_TEST(without.of("login").why.find("NOAUTH") != std::string::npos, without.of("login").why);

    auto const wrong = run_doctor({"redis://:battery-staple@127.0.0.1:" + port});
    BOOST_TEST(wrong.of("login").level == "CRIT");
    BOOST_TEST(wrong.of("login").why.find("WRONGPASS") != std::string::npos, wrong.of("login").why);
    BOOST_TEST((wrong.out + wrong.err).find("battery") == std::string::npos);

    auto const right = run_doctor({"redis://:correct-horse@127.0.0.1:" + port});
    right.must_have({{"login", "OK"}, {"permissions", "OK"}});
    BOOST_TEST((right.out + right.err).find("horse") == std::string::npos);
}

// A short password may be a part of any word in an answer.
BOOST_AUTO_TEST_CASE(doctor_with_a_short_password_reads_all_fields)
{
    local_server guarded({"--requirepass", "e", "--maxmemory", "100mb", "--maxmemory-policy", "allkeys-lru"});
    auto const seen = run_doctor({"redis://:e@127.0.0.1:" + std::to_string(guarded.port())});
    seen.must_have({{"eviction", "CRIT"}, {"role", "OK"}});
}

BOOST_AUTO_TEST_CASE(doctor_of_a_server_that_may_evict_prints_a_line_that_fixes_it)
{
    local_server evicting({"--maxmemory", "3mb", "--maxmemory-policy", "allkeys-random"});
    auto const seen = run_doctor({evicting.url()});
    BOOST_TEST(seen.of("eviction").level == "CRIT");
    BOOST_TEST(seen.of("permissions").level == "OK");  // eviction does not change the permissions
    BOOST_TEST(seen.of("votes").level == "CRIT");      // every client refuses a server that evicts

    for (int i = 0; evicting.ask({"INFO", "stats"}).find("evicted_keys:0\r") != std::string::npos; ++i)
        evicting.ask({"SET", "filler" + std::to_string(i), std::string(100'000, 'x')});
    run_line(seen.of("eviction").fix);
    auto const after = run_doctor({evicting.url()});
    BOOST_TEST(after.of("eviction").level == "WARN");
    BOOST_TEST(after.of("eviction").why.find("has evicted") != std::string::npos);

    evicting.ask({"FLUSHALL"});
    run_line(after.of("eviction").fix);
    BOOST_TEST(run_doctor({evicting.url()}).of("eviction").level == "OK");
}

BOOST_FIXTURE_TEST_CASE(doctor_of_a_replica_and_its_primary_reports_both, some_servers<2>)
{
    r[1].ask({"REPLICAOF", "127.0.0.1", std::to_string(r[0].port())});
    while (r[0].ask({"INFO", "replication"}).find("connected_slaves:1") == std::string::npos)
        std::this_thread::sleep_for(10ms);

    auto const seen = run_doctor({r[0].url(), r[1].url()});
    seen.must_have({{"role", "CRIT", r[1].url()},
                    {"permissions", "CRIT", r[1].url()},
                    {"role", "OK", r[0].url()},
                    {"replicas", "WARN", r[0].url()},
                    {"sentinel", "OK", r[0].url()}});
}

BOOST_AUTO_TEST_CASE(doctor_of_a_sentinel_and_its_server_reports_both)
{
    redlock::testbed::sentinel_set set;
    auto const seen = run_doctor({set.server(0).url(), set.sentinel(0).url()});
    BOOST_TEST(seen.of("sentinel", set.server(0).url()).level == "CRIT");
    BOOST_TEST(seen.of("role", set.sentinel(0).url()).why.find("this is a Sentinel") == 0u);

    // With the correct URL, the node is a Sentinel service and no longer a server.
    auto const named = run_doctor({set.url()}, {"--max-ttl", "5s"});
    named.must_have({{"reachable", "OK"}, {"settings", "UNKNOWN"}});
}

BOOST_AUTO_TEST_CASE(doctor_of_a_cluster_member_reports_its_role)
{
    local_server member({"--cluster-enabled", "yes"});
    BOOST_TEST(run_doctor({member.url()}).of("role").why.find("member of a cluster") != std::string::npos);
}

BOOST_FIXTURE_TEST_CASE(doctor_of_one_server_with_two_addresses_is_critical, one_server)
{
    auto const seen = run_doctor({s.url(), "redis://localhost:" + std::to_string(s.port())});
    seen.must_have({{"same-server", "CRIT"}, {"same-host", "WARN"}, {"nodes", "WARN"}});
}

BOOST_AUTO_TEST_CASE(doctor_of_a_log_that_is_not_durable_reports_the_reason)
{
    auto const level_with = [](std::vector<std::string> options) {
        local_server s(std::move(options));
        auto const f = run_doctor({s.url()}).of("durability");
        return f.level + ": " + f.why;
    };
    BOOST_TEST(level_with(durable_log).starts_with("OK: "));
    BOOST_TEST(level_with({}).starts_with("WARN: appendonly is no"));
    BOOST_TEST(level_with({"--appendonly", "yes"}).starts_with("WARN: appendfsync is everysec"));
    BOOST_TEST(level_with({"--appendonly", "yes", "--appendfsync", "always", "--no-appendfsync-on-rewrite", "yes"})
                   .starts_with("WARN: no-appendfsync-on-rewrite is yes"));
}

BOOST_FIXTURE_TEST_CASE(doctor_of_a_server_without_a_log_prints_a_line_that_enables_it, one_server)
{
    run_line(run_doctor({s.url()}).of("durability").fix);
    while (s.ask({"INFO", "persistence"}).find("aof_rewrite_in_progress:0") == std::string::npos)
        std::this_thread::sleep_for(10ms);
    BOOST_TEST(run_doctor({s.url()}).of("durability").level == "OK");
}

namespace {

// The doctor prints a line that changes a key only if nobody has used the key for max_ttl.
std::vector<std::string> const soon_left_behind{"--max-ttl", "2s", "--ttl", "1s"};

void wait_until_left_behind(local_server& s, std::string const& key)
{
    BOOST_TEST(comes_true([&] { return std::stol(s.ask({"OBJECT", "IDLETIME", key})) >= 2; }));
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(doctor_of_keys_without_expiry_or_of_another_type_names_them, one_server)
{
    s.ask({"SET", "other", "no end, and no lock"});
    s.ask({"SET", "lock:held", "somebody", "PX", "100000"});
    s.ask({"SET", "lock:for ever", "somebody"});
    s.ask({"RPUSH", "lock:list", "a"});
    s.ask({"ZADD", "lock:held:=fence:{lock:held}", "7", "token"});
    s.ask({"HSET", "lock:held:=wanted:{lock:held}", "us", "1"});
    s.ask({"PEXPIRE", "lock:held:=wanted:{lock:held}", "100000"});
    s.ask({"SET", "lock:held:=wanted:{lock:held}:us", "1", "PX", "100000"});  // us in line

    auto const seen = run_doctor({s.url()});
    auto const keys = seen.all_of("keys");
    BOOST_TEST_REQUIRE(keys.size() == 2u);
    BOOST_TEST(
        keys[0].why
        == "1 key without an expiry, which nobody releases: lock:for ever; 7 keys looked at, 6 with the prefix lock:");
    BOOST_TEST(keys[1].why.find("lock:list (list)") != std::string::npos);
    BOOST_TEST(seen.of("counters").why.find("1 counter of fencing") == 0u);

    for (auto const& k : keys)
        BOOST_TEST(has(k.fix, " OBJECT IDLETIME "), k.fix);
    wait_until_left_behind(s, "lock:list");
    for (auto const& k : run_doctor({s.url()}, soon_left_behind).all_of("keys"))
        run_line(k.fix);
    BOOST_TEST(run_doctor({s.url()}).of("keys").level == "OK");
    BOOST_TEST(s.ask({"LLEN", "no-lock:list"}) == "1");
}

BOOST_FIXTURE_TEST_CASE(doctor_of_keys_with_any_bytes_escapes_and_fixes_them, one_server)
{
    using namespace std::string_literals;
    auto const evil = "\x1b]0;x\x07'%s\\\n\xff\0\"$(false)"s;
    s.ask({"SET", "lock:" + evil, "somebody"});
    s.ask({"RPUSH", "lock:list" + evil, "a"});

    auto const table = run_tool({"-u", s.url(), "doctor", "--skip", "clock"});
    BOOST_TEST(std::ranges::none_of(table.out, [](unsigned char c) { return (c < ' ' && c != '\n') || c == 0xff; }),
               table.out);

    wait_until_left_behind(s, "lock:list" + evil);
    auto const seen = run_doctor({s.url()}, soon_left_behind);
    for (auto const& k : seen.all_of("keys"))
        run_line(k.fix);
    BOOST_TEST(run_doctor({s.url()}).of("keys").level == "OK");
    BOOST_TEST(s.ask({"LLEN", "no-lock:list" + evil}) == "1");
}

BOOST_AUTO_TEST_CASE(doctor_line_repeats_each_value_of_an_option)
{
    auto const seen = run_doctor({"redis://127.0.0.1:1"},
                                 {"--skip", "version", "--skip", "slow-log,timeout", "--ttl", "9s", "--ttl", "8s"});
    auto const line = seen.of("votes").fix;
    for (auto const* const part : {"--skip version", "--skip slow-log", "--skip timeout", "--skip clock", "--ttl 8s"})
        BOOST_TEST(has(line, part), line);
    BOOST_TEST(!has(line, "9s"), line);
}

BOOST_FIXTURE_TEST_CASE(doctor_keeps_locks_and_counters_of_other_clients, one_server)
{
    s.ask({"SET", "lock:jobs:trial", "somebody", "PX", "3600000"});
    s.ask({"ZADD", "lock:jobs:=fence:{lock:jobs}", "500", "token"});

    auto const seen = run_doctor({s.url()}, {"--probe", "jobs", "--fencing"});

    BOOST_TEST(seen.of("permissions").level == "OK", seen.of("permissions").why);
    BOOST_TEST(s.ask({"GET", "lock:jobs:trial"}) == "somebody");
    BOOST_TEST(s.ask({"EXISTS", "lock:jobs:=fence:{lock:jobs}"}) == "1", "a deleted counter would repeat tokens");

    s.ask({"FLUSHALL"});
    run_doctor({s.url()}, {"--probe", "=doctor of the night", "--fencing"});
    BOOST_TEST(s.ask({"KEYS", "*=fence*"}) == "");
}

BOOST_FIXTURE_TEST_CASE(doctor_with_keys_option_limits_the_number_of_keys, one_server)
{
    for (int thousand = 0; thousand < 5; ++thousand)
        s.ask({"EVAL", "for i = 1, 1000 do redis.call('SET', 'other' .. ARGV[1] * 1000 + i, '1') end", "0",
               std::to_string(thousand)});
    s.ask({"SET", "[lock]*:x", "somebody", "PX", "100000"});
    BOOST_TEST(
        run_doctor({s.url()}, {"--keys", "1000"}).of("keys").why.find("1000 keys looked at, others are there (--keys)")
        != std::string::npos);
    auto const all = run_doctor({s.url()}, {"--prefix", "[lock]*:"}).of("keys");  // the prefix is not a pattern
    // The previous call has left two keys.
    BOOST_TEST(all.why.find("5003 keys looked at, 1 with the prefix [lock]*:") != std::string::npos, all.why);
}

BOOST_AUTO_TEST_CASE(doctor_of_a_short_timeout_prints_a_line_that_fixes_it)
{
    local_server s({"--maxclients", "10", "--timeout", "2"});
    std::vector<std::unique_ptr<plain_client>> others;
    for (int i = 0; i < 6; ++i)
        others.push_back(std::make_unique<plain_client>(s.port()));
    auto const seen = run_doctor({s.url()});
    BOOST_TEST(seen.of("timeout").level == "WARN");
    BOOST_TEST(seen.of("clients").level != "UNKNOWN");
    run_line(seen.of("timeout").fix);
    others.clear();
    BOOST_TEST(run_doctor({s.url()}).of("timeout").level == "OK");
}

BOOST_AUTO_TEST_CASE(doctor_of_a_server_near_maxclients_warns)
{
    local_server s({"--maxclients", "20"});
    std::vector<std::unique_ptr<plain_client>> others;
    for (int i = 0; i < 16; ++i)
        others.push_back(std::make_unique<plain_client>(s.port()));
    auto const seen = run_doctor({s.url()});
    BOOST_TEST(seen.of("clients").level == "WARN", seen.of("clients").why);
    run_line(seen.of("clients").fix);
    BOOST_TEST(run_doctor({s.url()}).of("clients").level == "OK");
}

BOOST_FIXTURE_TEST_CASE(doctor_of_a_slow_command_names_it, one_server)
{
    s.ask({"EVAL",
           "local t = redis.call('TIME') repeat local n = redis.call('TIME') until (n[1] - t[1]) * 1000000 + n[2] - "
           "t[2] > 60000",
           "0"});
    auto const seen = run_doctor({s.url()}).of("slow-log");
    BOOST_TEST(seen.level == "WARN");
    BOOST_TEST(seen.why.find("the slowest, EVAL, ") != std::string::npos, seen.why);
}

BOOST_FIXTURE_TEST_CASE(doctor_of_answers_after_node_timeout_is_critical, one_server)
{
    redlock::testbed::proxy far({{.port = s.port(), .rtt = 30ms}});
    far.start();
    auto const seen = run_doctor({far.url(0)}, {"--node-timeout", "20ms"});
    seen.must_have({{"round-trip", "CRIT"}, {"permissions", "OK"}});
}

BOOST_AUTO_TEST_CASE(doctor_of_a_wrong_or_fast_clock_reports_the_difference)
{
    stepped_clock clock(REDLOCK_CLOCK_SHIM);
    redlock::testbed::local_server s({}, redlock::testbed::server_program(), clock.environment());
    clock.set(1h);
    auto const ahead = [&] { return run_doctor({s.url()}, {}, clocks::compared).of("clock"); };
    // On a busy machine, answers may take too long to compare the clocks. So try again until the check has a result.
    BOOST_TEST(comes_true([&] {
                   return ahead().why
                          == "its clock is 60 min ahead of ours: locks do not depend on that, but on a jump when it "
                             "is corrected";
               }),
               ahead().why);

    auto const begun = std::chrono::steady_clock::now();
    std::jthread const gains([&](std::stop_token done) {
        for (; !done.stop_requested(); std::this_thread::sleep_for(1ms))
            clock.set(std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now() - begun)
                      / 2);
    });
    BOOST_TEST(comes_true([&] {
                   auto const found = ahead();
                   return found.level == "CRIT" && found.why.starts_with("against ours its clock gains ")
                          && found.why.ends_with(": two may hold a lock");
               }),
               ahead().why);
}

BOOST_AUTO_TEST_CASE(doctor_of_a_bad_certificate_reports_the_reason)
{
    certificates c;
    c.sign_for("old", "20010101000000Z", "20020101000000Z");
    auto const in = [now = std::chrono::floor<std::chrono::seconds>(std::chrono::system_clock::now())](
                        std::chrono::hours h) { return fmt::format("{:%Y%m%d%H%M%S}Z", now + h); };
    c.sign_for("soon", in(-1h), in(36h));
    auto const look_at = [&](std::string const& identity, std::vector<std::string> more = {}) {
        tls_server s(c, identity);
        more.insert(more.end(), {"--connect-timeout", "5s"});
        return run_doctor({s.url()}, more);
    };
    std::vector<std::string> const trusted{"--ca-file", c.file("ca.pem")};

    auto const old = look_at("old", trusted);
    BOOST_TEST(old.of("reachable").level == "CRIT");
    BOOST_TEST(old.of("certificate").why == "its certificate has ended on 2002-01-01, so no client connects");

    auto const soon = look_at("soon", trusted);
    soon.must_have({{"reachable", "OK"}, {"certificate", "CRIT"}});
    BOOST_TEST(soon.of("certificate").why.find("ends in 1 day,") != std::string::npos, soon.of("certificate").why);

    // The server does not count the connection that reads its certificate as refused.
    BOOST_TEST(soon.of("clients").level == "OK", soon.of("clients").why);

    auto const unknown = look_at("server");
    BOOST_TEST(unknown.of("reachable").level == "CRIT");
    BOOST_TEST(unknown.of("certificate").why.find("not trusted") != std::string::npos, unknown.of("certificate").why);
}

BOOST_FIXTURE_TEST_CASE(doctor_without_permission_prints_the_line_that_grants_it, one_server)
{
    s.ask({"ACL", "SETUSER", "app", "reset", "on", ">pw", "~lock:*", "+@all", "-info", "-time", "-scan", "-slowlog",
           "-pubsub|numsub", "-config"});
    auto const as_app = "redis://app:pw@127.0.0.1:" + std::to_string(s.port());
    auto const seen = run_doctor({as_app}, {}, clocks::compared);
    for (auto const what : {"version", "eviction", "durability", "clients", "clock", "keys", "counters", "slow-log",
                            "sentinel", "timeout"})
        BOOST_TEST(seen.of(what).level == "UNKNOWN", what);
    for (auto const& f : seen.findings) {
        if (f.fix.find("ACL SETUSER app ") != std::string::npos)
            run_line("REDISCLI_AUTH=pw; " + f.fix);  // the user may change its own permissions
    }
    auto const then = run_doctor({as_app}, {}, clocks::compared);
    // On a busy machine, the clock check may be unknown.
    for (auto const& f : then.findings)
        BOOST_TEST((f.level != "UNKNOWN" || f.what == "clock"), f.what << ": " << f.why);
}

BOOST_FIXTURE_TEST_CASE(doctor_run_three_times_at_once_succeeds, one_server)
{
    auto const first = [&] { return start_tool({"-u", s.url(), "doctor", "-o", "json", "--skip", "clock"}); };
    std::vector<redlock::testbed::process> doctors;
    for (int i = 0; i < 3; ++i)
        doctors.push_back(first());
    for (auto& d : doctors) {
        auto const said = d.read();
        BOOST_TEST(said.find("waited for, released") != std::string::npos, said);
        d.wait();
    }
    BOOST_TEST(s.ask({"DBSIZE"}) == "2");  // every client leaves the server's record and the settings
}

BOOST_FIXTURE_TEST_CASE(doctor_prints_a_table_or_json_with_a_summary, one_server)
{
    auto const table = run_tool({"-u", s.url(), "doctor", "--skip", of_this_machine});
    BOOST_TEST(table.out.starts_with("LEVEL "), table.out);
    BOOST_TEST(has(table.out, "\nWARN: 1 node, "), table.out);
    BOOST_TEST(table.out.find(fmt::format("$ redis-cli -h 127.0.0.1 -p {} CONFIG SET appendfsync always", s.port()))
               != std::string::npos);
    BOOST_TEST(table.err.empty(), table.err);
    BOOST_TEST(!has(table.out, "\033"));
    BOOST_TEST(
        run_tool({"-u", s.url(), "doctor", "--color", "always", "--skip", "clock"}).out.find("\033[33mWARN\033[0m")
        != std::string::npos);

    auto const quiet = run_tool({"-u", s.url(), "-q", "doctor", "--skip", "clock"});
    BOOST_TEST(!has(quiet.out, "\nOK "), quiet.out);

    auto const json = run_tool({"-u", s.url(), "doctor", "-o", "json", "--skip", of_this_machine}).documents();
    BOOST_TEST_REQUIRE(json.size() == 1u);
    BOOST_TEST(json[0].at("schema").as_int64() == 1);
    BOOST_TEST(json[0].at("status").as_string() == "WARN");
    BOOST_TEST(json[0].at("counts").at("CRIT").as_int64() == 0);

    auto const lines = run_tool({"-u", s.url(), "doctor", "-o", "jsonl", "--skip", of_this_machine}).documents();
    BOOST_TEST(lines.size() == json[0].at("checks").as_array().size() + 1);
    for (auto const& line : lines)
        BOOST_TEST(line.at("schema").as_int64() == 1);
    BOOST_TEST(lines.back().contains("summary"));
}

BOOST_FIXTURE_TEST_CASE(doctor_table_has_findings_of_all_nodes_in_one_line, some_servers<3>)
{
    auto const urls = std::vector{r[0].url(), r[1].url(), r[2].url()};

    auto const of_all = table_of(urls);
    r[1].ask({"CONFIG", "SET", "appendonly", "yes"});
    auto const of_two = table_of(urls);

    BOOST_TEST(count_of(of_all, "appendonly is no") == 1u, of_all);
    BOOST_TEST(of_all.find("\nWARN   all   durability ") != of_all.npos, of_all);
    BOOST_TEST(count_of(of_all, "CONFIG SET appendonly yes") == 3u, of_all);
    BOOST_TEST(of_two.find(fmt::format("\nWARN   {}, {}  durability ", urls[0], urls[2])) != of_two.npos, of_two);
}

BOOST_FIXTURE_TEST_CASE(doctor_table_begins_with_the_worst_level_and_counts_ok_checks, some_servers<3>)
{
    r[2].kill();
    auto const urls = std::vector{r[0].url(), r[1].url(), r[2].url()};

    auto const table = table_of(urls);
    auto const all = table_of(urls, {"-v"});
    auto const quiet = table_of(urls, {"-q"});

    auto const critical = table.find("\nCRIT "), warning = table.find("\nWARN "), fine = table.find(" checks are fine");
    BOOST_TEST((critical < warning && warning < fine && fine != table.npos), table);
    BOOST_TEST(table.find("reachable   it answers") == table.npos, table);
    BOOST_TEST(count_of(all, "it answers") == 1u, all);
    BOOST_TEST(all.find("checks are fine") == all.npos, all);
    BOOST_TEST(quiet.find("checks are fine") == quiet.npos, quiet);
}

BOOST_FIXTURE_TEST_CASE(doctor_strict_warns_of_releases_after_their_end_of_life, one_server)
{
    auto const usually = run_doctor({s.url()}).of("version");
    auto const strictly = run_doctor({s.url()}, {"--strict"}).of("version");

    bool const has_ended = usually.why.find("reached its end of life") != usually.why.npos;
    BOOST_TEST(usually.level == "OK");
    BOOST_TEST(strictly.level == (has_ended ? "WARN" : "OK"));
}

BOOST_AUTO_TEST_CASE(doctor_skip_given_twice_leaves_out_both)
{
    auto const seen = run_doctor({"memory://a"}, {"--skip", "settings", "--skip", "nodes,votes"});

    for (auto const* const what : {"settings", "nodes", "votes", "clock"})
        BOOST_TEST(seen.all_of(what).empty(), what);
    BOOST_TEST(seen.status == 0, seen.out);
}

BOOST_FIXTURE_TEST_CASE(doctor_with_watch_repeats_the_checks_until_a_signal, one_server)
{
    auto watch = start_tool({"-u", s.url(), "doctor", "-o", "json", "--skip", of_this_machine, "--watch", "100ms"});
    BOOST_TEST(watch.read('\n').find("appendonly is no") != std::string::npos);
    s.ask({"CONFIG", "SET", "appendonly", "yes"});
    while (watch.read('\n').find("appendfsync is everysec") == std::string::npos) {
    }
    watch.signal(SIGTERM);
    BOOST_TEST(watch.wait().code() == 128 + SIGTERM);
}

BOOST_AUTO_TEST_CASE(doctor_of_another_store_reports_its_settings_as_unknown)
{
    auto const seen = run_doctor({"memory://a", "memory://b", "memory://c"}, {"--skip", "settings"});
    BOOST_TEST(seen.status == 0, seen.out);
    BOOST_TEST(run_doctor({"memory://a"}).of("settings").level == "UNKNOWN");
}

BOOST_AUTO_TEST_CASE(doctor_with_wrong_usage_ends_with_64_or_78)
{
    BOOST_TEST(run_tool({"doctor"}).status == 78);
    BOOST_TEST(run_tool({"-u", "redis://a:b:c", "doctor"}).status == 78);
    auto const skip = run_tool({"-u", "memory://a", "doctor", "--skip", "durabilty"});
    must_say(skip, 64, "durability");
}

BOOST_AUTO_TEST_SUITE_END()
