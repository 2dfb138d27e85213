// Every kind of nodes passes the suite that others run over theirs.

#include <redlock/testing/node_suite.hpp>

#include "stores/make_node.hpp"
#include "support/node_suite.hpp"
#include "support/real_servers.hpp"
#include "testbed/redis_cluster.hpp"
#include "testbed/sentinel_set.hpp"
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

// Nodes as config::nodes names them. A quarantine, which some see to themselves, is not what the suite is about.
node_kind named(std::string url, bool fences = true)
{
    return {.make =
                [=] {
                    return make_nodes({.nodes = {url}, .fencing = fences, .restart_guard = restart_guard::off}).front();
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

BOOST_AUTO_TEST_CASE(the_memory_server)
{
    auto const keep = memory_server::at("suite");
    check(named("memory://suite"));
}

BOOST_AUTO_TEST_CASE(the_memory_server_with_sessions)
{
    auto const keep = memory_server::at("suite-session");
    keep->set_session(std::chrono::milliseconds(300));
    check(named("memory://suite-session"));
}

BOOST_AUTO_TEST_CASE(a_real_server)
{
    local_server s;
    auto const kind = named(s.url(), servers_fence());
    auto failed = failed_cases(kind);
    if (!servers_fence())  // which a node knows only when it is connected
        std::erase_if(failed, [](auto& f) { return f.starts_with("it says that it draws no tokens: "); });
    tell(kind, failed);
}

BOOST_AUTO_TEST_CASE(a_master_that_a_sentinel_names, *only_with_fencing())
{
    testbed::sentinel_set s;
    check(named(s.url()));
}

BOOST_AUTO_TEST_CASE(a_cluster, *only_with_fencing())
{
    testbed::redis_cluster s;
    auto kind = named(s.url());
    kind.prefix = "{suite}lock:";  // several keys in one step are in one slot
    check(kind);
}

BOOST_AUTO_TEST_CASE(acquire_by_two_managers_on_three_servers_is_fair)
{
    real_servers r(3);
    testing::expect_fair_shares(r.settings());
}

BOOST_AUTO_TEST_CASE(who_claims_what_its_kind_leaves_out_fails)
{
    auto kind = named("memory://suite");
    kind.fences = kind.locks_several = false;

    auto const failed = failed_cases(kind);

    BOOST_REQUIRE(failed.size() == 2u);
    BOOST_TEST(failed[0].find("it says that it draws no tokens: ") == 0u);
    BOOST_TEST(failed[1].find("it says that it locks one key at a time: ") == 0u);
    auto no_choice = named("memory://suite");
    no_choice.locks_any = false;
    BOOST_TEST(failed_cases(no_choice).front().find("it says that it does not choose from several keys: ") == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
