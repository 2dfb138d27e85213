// The commands that `redlock doctor` prints: a shell runs them as they stand, on real servers.

#include "tools/redlock/doctor/checks.hpp"
#include "cli/doctor_report.hpp"
#include "support/certificates.hpp"
#include "bed/plain_client.hpp"
#include "bed/proxy.hpp"
#include "bed/sentinel_set.hpp"

#include <boost/test/unit_test.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

using namespace redlock::test;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(doctor_lines)

namespace {

// A printed line must never contain a password of the call.
std::string const password = "correct-horse", password_of_app = "battery-staple";

/// The shell of an operator, with its own folder. It finds the tool in $PATH.
class shell {
public:
    /// @param environment  "NAME=value"
    explicit shell(std::vector<std::string> environment = {}) : environment_(std::move(environment)) {}

    redlock::testbed::process start(std::string const& line) const
    {
        auto const tools = std::filesystem::path(REDLOCK_TOOL).parent_path().string();
        std::vector<std::string> words{"/usr/bin/env",
                                       "-u",
                                       "REDISCLI_AUTH",
                                       "REDLOCK_URLS=",
                                       "REDLOCK_CONFIG=",
                                       "REDLOCK_PREFIX=",
                                       "REDLOCK_RESTART_GUARD=automatic",
                                       "REDLOCK_OUTPUT=jsonl",
                                       "PATH=" + tools + ":" + std::getenv("PATH")};
        words.insert(words.end(), environment_.begin(), environment_.end());
        words.insert(words.end(), {"/bin/sh", "-c", "cd \"$0\" && exec /bin/sh -c \"$1\" </dev/null >out 2>err",
                                   folder_.path, line});
        return redlock::testbed::process(std::move(words));
    }

    tool_run run(std::string const& line) const
    {
        auto p = start(line);
        auto const end = p.wait();
        return {end.code(), text_of(file("out")), text_of(file("err"))};
    }

    std::string file(std::string const& name) const { return folder_.path + "/" + name; }

