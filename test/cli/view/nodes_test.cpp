// redlock nodes move, as a program, on real servers.

#include "cli/view/tool.hpp"

#include <boost/json/value.hpp>

#include <initializer_list>
#include <sstream>

using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(nodes)

namespace {

std::string counter_of(std::string const& name) { return "lock:" + name + ":=fence:{lock:" + name + "}"; }

/// Four servers, and functions for their fencing token counters.
struct fleet : tool {
    fleet() : tool(4) {}

    std::string set_of(std::initializer_list<std::size_t> nodes) const
    {
        std::vector<std::string> all;
        for (auto const n : nodes)
            all.push_back(servers[n]->url());
        return one_of(all);
    }

    void put(std::initializer_list<std::size_t> nodes, std::string const& counter, std::string const& name = "stock")
    {
        for (auto const n : nodes)
            BOOST_TEST_REQUIRE(servers[n]->ask({"ZADD", counter_of(name), counter, "token"}) == "1");
    }

    std::string counter(std::size_t node, std::string const& name = "stock") const
    {
        return servers[node]->ask({"ZSCORE", counter_of(name), "token"});
    }

    tool_run move(std::initializer_list<std::size_t> from, std::initializer_list<std::size_t> to,
                  std::vector<std::string> more = {}) const
    {
        more.insert(more.begin(),
                    {"nodes", "move", "--from", set_of(from), "--to", set_of(to), "--connect-timeout", "3s"});
        return run(more);
    }
};

std::string const none = "(nil)";

}  // namespace

BOOST_FIXTURE_TEST_CASE(nodes_move_raises_every_node_of_the_new_set, fleet)
{
    put({0, 1}, "200");
    put({2}, "100");
    put({1}, "7", "seat");

    auto const o = move({0, 1, 2}, {0, 1, 2, 3});

    BOOST_TEST(o.status == 0, o.err);
    for (std::size_t n = 0; n < 4; ++n) {
        BOOST_TEST(counter(n) == "200");
        BOOST_TEST(counter(n, "seat") == "7");
    }
    BOOST_TEST(has(o.out, "2 counters of lock: are as high on every node of the new set as on the old set"), o.out);
    BOOST_TEST(has(o.err, "no server knows whether a client still names the old set"), o.err);
}

BOOST_FIXTURE_TEST_CASE(nodes_move_never_lowers_a_counter, fleet)
{
    put({0, 1}, "200");
    put({3}, "9007199254740991");

    BOOST_TEST(move({0, 1, 2}, {0, 1, 2, 3}).status == 0);

    BOOST_TEST(counter(2) == "200");
    BOOST_TEST(counter(3) == "9007199254740991");
}

BOOST_FIXTURE_TEST_CASE(nodes_move_does_not_change_nodes_that_leave_the_set, fleet)
{
    put({0}, "100");
    put({1}, "200");

    BOOST_TEST(move({0, 1, 2, 3}, {1, 2, 3}).status == 0);

    BOOST_TEST(counter(0) == "100");
    BOOST_TEST(counter(3) == "200");
}

BOOST_FIXTURE_TEST_CASE(nodes_move_again_raises_counters_that_have_grown, fleet)
{
    put({0}, "200");
    BOOST_TEST(move({0, 1, 2}, {0, 1, 2, 3}).status == 0);
    BOOST_TEST(servers[0]->ask({"ZADD", counter_of("stock"), "300", "token"}) == "0");

    auto const o = move({0, 1, 2}, {0, 1, 2, 3}, {"-o", "json"});

    BOOST_TEST(o.status == 0);
    for (std::size_t n = 0; n < 4; ++n) {
        BOOST_TEST(counter(n) == "300");
        BOOST_TEST(o.json().at("nodes").at(n).at("raised") == (n == 0 ? 0 : 1));
    }
    BOOST_TEST(move({0, 1, 2}, {0, 1, 2, 3}, {"--dry-run"}).status == 0);
}

