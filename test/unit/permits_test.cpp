// Shows why no semaphore counts permits on nodes; see docs/family.md.

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <tuple>
#include <vector>

BOOST_AUTO_TEST_SUITE(permits)

namespace {

// The largest number of holders, if each has @p quorum nodes and each node gives @p permits. Tries all combinations.
std::size_t most_holders(std::vector<std::size_t>& taken, std::size_t quorum, std::size_t permits, unsigned from = 0)
{
    std::size_t most = 0;
    auto const nodes = taken.size();
    for (unsigned set = from; set < 1u << nodes; ++set) {
        auto const all = [&](auto what) {
            for (std::size_t i = 0; i < nodes; ++i) {
                if (set >> i & 1u && !what(i))
                    return false;
            }
            return true;
        };
        if (static_cast<std::size_t>(std::popcount(set)) != quorum || !all([&](auto i) { return taken[i] < permits; }))
            continue;
        all([&](auto i) { return ++taken[i] > 0; });
        most = std::max(most, 1 + most_holders(taken, quorum, permits, set));
        all([&](auto i) { return --taken[i] < permits; });
    }
    return most;
}

}  // namespace

BOOST_AUTO_TEST_CASE(most_holders_counted_on_quorums_exceeds_the_permits)
{
    for (auto const& [nodes, quorum, holders] : {std::tuple(3u, 2u, std::vector<std::size_t>{1, 3, 4, 6}),
                                                 std::tuple(5u, 3u, std::vector<std::size_t>{1, 3, 5})}) {
        for (std::size_t permits = 1; permits <= holders.size(); ++permits) {
            std::vector<std::size_t> taken(nodes);
            BOOST_TEST(most_holders(taken, quorum, permits) == holders[permits - 1]);
            BOOST_TEST(holders[permits - 1] == nodes * permits / quorum);
        }
    }
}

BOOST_AUTO_TEST_SUITE_END()
