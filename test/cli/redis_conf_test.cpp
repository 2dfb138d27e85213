// Tests the settings of a server that the README shows, on real servers.

#include "cli/doctor_report.hpp"

#include "testbed/local_server.hpp"

#include <boost/test/unit_test.hpp>

#include <sstream>
#include <string>
#include <vector>

using namespace redlock::test;
using redlock::testbed::local_server;

BOOST_AUTO_TEST_SUITE(redis_conf)

namespace {

// The code block after the comment in README.md that names this test, as options of redis-server.
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
    local_server const a(options), b(options), c(options);

    auto const r = run_doctor({a.url(), b.url(), c.url()}, {"--skip", "same-host"});

    BOOST_TEST(r.status == 0, r.out);
    for (auto const& f : r.findings)
        BOOST_TEST(f.level == "OK", f.what << ": " << f.why);
    BOOST_TEST(r.all_of("durability").size() == 3u);
}

BOOST_AUTO_TEST_SUITE_END()