BOOST_FIXTURE_TEST_CASE(nodes_move_dry_run_counts_lower_counters_and_raises_none, fleet)
{
    put({0, 1}, "200");

    auto const o = move({0, 1, 2}, {0, 1, 2, 3}, {"--dry-run", "-o", "json"});
    auto const table = move({0, 1, 2}, {0, 1, 2, 3}, {"--dry-run"});

    BOOST_TEST(o.status == 1);
    must_have(o.json(), {{"schema", 1}, {"counters", 1}, {"dry_run", true}, {"complete", true}});
    BOOST_TEST(o.json().at("nodes").at(1).at("lower") == 0);
    BOOST_TEST(o.json().at("nodes").at(3).at("lower") == 1);
    BOOST_TEST(o.json().at("nodes").at(3).at("set") == "new");
    BOOST_TEST(has(table.out, "some are lower on a node of the new set"), table.out);
    BOOST_TEST(counter(2) == none);
    BOOST_TEST(counter(3) == none);
}

BOOST_FIXTURE_TEST_CASE(nodes_move_of_two_nodes_is_refused_unless_clients_are_stopped, fleet)
{
    put({0, 1}, "200");

    auto const refused = move({0, 1, 2}, {1, 2, 3});
    must_say(refused, 64, "Taken away: " + servers[0]->url(), "Added: " + servers[3]->url(), "--stopped");
    BOOST_TEST(counter(3) == none);

    auto const stopped = move({0, 1, 2}, {1, 2, 3}, {"--stopped"});
    must_say(stopped, 0, "no server knows whether all clients are stopped");
    BOOST_TEST(counter(2) == "200");
    BOOST_TEST(counter(3) == "200");
}

BOOST_FIXTURE_TEST_CASE(nodes_move_without_a_majority_of_the_old_set_raises_nothing, fleet)
{
    put({0}, "200");
    servers[1]->kill();
    servers[2]->kill();

    auto const o = move({0, 1, 2}, {0, 3}, {"--stopped"});

    must_say(o, 69, servers[1]->url() + ": ", servers[2]->url() + ": ", "A majority of the old set must answer");
    BOOST_TEST(counter(3) == none);
}

BOOST_FIXTURE_TEST_CASE(nodes_move_with_a_minority_of_the_old_set_down_succeeds, fleet)
{
    put({1, 2}, "200");
    servers[0]->kill();

    must_say(move({0, 1, 2}, {1, 2}), 0, servers[0]->url() + ": ", "a majority of the old set has answered");
}

BOOST_FIXTURE_TEST_CASE(nodes_move_with_a_new_node_down_raises_nothing, fleet)
{
    put({0, 1}, "200");
    servers[3]->kill();

    auto const o = move({0, 1, 2}, {0, 1, 2, 3}, {"-o", "json"});

    must_say(o, 69, "Every node of the new set must answer");
    BOOST_TEST(o.json().at("complete") == false);
    BOOST_TEST(o.json().at("nodes").at(3).as_object().contains("error"));
    BOOST_TEST(counter(2) == none);
}

BOOST_FIXTURE_TEST_CASE(nodes_move_with_another_prefix_is_refused, fleet)
{
    put({0}, "200");

    auto const o = move({0, 1, 2}, {0, 1, 2, 3}, {"--prefix", "jobs:"});

    must_say(o, 78, "No counter begins with \"jobs:\"", counter_of("stock"));
    BOOST_TEST(counter(3) == none);
}

BOOST_FIXTURE_TEST_CASE(nodes_move_reports_counters_with_other_prefixes, fleet)
{
    put({0}, "200");
    BOOST_TEST(servers[1]->ask({"ZADD", "jobs:x:=fence:{jobs:x}", "5", "token"}) == "1");

    must_say(move({0, 1, 2}, {0, 1, 2, 3}), 0, "jobs:x:=fence:{jobs:x}");
    BOOST_TEST(servers[3]->ask({"EXISTS", "jobs:x:=fence:{jobs:x}"}) == "0");
}

BOOST_FIXTURE_TEST_CASE(nodes_move_without_any_counter_succeeds, fleet)
{
    must_show(move({0, 1, 2}, {0, 1, 2, 3}), 0, "0 counters");
}

BOOST_FIXTURE_TEST_CASE(nodes_move_with_a_key_that_is_no_counter_names_it, fleet)
{
    put({0}, "200");
    BOOST_TEST(servers[3]->ask({"SET", counter_of("stock"), "no counter"}) == "OK");

    must_say(move({0, 1, 2}, {0, 1, 2, 3}), 69, servers[3]->url() + ": WRONGTYPE", counter_of("stock"));
}

