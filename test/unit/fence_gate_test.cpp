#include <redlock/fence_gate.hpp>

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <stdexcept>
#include <string>
#include <thread>
#include <type_traits>
#include <vector>

using redlock::fence_gate;

BOOST_AUTO_TEST_SUITE(fence_gates)

namespace {

bool works(fence_gate& gate, std::uint64_t token)
{
    bool called = false;
    bool const told = gate.run(token, [&] { called = true; });
    BOOST_TEST(told == called);
    return called;
}

}  // namespace

BOOST_AUTO_TEST_CASE(enter_and_run_with_an_older_token_are_refused)
{
    fence_gate gate;
    BOOST_TEST(gate.enter(7));
    BOOST_TEST(gate.enter(9));

    BOOST_TEST(!gate.enter(8));
    BOOST_TEST(!gate.enter(7));
    BOOST_TEST(!works(gate, 7));
    BOOST_TEST(!works(gate, 8));
    BOOST_TEST(works(gate, 9));
    BOOST_TEST(gate.highest() == 9u);
}

BOOST_AUTO_TEST_CASE(enter_and_run_with_the_same_token_succeed_again)
{
    fence_gate gate;

    for (int i = 0; i < 3; ++i) {
        BOOST_TEST(gate.enter(7));
        BOOST_TEST(works(gate, 7));
        BOOST_TEST(works(gate, 7));
    }
}

BOOST_AUTO_TEST_CASE(enter_compares_all_64_bits)
{
    fence_gate gate;
    auto const greatest = std::numeric_limits<std::uint64_t>::max();

    BOOST_TEST(gate.enter(1));
    BOOST_TEST(gate.enter((std::uint64_t(1) << 53) - 1));
    BOOST_TEST(!gate.enter((std::uint64_t(1) << 53) - 2));
    BOOST_TEST(gate.enter(greatest));
    BOOST_TEST(!works(gate, greatest - 1));
    BOOST_TEST(works(gate, greatest));
}

BOOST_AUTO_TEST_CASE(enter_and_run_with_token_zero_throw)
{
    fence_gate gate;
    bool called = false;

    BOOST_CHECK_THROW((void)gate.enter(0), std::invalid_argument);
    BOOST_CHECK_THROW((void)gate.run(0, [&] { called = true; }), std::invalid_argument);
    BOOST_TEST(!called);
    BOOST_TEST(gate.highest() == 0u);
    BOOST_TEST(gate.enter(1));
}

BOOST_AUTO_TEST_CASE(run_without_enter_throws_logic_error)
{
    fence_gate gate;
    bool called = false;
    BOOST_TEST(gate.enter(7));

    BOOST_CHECK_THROW((void)gate.run(8, [&] { called = true; }), std::logic_error);
    BOOST_TEST(!called);
    BOOST_TEST(gate.highest() == 7u);
    BOOST_TEST(works(gate, 7));
}

BOOST_AUTO_TEST_CASE(fence_gate_with_an_initial_token_refuses_older_ones)
{
    fence_gate gate(7);

    BOOST_TEST(gate.highest() == 7u);
    BOOST_TEST(!gate.enter(6));
    BOOST_TEST(gate.enter(8));
}

BOOST_AUTO_TEST_CASE(run_that_throws_leaves_the_gate_usable)
{
    fence_gate gate;
    BOOST_TEST(gate.enter(7));

    BOOST_CHECK_THROW((void)gate.run(7, [] { throw 1; }), int);
    BOOST_TEST(works(gate, 7));
    BOOST_TEST(gate.enter(8));
}

BOOST_AUTO_TEST_CASE(run_with_work_that_returns_a_value_does_not_compile)
{
    auto accepts = [](auto work) { return requires(fence_gate& gate) { gate.run(1, work); }; };
    auto nothing = [] {};
    auto something = [] { return 1; };  // a coroutine returns a value, and would go on outside the gate

    BOOST_TEST(accepts(nothing));
    BOOST_TEST(!accepts(something));
    BOOST_TEST(!std::is_copy_constructible_v<fence_gate>);
    BOOST_TEST(!std::is_move_constructible_v<fence_gate>);
}

