#include "redis/scripts.hpp"
#include "support/real_servers.hpp"

#include <boost/test/unit_test.hpp>

using namespace redlock;
using namespace redlock::test;

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
    for (auto const& script : {redis::release_script, redis::extend_script, redis::inspect_script})
        BOOST_TEST(s.ask({"SCRIPT", "LOAD", std::string(script.source)}) == std::string(script.sha1));
}

BOOST_AUTO_TEST_CASE(rule_7_scripts_compare_the_whole_value)
{
    local_server s;
    s.ask({"SET", "k", "mine", "PX", "10000"});
    for (auto const* other : {"min", "mine ", "", "MINE"}) {
        BOOST_TEST(eval(s, redis::release_script, {"k", other}) == "0");
        BOOST_TEST(eval(s, redis::extend_script, {"k", other, "20000"}) == "0");
    }
    BOOST_TEST(s.ask({"GET", "k"}) == "mine");
    BOOST_TEST(eval(s, redis::extend_script, {"k", "mine", "20000"}) == "1");
    BOOST_TEST(std::stol(s.ask({"PTTL", "k"})) > 15'000);
    BOOST_TEST(eval(s, redis::release_script, {"k", "mine"}) == "1");
    BOOST_TEST(eval(s, redis::release_script, {"k", "mine"}) == "0");
    BOOST_TEST(eval(s, redis::extend_script, {"k", "mine", "20000"}) == "0");
    BOOST_TEST(s.ask({"EXISTS", "k"}) == "0");
}

BOOST_AUTO_TEST_CASE(extending_never_shortens_nor_limits_what_has_no_end)
{
    local_server s;
    s.ask({"SET", "k", "mine", "PX", "60000"});
    BOOST_TEST(eval(s, redis::extend_script, {"k", "mine", "1000"}) == "1");
    BOOST_TEST(std::stol(s.ask({"PTTL", "k"})) > 50'000);
    s.ask({"PERSIST", "k"});
    BOOST_TEST(eval(s, redis::extend_script, {"k", "mine", "1000"}) == "1");
    BOOST_TEST(s.ask({"PTTL", "k"}) == "-1");
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
    for (int i = 0; i < 20; ++i) {
        auto won = r.acquire(locks, "stock");
        r.extend(won.held, 20s);
        r.release(won.held);
    }
    auto const statistics = r[0].ask({"INFO", "commandstats"});
    BOOST_TEST(statistics.find("cmdstat_script|load:calls=3,") != std::string::npos);
    BOOST_TEST(statistics.find("cmdstat_eval:") == std::string::npos);
    bool const native = statistics.find("cmdstat_delifeq") != std::string::npos || statistics.find("cmdstat_delex") != std::string::npos;
    BOOST_TEST(statistics.find(native ? "cmdstat_evalsha:calls=20," : "cmdstat_evalsha:calls=40,") != std::string::npos);
    BOOST_TEST(statistics.find("cmdstat_set:calls=20,") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
