#include "runtime/task.hpp"
#include "support/instance_counter.hpp"

#include <boost/test/unit_test.hpp>

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

using namespace redlock::runtime;
using redlock::test::instance_counter;

BOOST_AUTO_TEST_SUITE(coroutine_tasks)

namespace {

struct outcome {
    int calls = 0;
    int result = 0;
    std::string failure;
};

template <class T>
void start(redlock::runtime::task<T> steps, outcome& to)
{
    redlock::runtime::begin(std::move(steps), [&to](std::exception_ptr failure, T result) {
        ++to.calls;
        to.result = static_cast<int>(result);
        try {
            if (failure)
                std::rethrow_exception(failure);
        } catch (std::exception const& e) {
            to.failure = e.what();
        }
    });
}

auto wait_in(redlock::runtime::suspended& place)
{
    return redlock::runtime::suspend_into(place, [] {});
}

redlock::runtime::task<int> constant(int value) { co_return value; }

redlock::runtime::task<int> waits(redlock::runtime::suspended& place, int value)
{
    co_await wait_in(place);
    co_return value;
}

redlock::runtime::task<void> throws_after_a_wait(redlock::runtime::suspended& place)
{
    co_await wait_in(place);
    throw std::runtime_error("thrown");
}

// A place to suspend in, and the outcome of the task.
struct waiting_place {
    int alive = 0;
    outcome o;
    redlock::runtime::suspended place;
};

// `depth` tasks that await each other. Each has a local variable and a parameter to destroy.
task<int> nested(redlock::runtime::suspended& place, int depth, instance_counter parameter)
{
    instance_counter const local(*parameter.alive);
    if (depth > 0) {
        auto const below = co_await nested(place, depth - 1, instance_counter(parameter));
        co_return below + 1;
    }
    co_await wait_in(place);
    co_return 1;
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(task_without_a_suspension_ends_immediately, waiting_place)
{
    start(constant(7), o);

    BOOST_TEST(o.calls == 1);
    BOOST_TEST(o.result == 7);
    BOOST_TEST(o.failure == "");
}

BOOST_FIXTURE_TEST_CASE(task_begins_when_it_is_awaited, waiting_place)
{
    bool begun = false;
    auto const body = [](bool& b) -> task<int> {
        b = true;
        co_return 1;
    };
    auto steps = body(begun);
    BOOST_TEST(!begun);

    start(std::move(steps), o);

    BOOST_TEST(begun);
    BOOST_TEST(o.calls == 1);
}

BOOST_FIXTURE_TEST_CASE(task_that_never_starts_destroys_its_parameters, waiting_place)
{
    {
        auto const never = nested(place, 0, instance_counter(alive));
        BOOST_TEST(alive == 1);
    }
    BOOST_TEST(alive == 0);

    {
        auto first = nested(place, 0, instance_counter(alive));
        auto const second = std::move(first);
        BOOST_TEST(alive == 1);
    }
    BOOST_TEST(alive == 0);
}

BOOST_FIXTURE_TEST_CASE(resume_continues_the_task, waiting_place)
{
    start(waits(place, 5), o);
    BOOST_TEST(static_cast<bool>(place));
    BOOST_TEST(o.calls == 0);

    std::move(place).resume();

    BOOST_TEST(!place);
    BOOST_TEST(o.calls == 1);
    BOOST_TEST(o.result == 5);
}

BOOST_FIXTURE_TEST_CASE(resume_of_nested_tasks_passes_the_results_on, waiting_place)
{
    start(nested(place, 50, instance_counter(alive)), o);
    BOOST_TEST(alive >= 2 * 51);

    std::move(place).resume();

    BOOST_TEST(o.result == 51);
    BOOST_TEST(alive == 0);
}

BOOST_FIXTURE_TEST_CASE(task_with_a_move_only_result_returns_it, waiting_place)
{
    auto const make = [](int n) -> task<std::unique_ptr<int>> { co_return std::make_unique<int>(n); };
    auto const steps = [](auto m) -> task<int> {
        auto const p = co_await m(3);
        co_return *p;
    };

    start(steps(make), o);

    BOOST_TEST(o.result == 3);
}

BOOST_FIXTURE_TEST_CASE(suspend_into_the_same_place_works_many_times, waiting_place)
{
    auto const steps = [](redlock::runtime::suspended& p) -> task<int> {
        int sum = 0;
        for (int i = 0; i < 10; ++i)
            sum += co_await waits(p, i);
        co_return sum;
    };
    start(steps(place), o);

    int resumed = 0;
    for (; place; ++resumed)
        std::move(place).resume();

    BOOST_TEST(resumed == 10);
    BOOST_TEST(o.result == 45);
}

BOOST_FIXTURE_TEST_CASE(task_that_throws_passes_the_exception_to_the_awaiting_task, waiting_place)
{
    auto const steps = [](redlock::runtime::suspended& p) -> task<int> {
        try {
            co_await throws_after_a_wait(p);
        } catch (std::runtime_error const&) {
            co_return 1;
        }
        co_return 2;
    };
    start(steps(place), o);

    std::move(place).resume();

    BOOST_TEST(o.result == 1);
    BOOST_TEST(o.failure == "");
}

BOOST_FIXTURE_TEST_CASE(begin_with_an_uncaught_exception_completes_with_it, waiting_place)
{
    auto const steps = [](redlock::runtime::suspended& p, instance_counter) -> task<int> {
        co_await throws_after_a_wait(p);
        co_return 2;
    };
    start(steps(place, instance_counter(alive)), o);

    std::move(place).resume();

    BOOST_TEST(o.calls == 1);
    BOOST_TEST(o.failure == "thrown");
    BOOST_TEST(alive == 0);
}

BOOST_FIXTURE_TEST_CASE(destroy_of_a_suspended_chain_destroys_each_task_once, waiting_place)
{
    {
        redlock::runtime::suspended inner;
        start(nested(inner, 20, instance_counter(alive)), o);
        BOOST_TEST(alive >= 2 * 21);
    }
    BOOST_TEST(alive == 0);

    start(nested(place, 20, instance_counter(alive)), o);
    place.destroy();
    BOOST_TEST(alive == 0);
    BOOST_TEST(!place);
    place.destroy();

    BOOST_TEST(o.calls == 0);
}

BOOST_FIXTURE_TEST_CASE(destroy_of_a_suspended_chain_destroys_the_completion_handler, waiting_place)
{
    redlock::runtime::begin(waits(place, 1), [w = instance_counter(alive)](std::exception_ptr, int) {});
    BOOST_TEST(alive == 1);

    place.destroy();

    BOOST_TEST(alive == 0);
}

BOOST_FIXTURE_TEST_CASE(suspended_can_be_moved, waiting_place)
{
    start(waits(place, 1), o);

    auto elsewhere = std::move(place);
    BOOST_TEST(!place);
    place.destroy();
    BOOST_TEST(o.calls == 0);
    std::move(elsewhere).resume();

    BOOST_TEST(o.calls == 1);
}

BOOST_FIXTURE_TEST_CASE(suspended_may_belong_to_the_task_that_waits_in_it, waiting_place)
{
    struct owner {
        explicit owner(int& count) : w(count) {}
        instance_counter w;
        redlock::runtime::suspended place;
    };
    auto const steps = [](std::shared_ptr<owner> self) -> task<int> {
        co_await wait_in(self->place);
        co_return 1;
    };
    auto first = std::make_shared<owner>(alive), second = std::make_shared<owner>(alive);
    std::weak_ptr const weak = first;
    start(steps(std::exchange(first, {})), o);
    start(steps(second), o);
    auto* const last = std::exchange(second, {}).get();
    BOOST_TEST(alive == 2);

    weak.lock()->place.destroy();
    BOOST_TEST(alive == 1);
    std::move(last->place).resume();

    BOOST_TEST(alive == 0);
    BOOST_TEST(o.calls == 1);
}

BOOST_FIXTURE_TEST_CASE(suspend_into_whose_start_throws_continues_with_the_exception, waiting_place)
{
    outcome caught, uncaught;
    auto const failing = [](redlock::runtime::suspended& p) {
        return redlock::runtime::suspend_into(p, [] { throw std::runtime_error("no start"); });
    };
    auto const catches = [](auto wait, redlock::runtime::suspended& p) -> task<int> {
        try {
            co_await wait(p);
        } catch (std::runtime_error const&) {
            co_return 1;
        }
        co_return 2;
    };
    auto const does_not = [](auto wait, redlock::runtime::suspended& p) -> task<int> {
        co_await wait(p);
        co_return 2;
    };

    start(catches(failing, place), caught);
    BOOST_TEST(!place);
    start(does_not(failing, place), uncaught);

    BOOST_TEST(!place);
    BOOST_TEST(caught.result == 1);
    BOOST_TEST(uncaught.calls == 1);
    BOOST_TEST(uncaught.failure == "no start");
}

BOOST_FIXTURE_TEST_CASE(suspend_into_calls_start_after_it_has_suspended, waiting_place)
{
    bool there = false;
    auto const steps = [](redlock::runtime::suspended& p, bool& t) -> task<int> {
        co_await redlock::runtime::suspend_into(p, [&] { t = static_cast<bool>(p); });
        co_return 1;
    };

    start(steps(place, there), o);

    BOOST_TEST(there);
    std::move(place).resume();
    BOOST_TEST(o.calls == 1);
}

BOOST_AUTO_TEST_CASE(resume_of_a_place_that_the_task_destroys_is_safe)
{
    auto place = std::make_unique<redlock::runtime::suspended>();
    auto const steps = [](std::unique_ptr<redlock::runtime::suspended>& p) -> task<int> {
        co_await wait_in(*p);
        p.reset();
        co_return 1;
    };
    outcome o;
    start(steps(place), o);

    std::move(*place).resume();

    BOOST_TEST(!place);
    BOOST_TEST(o.calls == 1);
}

BOOST_AUTO_TEST_SUITE_END()
