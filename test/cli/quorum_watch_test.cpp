// Whether waiting can help, by the events of an acquisition.

#include "tools/redlock/locks/quorum_watch.hpp"

#include <redlock/error.hpp>

#include <boost/asio/error.hpp>
#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace redlock;
using namespace std::chrono_literals;

struct watched_acquisition {
    watched_acquisition()
    {
        watch.acquisition_begun({now, 1, resources, false, false, mode::exclusive, 1s, 1s, 0, nullptr, {}});
    }

    void hear(node_report answer, error_code outcome)
    {
        std::vector<node_report> const nodes{std::move(answer)};
        watch.round_decided({now, 1, resources, 1, false, outcome, 1ms, nodes});
    }

    // A round in which the only node is missing.
    std::optional<cli::exit_status> lasting_after(errc error, std::string message = {},
                                                  std::string name = "redis://db:6379")
    {
        hear({.name = std::move(name), .error = error, .message = std::move(message)}, errc::no_quorum);
        return watch.lasting_status();
    }

    void vote() { hear({.name = "redis://db:6379", .vote = vote::denied}, errc::contended); }

    std::string const no_host = "cannot resolve: " + error_code(boost::asio::error::host_not_found).message();
    resource_set resources{"stock"};
    clock::time_point now = clock::now();
    cli::quorum_watch watch;
};

}  // namespace

BOOST_FIXTURE_TEST_SUITE(quorum_watches, watched_acquisition)

// The name of a pod appears when the pod is ready.
BOOST_AUTO_TEST_CASE(lasting_status_of_an_unknown_host_comes_after_a_minute)
{
    for (int second = 0; second < 60; ++second, now += 1s)
        BOOST_TEST(!lasting_after(errc::node_unreachable, no_host));
    BOOST_TEST((lasting_after(errc::node_unreachable, no_host) == cli::wrong_configuration));
    now += 1s;
    BOOST_TEST(!lasting_after(errc::node_unreachable, "Connection refused"));  // the name has appeared
    now += 50s;
    BOOST_TEST(!lasting_after(errc::node_unreachable, no_host));
}

BOOST_AUTO_TEST_CASE(lasting_status_of_an_unknown_host_in_a_list_never_comes)
{
    for (int minute = 0; minute < 5; ++minute, now += 1min)
        BOOST_TEST(!lasting_after(errc::node_unreachable, no_host, "redis-sentinel://a:1,b:2/main"));
}

// A wrong password is told at once. One that was right until now is being changed.
BOOST_AUTO_TEST_CASE(lasting_status_of_a_password_that_was_right_comes_after_a_minute)
{
    BOOST_TEST((lasting_after(errc::authentication_failed) == cli::no_permission));
    vote();
    for (int second = 0; second < 60; ++second, now += 1s)
        BOOST_TEST(!lasting_after(errc::authentication_failed));
    BOOST_TEST((lasting_after(errc::authentication_failed) == cli::no_permission));
}

BOOST_AUTO_TEST_CASE(lasting_status_of_a_server_that_lacks_commands_is_configuration)
{
    for (int second = 0; second < 60; ++second, now += 1s)
        BOOST_TEST(!lasting_after(errc::unsupported_server));
    BOOST_TEST((lasting_after(errc::unsupported_server) == cli::wrong_configuration));
    for (int minute = 0; minute < 5; ++minute, now += 1min)
        BOOST_TEST(!lasting_after(errc::unsupported_server, {}, "redis-cluster://a:1,b:2"));
}

BOOST_AUTO_TEST_SUITE_END()
