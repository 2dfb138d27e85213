#include "options.hpp"
#include "scenarios.hpp"
#include "testbed/local_server.hpp"

#include <boost/test/unit_test.hpp>

#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

using namespace redlock::bench;
using namespace std::chrono_literals;

namespace {

std::string wrong(std::vector<std::string_view> const& arguments)
{
    options o;
    return parse(arguments, o).value_or("");
}

bool tells(std::string const& text, std::string_view what)
{
    return text.find(what) != std::string::npos;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(bench_options)

BOOST_AUTO_TEST_CASE(every_option_is_taken)
{
    options o;
    auto const why = parse({"contended", "renew", "--nodes", "redis://a,redis://b", "--clients", "7", "--rate", "2.5", "--hold",
                            "0.5", "--rtt", "2", "--locks", "9", "--rounds", "3", "--duration", "250", "--pin", "1,0", "--server",
                            "valkey-server", "--json", "j", "--csv", "c", "--html", "h"},
                           o);

    BOOST_TEST(!why.has_value());
    BOOST_TEST(o.scenarios == (std::vector<std::string>{"contended", "renew"}), boost::test_tools::per_element());
    BOOST_TEST(o.nodes == (std::vector<std::string>{"redis://a", "redis://b"}), boost::test_tools::per_element());
    BOOST_TEST(o.clients == 7u);
    BOOST_TEST(o.rate == 2.5);
    BOOST_TEST((o.hold == 500us));
    BOOST_TEST((o.rtt == 2ms));
    BOOST_TEST(o.locks == 9u);
    BOOST_TEST(o.rounds == 3u);
    BOOST_TEST((o.duration == 250ms));
    BOOST_TEST(o.pin == (std::vector<int>{0, 1}), boost::test_tools::per_element());
    BOOST_TEST(o.server == "valkey-server");
    BOOST_TEST(o.json + o.csv + o.html == "jch");
}

BOOST_AUTO_TEST_CASE(without_arguments_there_is_something_to_do)
{
    options o;
    BOOST_TEST(!parse({}, o).has_value());
    BOOST_TEST(!o.scenarios.empty());
    BOOST_TEST(o.count == 5u);
}

BOOST_AUTO_TEST_CASE(all_is_each_scenario_once)
{
    options o;
    BOOST_TEST(!parse({"all"}, o).has_value());
    BOOST_TEST(o.scenarios == scenario_names(), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(what_makes_no_sense_is_told_with_the_way_out)
{
    BOOST_TEST(tells(wrong({"--clients", "0"}), "--clients is \"0\", but must be a whole number from 1 to 10000"));
    BOOST_TEST(tells(wrong({"--clients", "1.5"}), "whole number"));
    BOOST_TEST(tells(wrong({"--clients", "nan"}), "whole number"));
    BOOST_TEST(tells(wrong({"--duration", "5s"}), "100 to 60000"));
    BOOST_TEST(tells(wrong({"--count", "4"}), "survive no more failures than 3"));
    BOOST_TEST(tells(wrong({"--nodes"}), "needs a value"));
    BOOST_TEST(tells(wrong({"--pin", "0,,1"}), "--pin"));
    BOOST_TEST(tells(wrong({"--compare", "one.json"}), "two files"));
    BOOST_TEST(tells(wrong({"uncontented"}), "there is no scenario \"uncontented\""));
    BOOST_TEST(tells(wrong({"--round", "1"}), "there is no option \"--round\""));
}

BOOST_AUTO_TEST_CASE(addresses_with_passwords_need_not_be_arguments)
{
    redlock::testbed::temporary_folder folder;
    auto const file = folder.path + "/nodes";
    std::ofstream(file) << "# ours\nredis://:secret@a, redis://b\n\n  redis://c\r\n";
    std::vector<std::string> const three{"redis://:secret@a", "redis://b", "redis://c"};

    options from_file;
    BOOST_TEST(!parse({"--nodes-file", file}, from_file).has_value());
    BOOST_TEST(from_file.nodes == three, boost::test_tools::per_element());

    ::setenv("REDLOCK_NODES", "redis://:secret@a,redis://b redis://c", 1);
    options from_environment, argument;
    BOOST_TEST(!parse({}, from_environment).has_value());
    BOOST_TEST(!parse({"--nodes", "redis://d"}, argument).has_value());
    ::unsetenv("REDLOCK_NODES");
    BOOST_TEST(from_environment.nodes == three, boost::test_tools::per_element());
    BOOST_TEST(argument.nodes == std::vector<std::string>{"redis://d"}, boost::test_tools::per_element());

    BOOST_TEST(tells(wrong({"--nodes-file", folder.path + "/none"}), "cannot be read"));
    std::ofstream(file) << "# none\n";
    BOOST_TEST(tells(wrong({"--nodes-file", file}), "names no lock server"));
    BOOST_TEST(tells(usage, "REDLOCK_NODES"));
    BOOST_TEST(tells(usage, "All users of a machine can read the arguments"));
}

BOOST_AUTO_TEST_CASE(what_is_kept_of_the_command_holds_no_password)
{
    BOOST_TEST(command_line({"contended", "--nodes", "redis://me:secret@a,unix://:secret@/s,http://secret", "--count", "3"})
               == "redlock_bench contended --nodes redis://a:6379,unix:///s,… --count 3");
}

BOOST_AUTO_TEST_SUITE_END()
