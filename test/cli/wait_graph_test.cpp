#include "tools/redlock/locks/wait_graph.hpp"

#include <boost/test/unit_test.hpp>

#include <random>
#include <set>
#include <string>
#include <utility>
#include <vector>

using namespace redlock;
using namespace redlock::cli;

BOOST_AUTO_TEST_SUITE(wait_graphs)

namespace {

using labels = std::vector<std::string>;

lock_info lock_of(std::string name, labels const& holders, labels const& waiters, mode m = mode::exclusive)
{
    lock_info l{.resource = std::move(name), .locked = true, .mode = m};
    l.nodes.resize(3);
    if (m == mode::exclusive)
        l.owner = holders.front();
    for (auto const& h : holders) {
        if (m == mode::shared)
            l.readers.push_back({.owner = h, .nodes = 3});
    }
    for (auto const& w : waiters)
        l.waiters.push_back({.owner = w});
    return l;
}

wait_graph graph_of(std::vector<lock_info> const& locks)
{
    wait_graph g;
    for (auto const& l : locks)
        g.add(l);
    return g;
}

}  // namespace

BOOST_AUTO_TEST_CASE(cycles_of_two_processes_that_wait_for_each_other_is_one)
{
    auto const g = graph_of({lock_of("x", {"b:2"}, {"a:1", "c:3"}), lock_of("y", {"a:1"}, {"b:2"})});
    BOOST_TEST(g.waits().size() == 3u);
    BOOST_TEST_REQUIRE(g.cycles().size() == 1u);
    BOOST_TEST(text_of(g.cycles().front())
               == R"(a:1 waits for "x", which b:2 holds; b:2 waits for "y", which a:1 holds)");
}

BOOST_AUTO_TEST_CASE(cycles_of_three_processes_behind_another_one_has_only_the_three)
{
    auto const g = graph_of({lock_of("w", {"b"}, {"a"}), lock_of("x", {"c"}, {"b"}), lock_of("y", {"d"}, {"c"}),
                             lock_of("z", {"b"}, {"d", "e"})});
    BOOST_TEST_REQUIRE(g.cycles().size() == 1u);
    BOOST_TEST(text_of(g.cycles().front())
               == R"(b waits for "x", which c holds; c waits for "y", which d holds; d waits for "z", which b holds)");
}

BOOST_AUTO_TEST_CASE(cycles_of_processes_without_a_cycle_is_none)
{
    BOOST_TEST(graph_of({}).cycles().empty());
    BOOST_TEST(graph_of({lock_of("x", {"b"}, {"a"}), lock_of("y", {"c"}, {"a", "b"})}).cycles().empty());
    BOOST_TEST(graph_of({lock_of("x", {"a"}, {"a"})}).waits().empty());  // two tasks of one process
    BOOST_TEST(graph_of({lock_of("x", {""}, {"a"}), lock_of("y", {"a"}, {""})}).waits().empty());
}

BOOST_AUTO_TEST_CASE(cycles_of_two_readers_that_wait_for_an_upgrade_is_one)
{
    BOOST_TEST(graph_of({lock_of("x", {"a", "b"}, {"a", "b"}, mode::shared)}).cycles().size() == 1u);
}

BOOST_AUTO_TEST_CASE(cycles_with_a_reader_that_waits_for_readers_is_none)
{
    auto shared = lock_of("x", {"b"}, {"a"}, mode::shared);
    shared.waiters.front().shares = true;  // it waits for a writer that waits
    BOOST_TEST(graph_of({shared, lock_of("y", {"a"}, {"b"})}).cycles().empty());
}

BOOST_AUTO_TEST_CASE(cycles_of_a_lock_without_a_majority_is_none)
{
    auto free = lock_of("x", {"b"}, {"a"});
    free.locked = false;
    auto shared = lock_of("x", {"b"}, {"a"}, mode::shared);
    shared.readers.front().nodes = 1;
    auto const other = lock_of("y", {"a"}, {"b"});
    BOOST_TEST(graph_of({free, other}).cycles().empty());
    BOOST_TEST(graph_of({shared, other}).cycles().empty());
}

BOOST_AUTO_TEST_CASE(cycles_of_random_waits_is_empty_only_without_a_cycle)
{
    std::minstd_rand random(1);
    for (int i = 0; i < 2000; ++i) {
        std::vector<lock_info> locks;
        std::set<std::pair<int, int>> reaches;
        for (int edge = 0; edge < 6; ++edge) {
            int const from = static_cast<int>(random() % 5), to = static_cast<int>(random() % 5);
            locks.push_back(lock_of(std::to_string(edge), {std::to_string(to)}, {std::to_string(from)}));
            if (from != to)
                reaches.emplace(from, to);
        }
        for (int k = 0; k < 5; ++k) {
            for (int from = 0; from < 5; ++from) {
                for (int to = 0; to < 5; ++to) {
                    if (reaches.contains({from, k}) && reaches.contains({k, to}))
                        reaches.emplace(from, to);
                }
            }
        }
        bool has_cycle = false;
        for (int process = 0; process < 5; ++process)
            has_cycle = has_cycle || reaches.contains({process, process});
        auto const found = graph_of(locks).cycles();
        BOOST_TEST_REQUIRE(found.empty() == !has_cycle);
        for (auto const& cycle : found) {
            for (std::size_t w = 0; w < cycle.size(); ++w)
                BOOST_TEST_REQUIRE(cycle[w].holder == cycle[(w + 1) % cycle.size()].waiter);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