namespace {

/// A holder adds 1 to a value, step by step. There are two; the one with token 2 was granted later.
struct holder {
    std::uint64_t token;
    int seen = 0;
    bool acknowledged = false;
};

using step = std::function<void(holder&)>;

/// Runs every order of the steps of two holders. Returns the number of orders that lose an acknowledged addition.
int orders_that_lose(std::function<std::vector<step>(fence_gate&, int& value)> const& make_steps, int& played)
{
    int losing = 0;
    fence_gate unused;
    int none = 0;
    std::string order(make_steps(unused, none).size(), 'a');
    order += std::string(order.size(), 'b');
    do {
        fence_gate gate;
        int value = 0;
        auto const steps = make_steps(gate, value);
        holder a{1}, b{2};
        std::size_t next_a = 0, next_b = 0;
        for (char who : order)
            who == 'a' ? steps[next_a++](a) : steps[next_b++](b);
        losing += value != a.acknowledged + b.acknowledged;
        ++played;
    } while (std::next_permutation(order.begin(), order.end()));
    return losing;
}

}  // namespace

BOOST_AUTO_TEST_CASE(enter_before_reading_loses_no_update_in_any_order)
{
    auto steps = [](fence_gate& gate, int& value) -> std::vector<step> {
        return {
            [&](holder& h) { h.seen = gate.enter(h.token) ? 0 : -1; },
            [&](holder& h) { h.seen = h.seen < 0 ? -1 : value; },
            [&](holder& h) { h.acknowledged = h.seen >= 0 && gate.run(h.token, [&] { value = h.seen + 1; }); },
        };
    };
    int played = 0;

    BOOST_TEST(orders_that_lose(steps, played) == 0);
    BOOST_TEST(played == 20);
}

BOOST_AUTO_TEST_CASE(enter_before_writing_only_loses_updates)
{
    auto steps = [](fence_gate& gate, int& value) -> std::vector<step> {
        return {
            [&](holder& h) { h.seen = value; },
            [&](holder& h) { h.acknowledged = gate.enter(h.token) && gate.run(h.token, [&] { value = h.seen + 1; }); },
        };
    };
    int played = 0;

    BOOST_TEST(orders_that_lose(steps, played) == 2);  // both read, then 1 writes, then 2 writes
    BOOST_TEST(played == 6);
}

BOOST_AUTO_TEST_CASE(enter_while_run_is_working_waits)
{
    fence_gate gate;
    std::atomic<bool> entered = false;
    std::thread other;
    BOOST_TEST(gate.enter(1));

    bool early = true;
    bool const done = gate.run(1, [&] {
        other = std::thread([&] { entered = gate.enter(2); });
        for (int i = 0; i < 1000; ++i)
            std::this_thread::yield();
        early = entered;
    });
    other.join();

    BOOST_TEST(done);
    BOOST_TEST(!early);
    BOOST_TEST(entered);
    BOOST_TEST(!works(gate, 1));
}

BOOST_AUTO_TEST_CASE(enter_and_run_on_many_threads_lose_no_update)
{
    fence_gate gate;
    std::atomic<std::uint64_t> last_token = 0;
    std::atomic<int> acknowledged = 0;
    int value = 0;  // only the gate guards it
    auto work = [&] {
        for (int i = 0; i < 5000; ++i) {
            std::uint64_t const token = ++last_token;
            if (i % 3 == 0)
                std::this_thread::yield();  // let other threads overtake
            int seen = -1;
            if (!gate.enter(token) || !gate.run(token, [&] { seen = value; }))
                continue;
            if (i % 5 == 0)
                std::this_thread::yield();
            acknowledged += gate.run(token, [&] { value = seen + 1; });
        }
    };

    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
        threads.emplace_back(work);
    for (auto& t : threads)
        t.join();

    BOOST_TEST(value == acknowledged);
    BOOST_TEST(value > 0);  // no token supersedes the last one
    BOOST_TEST(gate.highest() == last_token);
}

BOOST_AUTO_TEST_SUITE_END()
