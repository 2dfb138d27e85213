#include "core/quarantine.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(quarantine)

namespace {

using time_point = std::chrono::steady_clock::time_point;
using age = core::node_age<time_point>;

constexpr time_point now{1000h};
constexpr auto votes = time_point::min();

age unknown() { return {}; }
age old() { return {.known = true, .began = now - 2min}; }
age young(std::chrono::milliseconds for_ms = 10s) { return {.known = true, .began = now - for_ms}; }
age restarted(std::chrono::milliseconds for_ms = 10s)
{
    return {.known = true, .restarted = true, .began = now - for_ms};
}
age durable() { return {.known = true, .durable = true, .began = now}; }

time_point until(std::vector<age> const& nodes, std::size_t i, restart_guard guard = restart_guard::automatic)
{
    return core::quarantined_until<time_point>(nodes, i, guard, 60s, now);
}

}  // namespace

BOOST_AUTO_TEST_CASE(quarantined_until_for_old_and_durable_nodes_is_over)
{
    for (auto const guard : {restart_guard::automatic, restart_guard::strict, restart_guard::off}) {
        BOOST_TEST((until({old(), old(), old()}, 1, guard) == votes));
        BOOST_TEST((until({durable(), old(), old()}, 0, guard) == votes));
        BOOST_TEST((until({restarted(60s), old(), old()}, 0, guard) == votes));
    }
}

BOOST_AUTO_TEST_CASE(quarantined_until_of_a_young_node_among_old_ones_is_the_end_of_max_ttl)
{
    BOOST_TEST((until({young(), old(), old()}, 0) == now + 50s));
    BOOST_TEST((until({young(), young(), old(), old(), old()}, 0) == now + 50s));
    BOOST_TEST((until({young(59'999ms), old(), old()}, 0) == now + 1ms));
}

BOOST_AUTO_TEST_CASE(quarantined_until_in_a_young_set_is_over)
{
    BOOST_TEST((until({young(), young(), young()}, 2) == votes));
    BOOST_TEST((until({young(), young(), unknown()}, 0) == votes));
    BOOST_TEST((until({young()}, 0) == votes));
}

BOOST_AUTO_TEST_CASE(quarantined_until_with_an_old_node_is_the_end_of_max_ttl)
{
    BOOST_TEST((until({young(), young(), old()}, 0) == now + 50s));
    BOOST_TEST((until({young(), young(), durable()}, 1) == now + 50s));
    BOOST_TEST((until({young(), young(), young(), young(), old()}, 3) == now + 50s));
    BOOST_TEST((until({young(), young(), restarted(60s)}, 0) == now + 50s));
    BOOST_TEST((until({young(), young(), old()}, 2) == votes));
}

BOOST_AUTO_TEST_CASE(quarantined_until_without_a_known_young_majority_is_the_end_of_max_ttl)
{
    BOOST_TEST((until({young(), unknown(), unknown()}, 0) == now + 50s));
    BOOST_TEST((until({young(), young(), unknown()}, 0) == votes));
    BOOST_TEST((until({young(), young(), unknown(), unknown(), unknown()}, 0) == now + 50s));
    BOOST_TEST((until({young(), old()}, 0) == now + 50s));
}

BOOST_AUTO_TEST_CASE(quarantined_until_for_a_restarted_node_is_the_end_of_max_ttl)
{
    BOOST_TEST((until({restarted(), young(), young()}, 0) == now + 50s));
    BOOST_TEST((until({restarted()}, 0) == now + 50s));
    // A restarted node does not make the set look newly started, either.
    BOOST_TEST((until({restarted(), young(), old()}, 1) == now + 50s));
}

BOOST_AUTO_TEST_CASE(quarantined_until_beside_a_restarted_node_is_the_end_of_max_ttl)
{
    BOOST_TEST((until({young(), young(), restarted()}, 0) == now + 50s));
    BOOST_TEST((until({young(), young(), young(), restarted(), unknown()}, 1) == now + 50s));
}

BOOST_AUTO_TEST_CASE(quarantined_until_beside_a_new_durable_node_is_the_end_of_max_ttl)
{
    BOOST_TEST((until({young(), durable(), old()}, 0) == now + 50s));
}

BOOST_AUTO_TEST_CASE(quarantined_until_with_strict_guard_trusts_no_young_node)
{
    BOOST_TEST((until({young(), young(), young()}, 0, restart_guard::strict) == now + 50s));
    BOOST_TEST((until({young(), young(), young()}, 0, restart_guard::off) == votes));
    BOOST_TEST((until({restarted(), old(), old()}, 0, restart_guard::off) == votes));
}

BOOST_AUTO_TEST_SUITE_END()