BOOST_FIXTURE_TEST_CASE(nodes_move_to_a_replica_names_it, fleet)
{
    put({0}, "200");
    BOOST_TEST(servers[3]->ask({"REPLICAOF", "127.0.0.1", std::to_string(servers[1]->port())}) == "OK");

    must_say(move({0, 1, 2}, {0, 1, 2, 3}), 69, servers[3]->url() + ": READONLY");
}

BOOST_FIXTURE_TEST_CASE(nodes_move_with_a_counter_that_is_no_token_names_it, fleet)
{
    put({0}, "1.5");

    must_say(move({0}, {0, 1}), 69, counter_of("stock") + " is 1.5, which is no token");
    BOOST_TEST(counter(1) == none);
}

BOOST_FIXTURE_TEST_CASE(nodes_move_as_a_user_of_acl_move_needs_nothing_else, fleet)
{
    put({0}, "200");
    std::istringstream line(run({"acl", "--move"}).out);
    std::vector<std::string> rule{std::istream_iterator<std::string>(line), {}};
    std::ranges::replace(rule, std::string(">PASSWORD"), std::string(">pw"));
    std::vector<std::string> urls;
    for (auto const& s : servers) {
        BOOST_TEST(s->ask(rule) == "OK");
        urls.push_back("redis://redlock@127.0.0.1:" + std::to_string(s->port()));
    }
    redlock::testbed::temporary_folder const folder;
    std::ofstream(folder.path + "/password") << "pw\n";
    std::vector<std::string> const words{"nodes", "move",       "--from",          one_of({urls[0], urls[1], urls[2]}),
                                         "--to",  one_of(urls), "--password-file", folder.path + "/password"};

    auto const o = run(words);
    BOOST_TEST(o.status == 0, o.err);
    BOOST_TEST(counter(3) == "200");

    for (auto const* const command : {"-zscore", "-scan", "-zadd"}) {
        put({0}, "1", command);
        BOOST_TEST(servers[0]->ask({"ACL", "SETUSER", "redlock", command}) == "OK");
        servers[1]->ask({"ACL", "SETUSER", "redlock", command});
        BOOST_TEST(run(words).status == 77, command);
        for (std::size_t n : {0u, 1u})
            servers[n]->ask({"ACL", "SETUSER", "redlock", std::string("+") + (command + 1)});
    }
}

BOOST_FIXTURE_TEST_CASE(nodes_move_of_many_counters_prints_its_progress, fleet)
{
    constexpr int many = 60'000, portion = 5000;
    for (int begin = 0; begin < many; begin += portion)
        BOOST_TEST_REQUIRE(servers[0]->ask({"EVAL",
                                            "for i = ARGV[1] + 1, ARGV[1] + ARGV[2] do redis.call('ZADD', 'lock:' .. "
                                            "math.floor(i) .. ':=fence', 1795000000000000 + i, 'token') end "
                                            "return 1",
                                            "0", std::to_string(begin), std::to_string(portion)})
                           == "1");

    auto const o = move({0}, {0, 1});

    must_say(o, 0, " counters so far\n");
    BOOST_TEST(has(o.out, "60000 counters"), o.out);
    BOOST_TEST(servers[1]->ask({"DBSIZE"}) == "60000");
    BOOST_TEST(servers[1]->ask({"ZSCORE", "lock:60000:=fence", "token"}) == "1795000000060000");
}

BOOST_FIXTURE_TEST_CASE(nodes_move_without_both_sets_is_refused, fleet)
{
    BOOST_TEST(run({"nodes"}).status == 64);
    BOOST_TEST(run({"nodes", "copy"}).status == 64);
    BOOST_TEST(run({"nodes", "move", "--from", urls}).status == 64);
    BOOST_TEST(run({"nodes", "move", "--to", urls}).status == 64);
    BOOST_TEST(move({0, 0}, {0, 1}).status == 78);
    BOOST_TEST(run({"nodes", "move", "--from", "memory://a", "--to", urls}).status == 78);
}

BOOST_AUTO_TEST_SUITE_END()
