#include "core/quarantine.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <optional>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(quarantine)

namespace {

constexpr clock::time_point now{1000h};
constexpr auto votes = clock::time_point::min();

server_identity restarted(std::chrono::milliseconds for_ms)
{
    return {.durable = false, .restarted = true, .began = now - for_ms};
}
server_identity fresh(std::chrono::milliseconds for_ms)
{
    return {.durable = false, .fresh = true, .began = now - for_ms};
}
server_identity founded(std::chrono::milliseconds for_ms = 0ms)
{
    return {.durable = false, .founded = true, .began = now - for_ms};
}

auto until(server_identity const& s, restart_guard guard = restart_guard::strict)
{
    return core::quarantined_until(s, guard, 60s, now);
}

}  // namespace

BOOST_AUTO_TEST_CASE(quarantined_until_of_an_old_word_is_over)
{
    for (auto const guard : {restart_guard::automatic, restart_guard::strict, restart_guard::off}) {
        BOOST_TEST((until({}, guard) == votes));
        BOOST_TEST((until(founded(), guard) == votes));
        BOOST_TEST((until(restarted(60s), guard) == votes));
        BOOST_TEST((until(fresh(60s), guard) == votes));
    }
}

BOOST_AUTO_TEST_CASE(quarantined_until_of_a_young_word_is_the_end_of_max_ttl)
{
    for (auto const guard : {restart_guard::automatic, restart_guard::strict}) {
        BOOST_TEST((until(restarted(10s), guard) == now + 50s));
        BOOST_TEST((until(restarted(59'999ms), guard) == now + 1ms));
        BOOST_TEST((until(fresh(0s), guard) == now + 60s));
    }
    BOOST_TEST((until(restarted(10s), restart_guard::off) == votes));
}

BOOST_AUTO_TEST_CASE(quarantined_until_with_the_log_off_is_the_end_of_the_signature)
{
    auto old = restarted(2min);
    old.waits_until = now + 7s;
    BOOST_TEST((until(old) == now + 7s));
    BOOST_TEST((until(old, restart_guard::off) == votes));
    auto set = founded();
    set.waits_until = now + 7s;
    BOOST_TEST((until(set) == now + 7s));
    set.waits_until = now - 1s;
    BOOST_TEST((until(set) == votes));
}

BOOST_AUTO_TEST_CASE(is_new_of_a_fresh_record_ends_when_it_votes)
{
    BOOST_TEST(core::is_new(fresh(0s), 60s, now));
    BOOST_TEST(core::is_new(fresh(59s), 60s, now));
    BOOST_TEST(!core::is_new(fresh(60s), 60s, now));
    BOOST_TEST(!core::is_new(restarted(1s), 60s, now));
    BOOST_TEST(!core::is_new(founded(), 60s, now));
    BOOST_TEST(!core::is_new({}, 60s, now));
}

namespace {

/// When the fresh servers of the set must be told that it is old, from now on.
std::optional<clock::duration> known_after(std::vector<server_identity> const& servers)
{
    auto const at = core::old_set().known_at(servers, 60s, now);
    return at == clock::time_point::max() ? std::nullopt : std::optional(at - now);
}

auto const never = std::optional<clock::duration>(), at_once = std::optional<clock::duration>(0s);

}  // namespace

BOOST_AUTO_TEST_CASE(old_set_without_a_used_server_is_never_known)
{
    BOOST_TEST((known_after({fresh(1s), fresh(30s), {}}) == never));  // a server that never forgets has no record
    BOOST_TEST((known_after({founded(), restarted(1s)}) == never));   // nobody must be told
}

BOOST_AUTO_TEST_CASE(old_set_with_a_server_that_cannot_be_under_foundation_is_known_at_once)
{
    BOOST_TEST((known_after({fresh(1s), restarted(1s)}) == at_once));
    BOOST_TEST((known_after({fresh(1s), fresh(60s)}) == at_once));
    BOOST_TEST((known_after({fresh(1s), founded(62s)}) == at_once));
    auto replaced = fresh(0s);
    replaced.restarted = true;
    BOOST_TEST((known_after({replaced}) == at_once));
}

BOOST_AUTO_TEST_CASE(old_set_with_a_server_that_was_just_founded_is_known_later)
{
    core::old_set set;
    std::vector const servers{fresh(1s), founded(61s)};
    BOOST_TEST((set.known_at(servers, 60s, now) == now + 2s));
    BOOST_TEST((set.known_at(servers, 60s, now + 500ms) == now + 2s));
    BOOST_TEST((set.known_at({founded(1s)}, 60s, now + 600ms) == clock::time_point::max()));
    BOOST_TEST((set.known_at({fresh(1s), founded(2s)}, 60s, now + 1s) == now + 3s));
}

BOOST_AUTO_TEST_SUITE_END()
