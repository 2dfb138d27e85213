// packaging/systemd/redlock.service: its command is run without systemd.

#include "cli/running_service.hpp"

#include <boost/test/unit_test.hpp>

#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(systemd_unit)

namespace {

std::string unit() { return text_of(REDLOCK_SOURCE "/packaging/systemd/redlock.service"); }

// The values of a setting, in their order.
std::vector<std::string> values_of(std::string const& setting)
{
    std::vector<std::string> all;
    std::istringstream lines(unit());
    for (std::string line; std::getline(lines, line);) {
        if (line.starts_with(setting + '='))
            all.push_back(line.substr(setting.size() + 1));
    }
    return all;
}

// The words of its command without the name of the program, as systemd expands them.
std::vector<std::string> arguments(std::string const& credentials, std::vector<std::string> const& options)
{
    std::vector<std::string> all;
    std::istringstream words(values_of("ExecStart").at(0));
    std::string word;
    words >> word;
    BOOST_TEST(word == "redlock");
    while (words >> word) {
        if (word == "$OPTIONS")
            all.insert(all.end(), options.begin(), options.end());
        else
            all.push_back(std::regex_replace(word, std::regex("\\$\\{CREDENTIALS_DIRECTORY\\}"), credentials));
    }
    return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(serve_with_the_arguments_of_the_unit_starts_and_ends)
{
    real_servers r(1);
    testbed::temporary_folder credentials;
    std::ofstream(credentials.path + "/config") << "url = " << r[0].url() << '\n';
    write_secret(credentials.path + "/tokens", "token-of-test-0123456789 * lock\n", 0400);  // as systemd does
    auto const socket = credentials.path + "/socket";
    started_tool tool(arguments(credentials.path, {"--listen", "unix:" + socket}), without_nodes());
    BOOST_TEST_REQUIRE(tool.complains("redlock serve: unix:" + socket + '\n'), tool.err());
    http_connection c(asio::local::stream_protocol::endpoint{socket});
    BOOST_TEST(c.ask(verb::get, "/v1/locks").status == 401u);
    BOOST_TEST(values_of("ExecReload").at(0) == "kill -HUP $MAINPID");
    tool.process().signal(SIGHUP);
    BOOST_TEST(tool.complains("tokens\" was read again: it has not changed"), tool.err());
    BOOST_TEST(tool.end_by(SIGTERM).status == 0);
}

BOOST_AUTO_TEST_CASE(serve_help_lists_the_options_of_the_unit)
{
    auto const help = run_tool({"serve", "--help"}).out + run_tool({"help", "options"}).out;
    auto const text = unit();
    std::regex const option("--[a-z-]+(?= )");
    std::size_t count = 0;
    for (std::sregex_iterator o(text.begin(), text.end(), option), end; o != end; ++o, ++count)
        BOOST_TEST(has(help, o->str() + ' '), o->str());
    BOOST_TEST(count > 2u);
}

BOOST_AUTO_TEST_CASE(unit_loads_the_credentials_that_its_command_reads)
{
    std::string loaded;
    for (auto const& c : values_of("LoadCredential"))
        loaded += "${CREDENTIALS_DIRECTORY}/" + c.substr(0, c.find(':')) + ' ';
    for (auto const& word : arguments("${CREDENTIALS_DIRECTORY}", {})) {
        if (word.starts_with('$'))
            BOOST_TEST(has(loaded, word + ' '), word);
    }
    auto const pages = run_tool({"man", "--list"}).out;
    BOOST_TEST(has(pages, std::regex_replace(values_of("Documentation").at(0), std::regex("man:(.*)\\(1\\)"), "$1\n")));
}

BOOST_AUTO_TEST_SUITE_END()
