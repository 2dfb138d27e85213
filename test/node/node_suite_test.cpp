// Runs the node suite, which is public for authors of nodes, for the kinds of nodes in this library.

#include <redlock/testing/node_suite.hpp>

#include "stores/make_node.hpp"
#include "support/node_suite.hpp"
#include "support/real_servers.hpp"
#include "bed/redis_cluster.hpp"
#include "bed/sentinel_set.hpp"
#include "testing/fair_shares.hpp"

#include <redlock/memory_server.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <string>
#include <vector>

using namespace redlock;
using namespace redlock::test;
using testing::node_kind;

BOOST_AUTO_TEST_SUITE(node_suite)

namespace {

// A kind of node, by its entry in manager_options::nodes. The restart guard is off, because the suite does not test
// quarantines.
node_kind named(std::string url, bool fences = true)
{
    return {.make =
                [=] {
                    return stores::make_nodes({.nodes = {url}, .fencing = fences, .restart_guard = restart_guard::off})
                        .front();
                },
            .fences = fences};
}

void tell(node_kind const& kind, std::vector<std::string> const& failed)
{
    auto const cases = testing::node_cases();
    BOOST_TEST(std::count_if(cases.begin(), cases.end(), [&](auto& c) { return c.concerns(kind); })
               >= (kind.contends ? 40 : 26));
    for (auto const& f : failed)
        BOOST_ERROR(f);
}

void check(node_kind const& kind) { tell(kind, failed_cases(kind)); }

}  // namespace

BOOST_AUTO_TEST_CASE(memory_server_passes_the_suite)
{
    auto const keep = memory_server::at("suite");
    check(named("memory://suite"));
}

BOOST_AUTO_TEST_CASE(memory_server_with_sessions_passes_the_suite)
{
    auto const keep = memory_server::at("suite-session");
    keep->set_session(std::chrono::milliseconds(300));
    check(named("memory://suite-session"));
}

BOOST_AUTO_TEST_CASE(redis_server_passes_the_suite)
{
    local_server s;
    auto const kind = named(s.url(), servers_fence());
    auto failed = failed_cases(kind);
    if (!servers_fence())  // an old server; the node finds that out when it connects
        std::erase_if(failed, [](auto& f) { return f.starts_with("the node says that it cannot draw tokens: "); });
    tell(kind, failed);
}

BOOST_AUTO_TEST_CASE(sentinel_master_passes_the_suite, *only_with_fencing())
{
    testbed::sentinel_set s;
    check(named(s.url()));
}

BOOST_AUTO_TEST_CASE(redis_cluster_passes_the_suite, *only_with_fencing())
{
    testbed::redis_cluster s;
    auto kind = named(s.url());
    kind.prefix = "{suite}lock:";  // a hash tag, because several keys in one step must be in one slot
    check(kind);
}

BOOST_AUTO_TEST_CASE(acquire_by_two_managers_on_three_servers_is_fair)
{
    real_servers r(3);
    testing::expect_fair_shares(r.settings());
}

BOOST_AUTO_TEST_CASE(node_kind_that_denies_a_feature_of_the_node_fails)
{
    auto kind = named("memory://suite");
    kind.fences = kind.locks_several = false;

    auto const failed = failed_cases(kind);

    BOOST_REQUIRE(failed.size() == 2u);
    BOOST_TEST(failed[0].find("the node says that it cannot draw tokens: ") == 0u);
    BOOST_TEST(failed[1].find("the node says that it cannot lock several keys: ") == 0u);
    auto no_choice = named("memory://suite");
    no_choice.locks_any = false;
    BOOST_TEST(failed_cases(no_choice).front().find("the node says that it cannot choose from several keys: ") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
