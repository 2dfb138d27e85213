#include "core/estimate.hpp"
#include "core/handovers.hpp"
#include "core/preference.hpp"
#include "core/question.hpp"
#include "core/wait_plan.hpp"

#include <boost/test/unit_test.hpp>

#include <chrono>
#include <cstdint>
#include <vector>

using namespace redlock;
using namespace std::chrono_literals;
using core::question;
using core::question_for;

BOOST_AUTO_TEST_SUITE(waiting_decisions)

namespace {

using time = std::chrono::sys_time<std::chrono::milliseconds>;
using plan = core::wait_plan<time>;
using action = plan::action;

constexpr time t0{100ms};

}  // namespace

// Most acquisitions have no contention, and cost only a SET.
BOOST_AUTO_TEST_CASE(question_without_contention_is_plain) { BOOST_TEST((question_for({}) == question{})); }

BOOST_AUTO_TEST_CASE(question_of_a_hand_over_contends_and_does_not_watch)
{
    BOOST_TEST((question_for({.queued = true}) == question{.contends = true, .more_follow = true}));
    BOOST_TEST(
        (question_for({.queued = true, .others_queue = true}) == question{.contends = true, .more_follow = true}));
}

// After a yield, another manager probably has the lock. Then this manager announces no hand-over unless others queue.
BOOST_AUTO_TEST_CASE(question_after_a_yield_watches)
{
    BOOST_TEST((question_for({.yielded = true}) == question{.contends = true, .watches = true}));
    BOOST_TEST((question_for({.queued = true, .yielded = true}) == question{.contends = true, .watches = true}));
    BOOST_TEST((question_for({.yielded = true, .others_queue = true})
                == question{.contends = true, .more_follow = true, .watches = true}));
}

BOOST_AUTO_TEST_CASE(question_after_a_lost_round_watches)
{
    BOOST_TEST((question_for({.rounds = 1}) == question{.contends = true, .watches = true}));
    BOOST_TEST((question_for({.rounds = 3, .queued = true}) == question{.contends = true, .watches = true}));
    BOOST_TEST((question_for({.rounds = 1, .others_queue = true})
                == question{.contends = true, .more_follow = true, .watches = true}));
}

BOOST_AUTO_TEST_CASE(question_of_a_drawn_acquisition_contends)
{
    BOOST_TEST((question_for({.drawn = true}) == question{.contends = true}));
    BOOST_TEST(question_for({.drawn = true, .others_queue = true}).more_follow);
}

BOOST_AUTO_TEST_CASE(wait_plan_asks_when_the_lock_may_be_free)
{
    plan p(t0, t0 + 1ms, 50ms, t0 + 1h);
    BOOST_TEST((p.next(t0 + 1ms, t0 + 1ms).what == action::ask));
    BOOST_TEST((p.next(t0 + 9ms, t0 + 5ms).what == action::ask));
}

BOOST_AUTO_TEST_CASE(wait_plan_looks_twice_at_late_answers_and_sleeps_otherwise)
{
    plan p(t0, t0 + 2ms, 50ms, t0 + 1h);
    auto const never = time::max();
    BOOST_TEST((p.next(t0 + 2ms, never) == plan::step{action::sleep, t0 + 6ms}));
    BOOST_TEST((p.next(t0 + 6ms, never) == plan::step{action::look, t0 + 6ms}));
    BOOST_TEST((p.next(t0 + 6ms, never) == plan::step{action::sleep, t0 + 50ms}));
    BOOST_TEST((p.next(t0 + 70ms, never) == plan::step{action::look, t0 + 50ms}));  // the process was paused
    BOOST_TEST((p.next(t0 + 70ms, never) == plan::step{action::sleep, t0 + 1h}));
    BOOST_TEST((p.next(t0 + 1h, never).what == action::ask));
}

// A notification changes the estimate.
BOOST_AUTO_TEST_CASE(wait_plan_sleeps_no_longer_than_the_estimate)
{
    plan p(t0, t0 + 2ms, 50ms, t0 + 1h);
    BOOST_TEST((p.next(t0 + 2ms, t0 + 4ms) == plan::step{action::sleep, t0 + 4ms}));
    BOOST_TEST((p.next(t0 + 3ms, t0 + 8ms) == plan::step{action::sleep, t0 + 6ms}));
    BOOST_TEST((p.next(t0 + 4ms, t0 + 4ms).what == action::ask));
}

