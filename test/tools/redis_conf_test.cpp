// The settings of a server that the README shows: a real server that has them.

#include "tools/doctor_report.hpp"

#include "testbed/local_server.hpp"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock::test;
using redlock::testbed::local_server;

BOOST_AUTO_TEST_SUITE(redis_conf)

namespace {

// The lines between ``` and ``` behind the comment that names this test, as options of redis-server.
std::vector<std::string> documented_options()
{
    auto const page = text_of(REDLOCK_SOURCE "/README.md");
    auto const begin = page.find("```\n", page.find("<!-- the test redis_conf")) + 4;
    std::istringstream lines(page.substr(begin, page.find("```", begin) - begin));
    std::vector<std::string> options;
    for (std::string name, value; lines >> name && std::getline(lines >> std::ws, value);) {
        options.push_back("--" + name);
        options.push_back(value == "\"\"" ? "" : value);
    }
    return options;
}

}  // namespace

BOOST_AUTO_TEST_CASE(doctor_of_servers_with_the_settings_of_the_readme_is_ok)
{
    auto const options = documented_options();
    BOOST_TEST_REQUIRE(options.size() == 12u);
    std::vector<local_server> servers;
    servers.reserve(3);
    std::vector<std::string> urls;
    for (int i = 0; i < 3; ++i)
        urls.push_back(servers.emplace_back(options).url());

    auto const r = look(urls, {"--skip", "same-host"});

    BOOST_TEST(r.status == 0, r.out);
    for (auto const& f : r.findings)
        BOOST_TEST(f.level == "OK", f.what << ": " << f.why);
    BOOST_TEST(r.all_of("durability").size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
