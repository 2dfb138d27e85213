// redlock nodes init, as a program, on real servers.

#include "cli/view/tool.hpp"

#include <boost/json/value.hpp>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(nodes_init)

namespace {

std::vector<std::string> const run_now{"--restart-guard", "strict", "run", "-n", "x", "echo", "ran"};

/// Three new servers.
struct new_set : tool {
    new_set() : tool(3) {}

    tool_run init(std::vector<std::string> more = {}) const
    {
        more.insert(more.begin(), {"nodes", "init"});
        return run(more);
    }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(nodes_init_lets_new_servers_vote_at_once, new_set)
{
    auto const before = run(run_now);
    must_say(before, 69, "it is new to this prefix", "; if all servers are newly installed: redlock nodes init");

    must_print(init(), 0, "3 nodes are founded, and vote from now on, for the prefix lock:\n");

    must_print(run(run_now), 0, "ran\n");
}

BOOST_FIXTURE_TEST_CASE(nodes_init_again_succeeds_and_changes_nothing, new_set)
{
    BOOST_TEST(init().status == 0);
    set("lock:x", token_of("web"));
    auto const record = servers[0]->ask({"GET", "lock::=record"});

    must_print(init(), 0, "3 nodes vote already for the prefix lock:\n");
    auto const json = init({"-o", "json"});

    BOOST_TEST(json.status == 0, json.err);
    must_have(json.json(), {{"schema", 1}, {"prefix", "lock:"}, {"founded", false}, {"votes", true}});
    BOOST_TEST(servers[0]->ask({"GET", "lock::=record"}) == record);
}

BOOST_FIXTURE_TEST_CASE(nodes_init_prints_json, new_set)
{
    auto const json = init({"-o", "json"});

    BOOST_TEST(json.status == 0, json.err);
    must_have(json.json(), {{"founded", true}, {"votes", true}});
    must_have(json.json().at("nodes").at(2).as_object(),
              {{"name", servers[2]->url()}, {"votes", true}, {"message", "founded"}});
}

BOOST_FIXTURE_TEST_CASE(nodes_init_of_two_at_once_succeeds, new_set)
{
    auto a = start({"nodes", "init"}), b = start({"nodes", "init"});
    a.read();
    b.read();
    BOOST_TEST(a.wait().code() == 0);
    BOOST_TEST(b.wait().code() == 0);
    must_print(run(run_now), 0, "ran\n");
}

BOOST_FIXTURE_TEST_CASE(nodes_init_with_a_node_away_changes_nothing, new_set)
{
    servers[1]->kill();

    must_say(init({"--connect-timeout", "1s"}), 69, servers[1]->url() + ": no connection to the node",
             servers[0]->url() + ": it is new to this prefix", "nothing was founded. All nodes must answer");
    must_say(run(run_now), 69, "it is new to this prefix");

    servers[1]->start();
    BOOST_TEST(init().status == 0);
    must_print(run(run_now), 0, "ran\n");
}

BOOST_FIXTURE_TEST_CASE(nodes_init_with_a_lock_of_the_prefix_is_refused, new_set)
{
    servers[1]->ask({"SET", "lock:stock", token_of("web"), "PX", "3600000"});

    auto const refused = init({"-o", "json"});

    must_say(refused, 1, servers[1]->url() + ": it has the lock lock:stock", "nothing was founded", "--prefix");
    must_have(refused.json(), {{"founded", false}, {"votes", false}});
    must_say(run(run_now), 69, "it is new to this prefix");
}

BOOST_FIXTURE_TEST_CASE(nodes_init_founds_one_prefix, new_set)
{
    servers[1]->ask({"SET", "lock:stock", token_of("web"), "PX", "3600000"});

    must_print(init({"--prefix", "jobs:"}), 0, "3 nodes are founded, and vote from now on, for the prefix jobs:\n");

    auto with_prefix = run_now;
    with_prefix.insert(with_prefix.begin(), {"--prefix", "jobs:"});
    must_print(run(with_prefix), 0, "ran\n");
    must_say(run(run_now), 69, "it is new to this prefix");
}

BOOST_FIXTURE_TEST_CASE(nodes_init_with_a_new_node_in_an_old_set_is_refused, new_set)
{
    BOOST_TEST(init().status == 0);
    servers[2]->ask({"FLUSHALL"});

    must_say(init(), 1, servers[0]->url() + ": it votes already: it has a record of its memory",
             servers[2]->url() + ": it is new to this prefix", "nothing was founded. The set is not new");

    must_print(run(run_now), 0, "ran\n");  // the others are a majority
}

BOOST_AUTO_TEST_CASE(nodes_init_of_restarted_servers_is_refused)
{
    tool t(3, {"--appendonly", "yes", "--appendfsync", "everysec"});
    BOOST_TEST(t.run({"nodes", "init"}).status == 0);
    for (auto const& s : t.servers) {
        s->ask({"BGREWRITEAOF"});
        s->kill();
        s->start();
    }

    must_say(t.run(run_now), 69, "it has restarted or lost keys");
    must_say(t.run({"nodes", "init"}), 1, "it has restarted or lost keys", "nothing was founded");
}

BOOST_FIXTURE_TEST_CASE(nodes_init_without_rights_names_the_right_and_the_way_out, new_set)
{
    ask({"ACL", "SETUSER", "app", "on", ">pw", "~*", "&*", "+@all", "-@dangerous"});
    std::vector<std::string> named;
    for (auto const& s : servers)
        named.push_back("redis://app:pw@127.0.0.1:" + std::to_string(s->port()));

    std::vector<std::string> const as_app{"REDLOCK_URLS=" + one_of(named)};
    auto const e = run({"nodes", "init"}, as_app);

    must_say(e, 77, "info", "redlock acl", "nothing was founded");
    auto const refused = run({"run", "-n", "x", "true"}, as_app);
    must_say(refused, 77, "info", "redlock acl");
}

BOOST_FIXTURE_TEST_CASE(nodes_init_with_options_of_move_is_refused, new_set)
{
    must_say(init({"--from", "redis://a"}), 64, "are options of move");
    must_say(run({"nodes", "init"}, {"REDLOCK_URLS="}), 78, "no lock server is named");
}

BOOST_AUTO_TEST_SUITE_END()