BOOST_AUTO_TEST_CASE(wait_plan_without_notifications_asks_anyway)
{
    plan p(t0, t0 + 2ms, 50ms, t0 + 20ms);
    BOOST_TEST((p.next(t0 + 10ms, time::max()) == plan::step{action::look, t0 + 6ms}));
    BOOST_TEST((p.next(t0 + 10ms, time::max()) == plan::step{action::sleep, t0 + 20ms}));
    BOOST_TEST((p.next(t0 + 20ms, time::max()).what == action::ask));
}

BOOST_AUTO_TEST_CASE(free_at_is_when_a_quorum_may_be_free)
{
    core::estimate<time> e(5, 3);
    BOOST_TEST((e.free_at() == time::max()));
    e.expect(0, t0 + 9ms);
    e.expect(1, t0 + 1ms);
    BOOST_TEST((e.free_at() == time::max()));
    e.expect(4, t0 + 5ms);
    BOOST_TEST((e.free_at() == t0 + 9ms));
    e.expect(0, t0 + 20ms);  // later than the known time, so ignored
    BOOST_TEST((e.free_at() == t0 + 9ms));
    e.expect(2, t0);
    BOOST_TEST((e.free_at() == t0 + 5ms));
}

BOOST_AUTO_TEST_CASE(free_at_for_any_key_is_when_a_quorum_has_the_same_key_free)
{
    core::estimate<time> e(3, 2, true);
    for (std::size_t node = 0; node < 3; ++node)
        for (std::size_t key = 0; key < 3; ++key)
            e.expect(node, key, t0 + (node == key ? 1ms : 9ms));
    BOOST_TEST((e.free_at() == t0 + 9ms));  // each key is free on one node only
    e.expect(2, 1, t0 + 3ms);
    BOOST_TEST((e.free_at() == t0 + 3ms));
    e.expect(0, t0);  // for all keys of this node
    BOOST_TEST((e.free_at() == t0 + 1ms));
    core::estimate<time> one(3, 2, true);
    one.expect(0, t0 + 2ms);
    one.expect(1, t0 + 5ms);
    BOOST_TEST((one.free_at() == t0 + 5ms));
}

BOOST_AUTO_TEST_CASE(preference_puts_the_last_held_first_and_vain_choices_last)
{
    auto const order = [](core::preference const& p) {
        return std::vector<std::uint32_t>(p.order().begin(), p.order().end());
    };
    core::preference p(4, 10);
    BOOST_TEST(order(p) == (std::vector<std::uint32_t>{2, 3, 0, 1}));
    p.had(0);
    BOOST_TEST(order(p) == (std::vector<std::uint32_t>{0, 2, 3, 1}));
    p.had(1);
    p.had(0);
    BOOST_TEST(order(p) == (std::vector<std::uint32_t>{0, 1, 2, 3}));
    p.chosen_in_vain(1);
    BOOST_TEST(order(p) == (std::vector<std::uint32_t>{0, 2, 3, 1}));
    p.chosen_in_vain(1);
    p.chosen_in_vain(0);
    BOOST_TEST(order(p) == (std::vector<std::uint32_t>{2, 3, 1, 0}));
    BOOST_TEST(order(core::preference(1, 7)) == std::vector<std::uint32_t>{0});
}

BOOST_AUTO_TEST_CASE(handovers_end_with_the_waiting_or_at_the_limit)
{
    core::handovers few(2, 16), many(100, 3), none(0, 16);
    BOOST_TEST(few.next());
    BOOST_TEST(few.next());
    BOOST_TEST(!few.next());
    BOOST_TEST(!few.next());
    for (int i = 0; i < 3; ++i)
        BOOST_TEST(many.next());
    BOOST_TEST(!many.next());
    BOOST_TEST(!none.next());
}

BOOST_AUTO_TEST_SUITE_END()
