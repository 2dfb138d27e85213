// redlock acl prints an access list that permits enough, and nothing else.

#include "cli/doctor_report.hpp"
#include "tools/redlock/args/permissions.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(acl)

namespace {

using words = std::vector<std::string>;

struct with_server {
    local_server s;
};

std::string line_for(words options)
{
    options.insert(options.begin(), "acl");
    auto const said = run_tool(options);
    BOOST_TEST(said.status == 0, said.err);
    return said.out.substr(0, said.out.find('\n'));
}

// The line as the words of a command, with a password.
words command_of(std::string const& line)
{
    std::istringstream in(line);
    words all{std::istream_iterator<std::string>(in), {}};
    std::ranges::replace(all, std::string(">PASSWORD"), std::string(">pw"));
    return all;
}

// Makes a user with the permissions of the line, without the word @p left_out. @return the address with that user
std::string make_user(local_server const& s, std::string const& line, std::string const& name = "redlock",
                      std::string const& left_out = {})
{
    auto command = command_of(line);
    command[2] = name;
    std::erase(command, left_out);
    BOOST_TEST_REQUIRE(s.ask(command) == "OK", line);
    return "redis://" + name + ":pw@127.0.0.1:" + std::to_string(s.port());
}

std::vector<words> uses()
{
    std::vector<words> all{{}, {"--waiting"}, {"--shared"}, {"--shared", "--waiting"}, {"--sets"}};
    if (servers_fence())
        all.insert(all.end(), {{"--fencing"}, {"--fencing", "--waiting", "--shared", "--sets"}});
    return all;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(acl_line_is_enough_for_its_options, with_server)
{
    for (auto const& options : uses()) {
        auto const as_user = make_user(s, line_for(options));
        auto const seen = run_doctor({as_user}, options).all_of("permissions");
        BOOST_TEST_REQUIRE(seen.size() == 1u);
        BOOST_TEST(seen[0].level == "OK", seen[0].why);
        BOOST_TEST(s.ask({"DBSIZE"}) == "2");  // every client leaves the server's record and the settings
        s.ask({"FLUSHALL"});
    }
}

// Runs the library itself. A server writes each refused command into its ACL LOG, so the log must be empty.
BOOST_FIXTURE_TEST_CASE(acl_line_of_all_options_permits_all_commands_of_the_library, with_server, *only_with_fencing())
{
    auto const as_user = make_user(s, line_for({"--fencing", "--waiting", "--shared", "--sets"}));
    s.ask({"ACL", "LOG", "RESET"});
    real_servers r(0);
    lock_manager locks(r.context, {.nodes = {as_user}, .node_timeout = busy_timeout, .fencing = true});

    for (auto const how : {mode::exclusive, mode::shared, mode::upgradeable}) {
        auto held = r.acquire(locks, "stock", {.mode = how});
        BOOST_TEST_REQUIRE(!held.ec, held.report.message);
        BOOST_TEST(held.held.fencing_token() > 0u);
        BOOST_TEST(!r.extend(held.held, 20s));
        BOOST_TEST(!r.release(held.held));
    }
    BOOST_TEST(locks.stats().nodes.front().notifies);  // the node notifies the manager of releases
    r.shutdown(locks);
    auto const log = s.ask({"ACL", "LOG"});
    // Except commands that only new servers know. The line must not name them, because old servers would refuse it.
    auto const refused = std::regex_replace(log, std::regex("object\n(delifeq|delex)"), "");
    BOOST_TEST(refused.find("object\n") == std::string::npos, log);
}

BOOST_FIXTURE_TEST_CASE(acl_line_without_one_rule_is_not_enough, with_server)
{
    words options{"--waiting", "--shared", "--sets"};
    if (servers_fence())
        options.push_back("--fencing");
    auto const line = line_for(options);
    std::vector<std::pair<std::string, testbed::process>> doctors;
    for (auto const& word : command_of(line)) {
        // A server permits HELLO to all users. Servers before Redis 7 do not know COMMAND LIST.
        if (!word.starts_with('+') || word == "+hello" || (word == "+command|list" && !servers_tell_type()))
            continue;
        auto const name = "user" + std::to_string(doctors.size());
        words arguments{"-u", make_user(s, line, name, word), "doctor", "-o", "json", "--skip", "clock", "--probe",
                        name};
        arguments.insert(arguments.end(), options.begin(), options.end());
        doctors.emplace_back(word, start_tool(arguments));
    }
    BOOST_TEST(doctors.size() > 20u);
    for (auto& [word, doctor] : doctors) {
        auto const said = doctor.read();
        auto const rule = word.find('|') == word.npos ? word : '\'' + word + '\'';
        BOOST_TEST(said.find("may not run " + word.substr(1) + ", without which ") != said.npos, word << ": " << said);
        BOOST_TEST(said.find(" " + rule + "\"") != said.npos, word << ": " << said);
        auto const status = doctor.wait().code();
        BOOST_TEST((status == 1 || status == 2));
    }
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_a_missing_permission_grants_it, with_server)
{
    auto const as_user = make_user(s, line_for({}), "redlock", "+pexpire");
    auto const before = run_doctor({as_user}).of("permissions");
    BOOST_TEST(before.level == "CRIT");
    run_line(before.fix);
    BOOST_TEST(run_doctor({as_user}).of("permissions").level == "OK");
}

BOOST_FIXTURE_TEST_CASE(doctor_line_for_another_prefix_permits_it, with_server)
{
    auto const as_user = make_user(s, line_for({}));
    auto const seen = run_doctor({as_user}, {"--prefix", "jobs:"}).of("permissions");
    BOOST_TEST(seen.level == "CRIT");
    run_line(seen.fix);
    BOOST_TEST(run_doctor({as_user}, {"--prefix", "jobs:"}).of("permissions").level == "OK");
}

BOOST_AUTO_TEST_CASE(acl_with_doctor_permits_all_commands_of_the_doctor)
{
    local_server s({"--appendonly", "yes", "--appendfsync", "always"});
    s.ask({"ZADD", "lock:stock:=fence:{lock:stock}", "7", "token"});
    auto const with = run_doctor({make_user(s, line_for({"--doctor"}))}, {"--skip", "version,slow-log"});
    for (auto const& f : with.findings)
        BOOST_TEST(f.level != "UNKNOWN", f.what << ": " << f.why);
    BOOST_TEST(run_doctor({make_user(s, line_for({}))}).of("keys").level == "UNKNOWN");
}

BOOST_FIXTURE_TEST_CASE(acl_for_reading_permits_to_look_and_no_lock, with_server)
{
    auto const as_user = make_user(s, line_for({"--read-only"}));
    s.ask({"SET", "lock:x", std::string(32, 'a') + ":web", "PX", "3600000"});
    s.ask({"SET", "lock:y", ":=shared", "PX", "3600000"});
    s.ask({"ZADD", "lock:y:=shared:{lock:y}", "9e13", std::string(32, 'b') + ":reader"});
    auto const run = [&](words arguments) {
        arguments.insert(arguments.begin(), {"-u", as_user});
        return run_tool(arguments);
    };

    for (auto const& [looks, shows] : {std::pair(words{"status", "x"}, "is held by web"),
                                       {words{"status", "y"}, "reader"},
                                       {words{"list"}, "web"},
                                       {words{"top", "--once"}, "1 held, 1 shared"}}) {
        auto const seen = run(looks);
        BOOST_TEST(seen.status == 0, seen.err);
        BOOST_TEST(seen.out.find(shows) != seen.out.npos, seen.out);
    }
    BOOST_TEST(run({"run", "-n", "z", "true"}).status == 77);
    BOOST_TEST(run({"break", "x", "--force", "--yes"}).status == 77);
    BOOST_TEST(s.ask({"EXISTS", "lock:x", "lock:z"}) == "1");
    BOOST_TEST(run_tool({"acl", "--read-only", "--shared"}).status == 64);
}

BOOST_FIXTURE_TEST_CASE(acl_for_another_database_permits_select, with_server)
{
    auto const address = "redis://127.0.0.1:" + std::to_string(s.port()) + "/3";
    BOOST_TEST(line_for({}).find("+select") == std::string::npos);
    BOOST_TEST(line_for({"-u", address}) == line_for({"--select"}));
    BOOST_TEST(run_doctor({make_user(s, line_for({"-u", address})) + "/3"}).of("permissions").level == "OK");
    auto const without = run_doctor({make_user(s, line_for({})) + "/3"});
    BOOST_TEST(without.of("login").level == "CRIT");
    BOOST_TEST(without.of("login").fix.find("+select") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(acl_for_a_cluster_permits_to_ask_for_its_slots)
{
    BOOST_TEST(line_for({}).find("+cluster") == std::string::npos);
    BOOST_TEST(line_for({"--cluster"}).find(" +cluster|nodes ") != std::string::npos);
    BOOST_TEST(line_for({"-u", "redis-cluster://host"}) == line_for({"--cluster"}));
}

BOOST_AUTO_TEST_CASE(acl_escapes_names_and_prefixes)
{
    BOOST_TEST(line_for({"--user", "app"}).starts_with("ACL SETUSER app reset on >PASSWORD ~lock:* -@all +"));
    BOOST_TEST(line_for({"--prefix", "a[1]*"}).find(" ~a\\[1\\]\\** -@all ") != std::string::npos);
    BOOST_TEST(line_for({"--prefix", "it's mine:"}).find(" '~it\\'s mine:*' -@all ") != std::string::npos);

    local_server s;
    auto const as_user = make_user(s, line_for({"--prefix", "a[1]*"}));
    BOOST_TEST(run_doctor({as_user}, {"--prefix", "a[1]*"}).of("permissions").level == "OK");
    BOOST_TEST(run_doctor({as_user}, {"--prefix", "a1"}).of("permissions").level == "CRIT");

    auto const json = run_tool({"acl", "-o", "json"}).documents();
    BOOST_TEST_REQUIRE(json.size() == 1u);
    BOOST_TEST(json[0].at("schema").as_int64() == 1);
    BOOST_TEST(json[0].at("line").as_string() == line_for({}));
}

BOOST_AUTO_TEST_CASE(permissions_are_all_named_in_guarantees)
{
    std::ifstream page(REDLOCK_SOURCE "/docs/guarantees.md");
    std::string const text{std::istreambuf_iterator<char>(page), {}};
    BOOST_TEST_REQUIRE(!text.empty());
    for (auto const& p : cli::permissions()) {
        auto name = std::string(p.name);
        if (auto const bar = name.find('|'); bar != name.npos)
            name.insert(bar, "\\");  // a table in Markdown needs "\|"
        BOOST_TEST(text.find('`' + name + '`') != text.npos, p.name);
    }
}

BOOST_AUTO_TEST_SUITE_END()