    /// Writes a file in the folder.
    void write(std::string const& name, std::string const& text) const { std::ofstream(file(name)) << text << '\n'; }

private:
    redlock::testbed::temporary_folder folder_;
    std::vector<std::string> environment_;
};

struct with_shell {
    shell const sh;
};

// Whether the output has an error of the server. redis-cli ends with status 0 in spite of such an error.
bool is_refused_in(tool_run const& r)
{
    auto const said = r.out + r.err;
    return std::ranges::any_of(std::array{"NOAUTH", "WRONGPASS", "NOPERM", "ERR", "AUTH failed"},
                               [&](auto const* word) { return said.find(word) != said.npos; });
}

void check_lines(doctor_report const& r)
{
    for (auto const& f : r.findings) {
        BOOST_TEST(f.fix.find("REPLICAOF NO ONE") == std::string::npos, f.fix);
        for (auto const& secret : {password, password_of_app})
            BOOST_TEST(f.fix.find(secret) == std::string::npos, f.fix);
    }
}

/// @param call  "redlock -u redis://10.0.0.1 doctor"
doctor_report look_by(shell const& sh, std::string const& call)
{
    auto const r = report_of(sh.run(call + " --skip clock"));
    check_lines(r);
    return r;
}

bool is_well(doctor_report const& r, std::string const& what)
{
    return std::ranges::all_of(r.all_of(what), [](auto const& f) { return f.level == "OK"; });
}

// The line of the first finding that is not OK.
std::string line_of(doctor_report const& r, std::string const& what)
{
    for (auto const& f : r.all_of(what)) {
        if (f.level != "OK")
            return f.fix;
    }
    BOOST_TEST_REQUIRE(false, what << " is OK in: " << r.out << r.err);
    return {};
}

/// Tests that each check has a finding, and that the check is OK after its line was run.
void must_mend(shell const& sh, std::string const& call, std::vector<std::string> const& checks)
{
    auto const before = look_by(sh, call);
    for (auto const& what : checks) {
        auto const line = line_of(before, what);
        auto const ran = sh.run(line);
        BOOST_TEST(ran.status == 0, line << ": " << ran.out << ran.err);
        BOOST_TEST(!is_refused_in(ran), line << ": " << ran.out << ran.err);
        doctor_report after;
        bool const is_mended = comes_true([&] {
            after = look_by(sh, call);
            return is_well(after, what);
        });
        BOOST_TEST(is_mended, line << ": " << after.out);
    }
}

/// Tests that the line is another call of the doctor, and that the check is OK in that call.
void must_call(shell const& sh, doctor_report const& before, std::string const& what)
{
    auto const line = line_of(before, what);
    auto const after = report_of(sh.run(line));
    check_lines(after);
    BOOST_TEST(!after.findings.empty(), line << ": " << after.err);
    BOOST_TEST(is_well(after, what), line << ": " << after.out);
}

// All cases share the certificates, because it takes a while to make them.
certificates& our_certificates()
{
    static certificates ours;
    return ours;
}

std::vector<std::string> with_defects(std::vector<std::string> options = {})
{
    options.insert(options.end(), {"--maxmemory", "64mb", "--maxmemory-policy", "allkeys-lru", "--timeout", "2"});
    return options;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(doctor_line_reads_the_password_file_of_the_call, with_shell)
{
    local_server s(with_defects({"--requirepass", password, "--slowlog-log-slower-than", "-1"}));
    sh.write("our password", password);

    must_mend(sh, fmt::format("redlock -u {} --password-file 'our password' doctor", s.url()),
              {"eviction", "timeout", "slow-log", "durability"});
}

BOOST_AUTO_TEST_CASE(doctor_line_without_a_password_file_reads_rediscli_auth)
{
    local_server s(with_defects({"--requirepass", password, "--maxclients", "5"}));
    redlock::testbed::plain_client admin(s.port());
    admin.ask({"AUTH", password});
    auto const call = fmt::format("redlock -u redis://:{}@127.0.0.1:{} doctor", password, s.port());

    auto const refused = shell().run(line_of(look_by(shell(), call), "timeout"));
    BOOST_TEST(refused.status != 0);
    BOOST_TEST(has(refused.err, "REDISCLI_AUTH: set it to the password"), refused.err);
    BOOST_TEST(!is_refused_in(refused));

    must_mend(shell({"REDISCLI_AUTH=" + password}), call, {"timeout", "eviction"});
}

BOOST_AUTO_TEST_CASE(doctor_line_runs_as_the_user_of_the_url_if_it_is_permitted)
{
    local_server s(with_defects());
    s.ask({"ACL", "SETUSER", "ad'min", "on", ">" + password, "~*", "&*", "+@all"});
    s.ask({"ACL", "SETUSER", "default", "-@all", "+ping"});
    auto const call = fmt::format("REDLOCK_URLS=redis://ad%27min:{}@127.0.0.1:{} redlock doctor", password, s.port());
    shell const sh({"REDISCLI_AUTH=" + password});

    BOOST_TEST(has(line_of(look_by(sh, call), "eviction"), R"( --user 'ad'\''min' )"));
    must_mend(sh, call, {"eviction", "timeout"});
}

BOOST_AUTO_TEST_CASE(doctor_line_runs_as_the_default_user_if_the_url_user_is_refused)
{
    local_server s(with_defects());
    s.ask(
        {"ACL", "SETUSER", "app", "on", ">" + password_of_app, "~lock:*", "+@all", "-@admin", "+config|get", "-info"});
    auto const call = fmt::format("redlock -u redis://app@127.0.0.1:{} --password-file app doctor", s.port());
    shell const without_password, with_password({"REDISCLI_AUTH=" + password});
    for (auto const* sh : {&without_password, &with_password})
        sh->write("app", password_of_app);

    must_mend(without_password, call, {"permissions", "timeout"});
    s.ask({"CONFIG", "SET", "requirepass", password});
    auto const line = line_of(look_by(with_password, call), "eviction");
    BOOST_TEST(has(line, " --user default "), line);
    must_mend(with_password, call, {"eviction"});
}

BOOST_AUTO_TEST_CASE(doctor_line_for_a_user_that_may_not_connect_permits_it)
{
    local_server s({"--requirepass", password});
    redlock::testbed::plain_client admin(s.port());
    admin.ask({"AUTH", password});
    admin.ask({"ACL", "SETUSER", "app", "on", ">" + password_of_app, "~lock:*", "+@all", "-@admin", "-select"});

    auto const call = fmt::format("redlock -u redis://app:{}@127.0.0.1:{}/1 doctor", password_of_app, s.port());
    shell const sh({"REDISCLI_AUTH=" + password});
    BOOST_TEST(has(line_of(look_by(sh, call), "login"), " --user default ACL SETUSER app +select"));
    must_mend(sh, call, {"login"});
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_a_unix_socket_keeps_socket_and_database, with_shell)
{
    local_server s(with_defects({"--unixsocket", sh.file("s")}));
    s.ask({"EVAL", "redis.call('SELECT', 3) redis.call('SET', 'jobs:for ever', 'somebody')", "0"});

    BOOST_TEST(comes_true([&] {
        return std::stol(s.ask({"EVAL", "redis.call('SELECT', 3) return redis.call('OBJECT', 'IDLETIME', KEYS[1])", "1",
                                "jobs:for ever"}))
               >= 2;
    }));

    must_mend(sh, fmt::format("redlock -u 'unix://{}?db=3' --prefix jobs: --max-ttl 2s doctor --ttl 1s", sh.file("s")),
              {"keys", "eviction"});
}

// Locks of this library, of Redisson (a hash), and of older code (no expiry). Each line is run, whatever it says.
BOOST_FIXTURE_TEST_CASE(doctor_lines_beside_held_locks_leave_them_alone, with_shell)
{
    local_server s;
    auto const url = s.url();
    started_tool holder({"-u", url, "--restart-guard", "off", "hold", "ours", "-t", "60s"}, {"REDLOCK_URLS="});
    BOOST_TEST(holder.says("ours"));
    s.ask({"PERSIST", "lock:ours"});
    s.ask({"HSET", "lock:redisson", "8743c9c0:1", "1"});
    s.ask({"PEXPIRE", "lock:redisson", "3000000"});
    s.ask({"SET", "lock:older", "somebody"});

    auto const report = look_by(sh, fmt::format("redlock -u {} --restart-guard off doctor --keys 1000", url));
    std::size_t lines = 0;
    for (auto const& f : report.all_of("keys")) {
        auto const ran = sh.run(f.fix);
        BOOST_TEST(ran.status == 0, f.fix << ": " << ran.out << ran.err);
        BOOST_TEST(!is_refused_in(ran), f.fix << ": " << ran.out << ran.err);
        ++lines;
    }

    BOOST_TEST(lines == 2u);
    BOOST_TEST(s.ask({"EXISTS", "lock:ours", "lock:redisson", "lock:older"}) == "3");
    BOOST_TEST(s.ask({"PTTL", "lock:older"}) == "-1");
    BOOST_TEST(std::stol(s.ask({"PTTL", "lock:redisson"})) > 2'000'000);
    BOOST_TEST(holder.end_by(SIGTERM).status == 0);
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_tls_names_the_files_of_the_call, with_shell)
{
    auto const& c = our_certificates();
    tls_server s(c, "server", "yes");
    s.server.ask({"CONFIG", "SET", "timeout", "2"});
    auto const call = fmt::format(
        "redlock -u {} --ca-file {} --certificate-file {} --private-key-file {} --connect-timeout 5s doctor", s.url(),
        c.file("ca.pem"), c.file("client.pem"), c.file("client.key"));

    must_mend(shell(), call, {"timeout"});

    std::filesystem::copy(c.file("client.pem"), sh.file("CERTIFICATE"));
    std::filesystem::copy(c.file("client.key"), sh.file("KEY"));
    must_call(
        sh,
        look_by(sh, fmt::format("redlock -u {} --ca-file {} --connect-timeout 5s doctor", s.url(), c.file("ca.pem"))),
        "reachable");
}

BOOST_AUTO_TEST_CASE(doctor_line_for_an_ending_certificate_makes_the_server_reload_it)
{
    auto& c = our_certificates();
    tls_server s(c);
    auto const call = fmt::format("redlock -u {} --ca-file {} --connect-timeout 5s doctor", s.url(), c.file("ca.pem"));
    auto const line = line_of(look_by(shell(), call), "certificate");

    c.make("printf 'subjectAltName=DNS:localhost' > ext && openssl x509 -req -in server.csr -CA ca.pem -CAkey ca.key "
           "-CAcreateserial -days 90 -extfile ext -out server.pem");
    auto const ran = shell().run(line);
    BOOST_TEST(ran.out == "OK\n", line << ": " << ran.err);
    BOOST_TEST(comes_true([&] { return is_well(look_by(shell(), call), "certificate"); }));
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_an_untrusted_certificate_names_its_authority, with_shell)
{
    auto const& c = our_certificates();
    tls_server s(c);
    std::filesystem::copy(c.file("ca.pem"), sh.file("FILE"));
    auto const before = look_by(sh, fmt::format("redlock -u {} --connect-timeout 5s doctor", s.url()));

    must_call(sh, before, "reachable");
    BOOST_TEST(line_of(before, "certificate") == line_of(before, "reachable"));
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_the_wrong_transport_uses_the_other_one, with_shell)
{
    auto const& c = our_certificates();
    tls_server s(c);
    auto const ask_with = [&](std::string const& url) {
        return look_by(sh, fmt::format("redlock -u {} --ca-file {} doctor", url, c.file("ca.pem")));
    };

    auto const plain = ask_with("redis://localhost:" + std::to_string(s.port));
    BOOST_TEST(has(plain.of("reachable").why, "its URL begins with rediss://"), plain.of("reachable").why);
    must_call(sh, plain, "reachable");

    auto const tls = ask_with("rediss://localhost:" + std::to_string(s.server.port()));
    BOOST_TEST(has(tls.of("reachable").why, "its URL begins with redis://"), tls.of("reachable").why);
    must_call(sh, tls, "reachable");
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_a_missing_or_wrong_password_reads_it_from_a_file, with_shell)
{
    local_server s({"--requirepass", password});
    sh.write("FILE", password);
    sh.write("wrong", password_of_app);

    must_call(sh, look_by(sh, fmt::format("redlock -u {} doctor", s.url())), "login");
    must_call(sh, look_by(sh, fmt::format("redlock -u redis://:{}@127.0.0.1:{} doctor", password_of_app, s.port())),
              "login");
    must_call(
        sh, look_by(sh, fmt::format("REDLOCK_URLS=redis://:{}@127.0.0.1:{} redlock doctor", password_of_app, s.port())),
        "login");
    must_call(sh, look_by(sh, fmt::format("redlock -u {} --password-file wrong doctor", s.url())), "login");
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_protected_mode_sets_a_password, with_shell)
{
    local_server s;
    sh.write("FILE", password);
    redlock::cli::doctor::node_facts f{.name = s.url()};
    f.place = {.host = "127.0.0.1", .port = std::to_string(s.port()), .user = "default"};
    f.hello = {.what = redlock::cli::reply::kind::error, .said = "DENIED Redis is running in protected mode"};
    auto const found = redlock::cli::doctor::diagnose({f}, {});
    auto const login = std::ranges::find(found, "login", &redlock::cli::doctor::finding::what);
    BOOST_TEST_REQUIRE((login != found.end()));

    auto const ran = sh.run(login->fix);
    BOOST_TEST(ran.out == "OK\n", login->fix << ": " << ran.err);
    BOOST_TEST(is_well(look_by(sh, fmt::format("redlock -u {} --password-file FILE doctor", s.url())), "login"));
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_a_replica_names_its_primary, with_shell)
{
    local_server primary, other;
    local_server replica({"--replicaof", "127.0.0.1 " + std::to_string(primary.port())});

    auto const alone = look_by(
        sh, fmt::format("redlock -u {} -u {} --prefix jobs: --restart-guard automatic doctor --ttl 5s --fencing",
                        replica.url(), other.url()));
    auto const line = line_of(alone, "role");
    BOOST_TEST(
        line
        == fmt::format(
            "redlock -u {} -u {} --prefix jobs: --restart-guard automatic doctor --ttl 5s --fencing --skip clock",
            primary.url(), other.url()));
    must_call(sh, alone, "role");

    auto const both = look_by(sh, fmt::format("REDLOCK_URLS={},{} redlock doctor", primary.url(), replica.url()));
    BOOST_TEST(line_of(both, "role")
               == fmt::format("redlock -u {} --restart-guard automatic doctor --skip clock", primary.url()));
    must_call(sh, both, "role");
    BOOST_TEST(has(replica.ask({"INFO", "replication"}), "role:slave"));
}

BOOST_AUTO_TEST_CASE(doctor_line_for_a_primary_lists_its_replicas)
{
    local_server primary({"--requirepass", password});
    local_server replica({"--replicaof", "127.0.0.1 " + std::to_string(primary.port()), "--masterauth", password});
    shell const sh({"REDISCLI_AUTH=" + password});
    auto const call = fmt::format("redlock -u redis://:{}@127.0.0.1:{} doctor", password, primary.port());
    BOOST_TEST_REQUIRE(comes_true([&] { return !is_well(look_by(sh, call), "replicas"); }));

    auto const ran = sh.run(line_of(look_by(sh, call), "replicas"));
    BOOST_TEST(has(ran.out, "port=" + std::to_string(replica.port())), ran.out << ran.err);
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_a_sentinel_names_its_service, with_shell)
{
    redlock::testbed::sentinel_set set;
    auto const seen =
        look_by(sh, fmt::format("redlock -u {} -u {} --max-ttl 5s doctor", set.sentinel(0).url(), set.server(0).url()));

    auto const line = line_of(seen, "role");
    BOOST_TEST(has(line, "redlock -u " + set.url() + " -u "), line);
    must_call(sh, seen, "role");

    auto const hello = sh.run(seen.of("sentinel", set.server(0).url()).fix);
    BOOST_TEST(has(hello.out, fmt::format("127.0.0.1,{},", set.sentinel(0).port())), hello.out << hello.err);
    BOOST_TEST(has(hello.out, ",stock,"), hello.out);
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_a_cluster_member_names_the_cluster, with_shell)
{
    local_server other, member({"--cluster-enabled", "yes"});
    for (int slot = 0; slot < 16'384; slot += 4'096) {
        std::vector<std::string> add{"CLUSTER", "ADDSLOTS"};
        for (int i = slot; i < slot + 4'096; ++i)
            add.push_back(std::to_string(i));
        member.ask(add);
    }
    BOOST_TEST_REQUIRE(comes_true([&] { return has(member.ask({"CLUSTER", "INFO"}), "cluster_state:ok"); }));

    auto const seen = look_by(sh, fmt::format("redlock -u {} -u {} --prefix jobs: doctor", other.url(), member.url()));
    BOOST_TEST(line_of(seen, "role")
               == fmt::format("redlock -u {} -u redis-cluster://127.0.0.1:{} --prefix jobs: --restart-guard automatic "
                              "doctor --skip clock",
                              other.url(), member.port()));
    must_call(sh, seen, "role");
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_maxclients_connects_when_a_client_leaves, with_shell)
{
    local_server s({"--maxclients", "6"});
    redlock::testbed::plain_client observer(s.port());
    std::vector<std::unique_ptr<redlock::testbed::plain_client>> idle;
    for (int i = 0; i < 5; ++i) {
        idle.push_back(std::make_unique<redlock::testbed::plain_client>(s.port()));
        idle.back()->ask({"PING"});
    }
    auto const call = fmt::format("redlock -u {} doctor", s.url());
    std::string line;
    BOOST_TEST_REQUIRE(comes_true([&] {  // the connection may end before the server's message arrives
        auto const login = look_by(sh, call).all_of("login");
        line = login.empty() ? "" : login.front().fix;
        return !line.empty();
    }));

    auto const refused = [&] {
        auto const statistics = observer.ask({"INFO", "stats"});
        return std::stol(statistics.substr(statistics.find("rejected_connections:") + 21));
    };
    auto const before = refused();
    auto mending = sh.start(line);
    BOOST_TEST(comes_true([&] { return refused() > before; }));
    idle.pop_back();
    BOOST_TEST(mending.wait().code() == 0, line);
    BOOST_TEST(observer.ask({"CONFIG", "GET", "maxclients"}) == "maxclients\n12");
    BOOST_TEST(is_well(look_by(sh, call), "login"));
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_a_server_with_two_addresses_names_it_once, with_shell)
{
    local_server s, other;
    auto const seen =
        look_by(sh, fmt::format("redlock -u {} -u redis://localhost:{} -u {} doctor", s.url(), s.port(), other.url()));

    must_call(sh, seen, "same-server");
    BOOST_TEST(
        line_of(seen, "same-server")
            .starts_with(fmt::format("redlock -u {} -u {} --restart-guard automatic doctor", s.url(), other.url())));
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_slow_answers_raises_node_timeout, with_shell)
{
    local_server s;
    redlock::testbed::proxy far({{.port = s.port(), .rtt = 15ms}});
    far.start();
    auto const before = look_by(sh, fmt::format("redlock -u {} --node-timeout 5ms doctor", far.url(0)));
    BOOST_TEST(before.of("round-trip").level == "CRIT");

    auto const line = line_of(before, "round-trip");
    // WARN is possible, because some answers are late on a busy machine.
    BOOST_TEST(report_of(sh.run(line)).of("round-trip").level != "CRIT", line);
}

BOOST_AUTO_TEST_CASE(doctor_line_for_a_held_probe_uses_another_name)
{
    local_server s;
    s.ask({"SET", "jobs:=doctor", "somebody"});
    shell const sh({"REDLOCK_PREFIX=jobs:"});

    must_call(sh, look_by(sh, fmt::format("redlock -u {} doctor", s.url())), "permissions");
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_a_missing_command_skips_the_check, with_shell)
{
    local_server s({"--rename-command", "CONFIG", ""});
    auto const seen = look_by(sh, fmt::format("redlock -u {} doctor --fencing", s.url()));

    for (auto const what : {"durability", "timeout"})
        must_call(sh, seen, what);
    BOOST_TEST(has(line_of(seen, "timeout"), " doctor --fencing --skip clock,timeout"), line_of(seen, "timeout"));
}

BOOST_FIXTURE_TEST_CASE(doctor_line_that_shows_something_runs_without_error, with_shell)
{
    local_server s({"--requirepass", password});
    sh.write("password", password);
    redlock::cli::reply const silence{.what = redlock::cli::reply::kind::silence, .text = "it has not answered"};
    redlock::cli::doctor::node_facts f{.name = s.url()};
    f.place = {.host = "127.0.0.1",
               .port = std::to_string(s.port()),
               .user = "default",
               .password = redlock::cli::password_in("password")};
    f.info = f.settings = f.slow_log = f.sentinels = f.time = silence;
    auto writing = f;
    writing.round_trips = {1ms};
    writing.info = {.what = redlock::cli::reply::kind::text,
                    .text = "aof_enabled:1\r\naof_last_write_status:ok\r\naof_rewrite_in_progress:1\r\n"};
    writing.settings = {.what = redlock::cli::reply::kind::text,
                        .text = "appendfsync:always\r\nno-appendfsync-on-rewrite:no\r\n"};

    std::size_t count = 0;
    for (auto const& found : redlock::cli::doctor::diagnose({f, writing}, {}, {"version"})) {
        if (found.level == redlock::cli::doctor::level::ok || !has(found.fix, "redis-cli"))
            continue;
        auto const ran = sh.run(found.fix);
        BOOST_TEST(ran.status == 0, found.fix << ": " << ran.out << ran.err);
        BOOST_TEST((!ran.out.empty() && !is_refused_in(ran)), found.fix << ": " << ran.out << ran.err);
        ++count;
    }
    BOOST_TEST(count > 10u);
}

BOOST_AUTO_TEST_SUITE_END()
