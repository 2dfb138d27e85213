// Tests docs/examples/redis.conf, which the README uses, and docs/examples/compose.yaml, on real servers.

#include "cli/doctor_report.hpp"
#include "support/only_if.hpp"

#include "bed/local_server.hpp"

#include <boost/json/value.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdlib>
#include <iterator>
#include <list>
#include <set>
#include <sstream>
#include <string>
#include <vector>

using namespace redlock::test;
using redlock::testbed::local_server;

BOOST_AUTO_TEST_SUITE(redis_conf)

namespace {

std::string example(std::string const& name) { return REDLOCK_SOURCE "/docs/examples/" + name; }

// The same-host check is left out, because all servers of a test run on this machine.
void must_please_the_doctor(std::list<local_server> const& servers)
{
    std::vector<std::string> urls;
    for (auto const& s : servers)
        urls.push_back(s.url());

    auto const r = run_doctor(urls, {"--skip", "same-host"});

    BOOST_TEST(r.status == 0, r.out);
    for (auto const& f : r.findings)
        BOOST_TEST(f.level == "OK", f.what << ": " << f.why);
    BOOST_TEST(r.all_of("durability").size() == servers.size());
}

bool perl_reads_yaml() { return std::system("perl -MCPAN::Meta::YAML -MJSON::PP -e 1 2>/dev/null") == 0; }

// A YAML file as JSON. The standard modules of Perl read the block style, which is all that the file has.
boost::json::value parsed_yaml(std::string const& file)
{
    return boost::json::parse(
        redlock::testbed::answer_of({"perl", "-MCPAN::Meta::YAML", "-MJSON::PP", "-e",
                                     "print encode_json(CPAN::Meta::YAML->read(shift)->[0])", file}));
}

bool lists(boost::json::value const& list, std::string const& entry)
{
    return std::ranges::find(list.as_array(), boost::json::value(entry)) != list.as_array().end();
}

std::vector<std::string> words_of(std::string const& command)
{
    std::istringstream words(command);
    return {std::istream_iterator<std::string>(words), {}};
}

// Starts the server of a service by its command. Only the path of the configuration file is another one.
void start(std::list<local_server>& servers, boost::json::value const& service)
{
    auto words = words_of(service.at("command").as_string().c_str());
    BOOST_TEST_REQUIRE(words.size() >= 2u);
    BOOST_TEST(words[0] == "redis-server");
    BOOST_TEST(lists(service.at("volumes"), "./redis.conf:" + words[1] + ":ro"));
    words.erase(words.begin());
    words.front() = example("redis.conf");
    servers.emplace_back(words);
}

void must_be_healthy(local_server const& server, boost::json::value const& service)
{
    std::string check = service.at("healthcheck").at("test").as_string().c_str();
    auto const client = check.find("redis-cli");
    BOOST_TEST_REQUIRE(client != check.npos);
    check.insert(client + std::string("redis-cli").size(), " -p " + std::to_string(server.port()));
    BOOST_TEST(std::system(check.c_str()) == 0, check);
}

}  // namespace

BOOST_AUTO_TEST_CASE(doctor_of_servers_with_the_example_of_a_configuration_is_ok)
{
    std::list<local_server> servers;
    for (int i = 0; i < 3; ++i)
        servers.emplace_back(std::vector{example("redis.conf")});

    must_please_the_doctor(servers);
}

BOOST_AUTO_TEST_CASE(doctor_of_the_servers_of_the_compose_file_is_ok,
                     *only_if(perl_reads_yaml(), "perl has no CPAN::Meta::YAML (Debian's package perl)"))
{
    auto const file = parsed_yaml(example("compose.yaml"));
    std::list<local_server> servers;
    std::set<std::string> ports;
    std::string urls;
    for (auto const& [name, service] : file.at("services").as_object()) {
        if (!name.starts_with("redis-"))
            continue;
        start(servers, service);
        must_be_healthy(servers.back(), service);
        // The append-only log is in a volume of the server's own, and the port is open on this machine only.
        BOOST_TEST(file.at("volumes").as_object().contains(name));
        BOOST_TEST(
            lists(service.at("volumes"), std::string(name) + ":" + service.at("working_dir").as_string().c_str()));
        ports.insert(service.at("ports").at(0).as_string().c_str());
    }
    for (int n = 1; n <= 3; ++n) {
        BOOST_TEST(ports.contains("127.0.0.1:" + std::to_string(6378 + n) + ":6379"));
        urls += (n == 1 ? "redis://redis-" : ",redis://redis-") + std::to_string(n);
    }
    BOOST_TEST(servers.size() == 3u);
    BOOST_TEST(file.at("services").at("redlock").at("environment").at("REDLOCK_URLS").as_string() == urls);

    must_please_the_doctor(servers);
}

BOOST_AUTO_TEST_SUITE_END()
