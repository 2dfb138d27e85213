#include "tools/redlock/args/early_exit.hpp"
#include "options.hpp"
#include "scenarios.hpp"
#include "bed/local_server.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fstream>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock::bench;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(bench_options)

namespace {

std::string wrong(std::vector<std::string> const& arguments)
{
    try {
        parse(arguments);
        return "";
    } catch (redlock::cli::early_exit const& e) {
        return e.what();
    }
}

bool tells(std::string const& text, std::string_view what) { return text.find(what) != std::string::npos; }

}  // namespace

BOOST_AUTO_TEST_CASE(parse_reads_every_option)
{
    auto const o = parse({"contended",
                          "renew",
                          "--nodes",
                          "redis://a,redis://b",
                          "--clients",
                          "7",
                          "--rate",
                          "2.5",
                          "--hold",
                          "0.5",
                          "--rtt",
                          "2ms",
                          "--locks",
                          "9",
                          "--note",
                          "40",
                          "--ttl",
                          "1min",
                          "--rounds",
                          "3",
                          "--duration=0.25s",
                          "--pin",
                          "1,0",
                          "--server",
                          "valkey-server",
                          "--json",
                          "j",
                          "--plot",
                          "p.svg",
                          "--peers",
                          "w",
                          "--peer",
                          "redis-py,etcd"});

    BOOST_TEST(o.scenarios == (std::vector<std::string>{"contended", "renew"}), boost::test_tools::per_element());
    BOOST_TEST(o.nodes == (std::vector<std::string>{"redis://a", "redis://b"}), boost::test_tools::per_element());
    BOOST_TEST(o.clients == 7u);
    BOOST_TEST(o.note == 40u);
    BOOST_TEST(o.rate == 2.5);
    BOOST_TEST((o.hold == 500us));
    BOOST_TEST((o.rtt == 2ms));
    BOOST_TEST(o.locks == 9u);
    BOOST_TEST(o.rounds == 3u);
    BOOST_TEST((o.ttl == 60s));
    BOOST_TEST((o.duration == 250ms));
    BOOST_TEST(o.pin == (std::vector<int>{0, 1}), boost::test_tools::per_element());
    BOOST_TEST(o.server == "valkey-server");
    BOOST_TEST(o.json + o.plot == "jp.svg");
    BOOST_TEST(o.workers == "w");
    BOOST_TEST(o.peer_names == (std::vector<std::string>{"redis-py", "etcd"}), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(parse_without_arguments_chooses_default_scenarios)
{
    auto const o = parse({});
    BOOST_TEST(!o.scenarios.empty());
    BOOST_TEST(o.count == 5u);
}

BOOST_AUTO_TEST_CASE(parse_all_selects_each_scenario_but_versus_once)
{
    auto const names = scenario_names();
    auto all_but_versus = names;
    std::erase(all_but_versus, "versus");

    BOOST_TEST(all_but_versus.size() + 1 == names.size());
    BOOST_TEST(parse({"all"}).scenarios == all_but_versus, boost::test_tools::per_element());
    BOOST_TEST(parse({"all", "versus"}).scenarios == names, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(parse_reads_the_folder_of_the_peers_from_the_environment)
{
    ::setenv("REDLOCK_PEERS", "there", 1);
    auto const from_environment = parse({}), argument = parse({"--peers", "here"});
    ::unsetenv("REDLOCK_PEERS");

    BOOST_TEST(from_environment.workers == "there");
    BOOST_TEST(argument.workers == "here");
    BOOST_TEST(tells(wrong({"--peers", ""}), "--peers needs a value: FOLDER"));
}

BOOST_AUTO_TEST_CASE(parse_of_a_wrong_option_says_what_is_expected)
{
    BOOST_TEST(tells(wrong({"--clients", "0"}), "--clients is \"0\", but must be a whole number from 1 to 10000"));
    BOOST_TEST(tells(wrong({"--clients", "1.5"}), "whole number"));
    BOOST_TEST(tells(wrong({"--clients", "nan"}), "whole number"));
    for (auto const* duration : {"5h", "99", "61s", "", "nan", "-1", "1e9s", "s"})
        BOOST_TEST(tells(wrong({"--duration", duration}),
                         *duration ? "must be a duration from 100ms to 60s, such as" : "needs a value: TIME"));
    BOOST_TEST(tells(wrong({"--clients", "0"}), "redlock_bench: --clients is"));
    BOOST_TEST(tells(wrong({"--count", "4"}), "survive no more failures than 3"));
    BOOST_TEST(tells(wrong({"--nodes"}), "--nodes: 1 required URL,… missing"));
    BOOST_TEST(tells(wrong({"--pin", "0,x"}), "--pin is \"x\", but must be a whole number from 0 to 1023"));
    BOOST_TEST(tells(wrong({"--nodes", ","}), "--nodes is \",\", but must be URL,…"));
    BOOST_TEST(tells(wrong({"--server", ""}), "--server needs a value: PROGRAM"));
    BOOST_TEST(tells(wrong({"--compare", "one.json"}), "--compare: 2 required BEFORE.json AFTER.json missing"));
    BOOST_TEST(tells(wrong({"uncontented"}), "there is no scenario \"uncontented\""));
    for (auto const* file : {"report.png", "report", "svg"})
        BOOST_TEST(tells(wrong({"--plot", file}),
                         std::string("--plot is \"") + file + "\", but must be the name of a file that ends in .svg"));
    BOOST_TEST(tells(wrong({"--plot"}), "--plot: 1 required FILE.svg missing"));
    BOOST_TEST(tells(wrong({"--round", "1"}), "there is no option \"--round\""));
}

BOOST_AUTO_TEST_CASE(parse_reads_nodes_from_a_file_or_the_environment)
{
    redlock::testbed::temporary_folder folder;
    auto const file = folder.path + "/nodes";
    std::ofstream(file) << "# ours\nredis://:secret@a, redis://b\n\n  redis://c\r\n";
    std::vector<std::string> const three{"redis://:secret@a", "redis://b", "redis://c"};

    BOOST_TEST(parse({"--nodes-file", file}).nodes == three, boost::test_tools::per_element());

    ::setenv("REDLOCK_NODES", "redis://:secret@a,redis://b redis://c", 1);
    auto const from_environment = parse({}), argument = parse({"--nodes", "redis://d"}), own = parse({"--count", "3"});
    ::unsetenv("REDLOCK_NODES");
    BOOST_TEST(from_environment.nodes == three, boost::test_tools::per_element());
    BOOST_TEST(argument.nodes == std::vector<std::string>{"redis://d"}, boost::test_tools::per_element());

    BOOST_TEST(own.nodes.empty());

    // A comma may separate the hosts of one node.
    std::vector<std::string> const several{"redis-sentinel://a,b:1/name", "redis://c", "d", "etcd://e,f"};
    BOOST_TEST(parse({"--nodes", "redis-sentinel://a,b:1/name,redis://c,d,etcd://e,f"}).nodes == several,
               boost::test_tools::per_element());

    BOOST_TEST(tells(wrong({"--nodes-file", folder.path + "/none"}), "cannot be read"));
    std::ofstream(file) << "# none\n";
    BOOST_TEST(tells(wrong({"--nodes-file", file}), "names no lock server"));
    auto const help = std::regex_replace(wrong({"--help"}), std::regex("\\s+"), " ");
    BOOST_TEST(tells(help, "REDLOCK_NODES"));
    BOOST_TEST(tells(help, "All users of a machine can read the arguments"));
}

BOOST_AUTO_TEST_CASE(command_line_contains_no_passwords)
{
    BOOST_TEST(command_line({"--nodes=redis://:secret@a"}) == "redlock_bench --nodes=redis://a:6379");
    for (auto const& mistyped : {"--node=redis://:secret@a", "redis://:secret@a"})
        BOOST_TEST(!tells(wrong({mistyped}), "secret"));
    BOOST_TEST(!tells(wrong({"--clients", "redis://:secret@a"}), "secret"));
    BOOST_TEST(
        command_line({"contended", "--nodes", "redis://me:secret@a,unix://:secret@/s,http://secret", "--count", "3"})
        == "redlock_bench contended --nodes redis://a:6379,unix:///s,… --count 3");
}

BOOST_AUTO_TEST_SUITE_END()
