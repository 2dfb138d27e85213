#include "core/quarantine.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>

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
server_identity fresh(std::chrono::milliseconds for_ms) { return {.durable = false, .began = now - for_ms}; }
server_identity founded() { return {.durable = false}; }

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

BOOST_AUTO_TEST_SUITE_END()
