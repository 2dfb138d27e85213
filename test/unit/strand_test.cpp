#include "runtime/strand.hpp"
#include "support/instance_counter.hpp"

#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <thread>
#include <type_traits>
#include <vector>

namespace asio = boost::asio;
using redlock::runtime::strand;
using redlock::test::instance_counter;

BOOST_AUTO_TEST_SUITE(strands)

namespace {

redlock::runtime::strand make(auto const& executor)
{
    return redlock::runtime::strand(asio::any_io_executor(executor));
}

// An executor of the io_context that the strand does not recognize as one.
asio::any_io_executor without_short_cut(asio::io_context& context)
{
    return asio::prefer(context.get_executor(), asio::execution::outstanding_work.tracked);
}

std::vector<int> numbers_up_to(int count)
{
    std::vector<int> numbers(static_cast<std::size_t>(count));
    std::iota(numbers.begin(), numbers.end(), 0);
    return numbers;
}

void run_on_threads(asio::io_context& context, int count)
{
    std::vector<std::thread> threads;
    for (int i = 0; i < count; ++i)
        threads.emplace_back([&context] { context.run(); });
    for (auto& t : threads)
        t.join();
}

// Counts without a lock. If two functions run at once, the sanitizers report a race, and the sum is wrong.
struct busy_counter {
    void add()
    {
        if (inside.exchange(true))
            collisions.fetch_add(1);
        ++sum;
        inside.store(false);
    }

    int sum = 0;
    std::atomic<bool> inside{false};
    std::atomic<int> collisions{0};
};

// Starts 16 chains of `length`, with two functions for each link. They post from outside and from the strand, dispatch,
// and count.
void start_chains(redlock::runtime::strand const& s, asio::any_io_executor outside, busy_counter& counter, int length)
{
    struct chain {
        void next(int left) const
        {
            counter.add();
            asio::dispatch(s, [&c = counter] { c.add(); });
            if (left == 0)
                return;
            if (left % 3 == 0)
                asio::post(s, [c = *this, left] { c.next(left - 1); });
            else
                asio::post(outside, [c = *this, left] { asio::dispatch(c.s, [c, left] { c.next(left - 1); }); });
        }

        redlock::runtime::strand s;
        asio::any_io_executor outside;
        busy_counter& counter;
    };
    for (int i = 0; i < 16; ++i)
        asio::post(s, [c = chain{s, outside, counter}, length] { c.next(length - 1); });
}

// The strand is destroyed before the loop begins: pending functions must keep its state.
template <class Context>
void never_two_at_once(std::function<redlock::runtime::strand()> const& make_one, Context& context)
{
    busy_counter counter;
    start_chains(make_one(), context.get_executor(), counter, 600);
    if constexpr (std::is_same_v<Context, asio::thread_pool>)
        context.join();
    else
        run_on_threads(context, 4);
    BOOST_TEST(counter.sum == 16 * 600 * 2);
    BOOST_TEST(counter.collisions == 0);
}

struct on_a_loop {
    std::vector<int> ran;
    int alive = 0;
    asio::io_context context;
    redlock::runtime::strand s = make(context.get_executor());

    auto note(int number)
    {
        return [this, number] { ran.push_back(number); };
    }

    void check_ran(std::vector<int> const& expected) { BOOST_TEST(ran == expected, boost::test_tools::per_element()); }
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(post_runs_functions_in_order, on_a_loop)
{
    for (int i = 0; i < 1000; ++i)
        asio::post(s, note(i));

    BOOST_TEST(ran.empty());
    context.run();

    check_ran(numbers_up_to(1000));
}

BOOST_FIXTURE_TEST_CASE(post_from_several_threads_keeps_the_order_of_each_thread, on_a_loop)
{
    std::vector<std::vector<int>> ran(3);
    std::vector<std::thread> threads;
    auto work = std::optional(asio::make_work_guard(context));
    for (auto& mine : ran) {
        threads.emplace_back([&] {
            for (int i = 0; i < 2000; ++i)
                asio::post(s, [&mine, i] { mine.push_back(i); });
        });
    }
    std::thread loop([&] { run_on_threads(context, 2); });

    for (auto& t : threads)
        t.join();
    work.reset();
    loop.join();

    for (auto const& mine : ran)
        BOOST_TEST(mine == numbers_up_to(2000), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(strand_on_four_threads_runs_one_function_at_a_time, on_a_loop)
{
    never_two_at_once([&] { return make(context.get_executor()); }, context);
}

BOOST_FIXTURE_TEST_CASE(strand_without_the_short_cut_runs_one_function_at_a_time, on_a_loop)
{
    never_two_at_once([&] { return make(without_short_cut(context)); }, context);
}

BOOST_AUTO_TEST_CASE(urgent_functions_run_before_others_that_wait)
{
    asio::io_context context;
    auto const s = make(context.get_executor());
    std::vector<int> order;
    for (int i = 0; i < 40; ++i)
        asio::post(s, [&order, i] { order.push_back(i); });
    for (int i = 0; i < 3; ++i)
        asio::post(s.urgent(), [&order, i] { order.push_back(100 + i); });
    BOOST_TEST((s == s.urgent()));
    context.run();
    BOOST_TEST(order.size() == 43u);
    auto const place_of = [&](int n) { return std::ranges::find(order, n) - order.begin(); };
    BOOST_TEST(place_of(102) < 5);
    std::erase_if(order, [](int n) { return n >= 100; });
    BOOST_TEST(order == numbers_up_to(40), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(urgent_functions_without_end_let_others_run)
{
    asio::io_context context;
    auto const s = make(context.get_executor());
    int others = 0;
    std::function<void()> again = [&] {
        if (others < 40)
            asio::post(s.urgent(), again);
    };
    asio::post(s.urgent(), again);
    asio::post(s.urgent(), again);
    for (int i = 0; i < 40; ++i)
        asio::post(s, [&others] { ++others; });
    context.run();
    BOOST_TEST(others == 40);
}

BOOST_AUTO_TEST_CASE(strand_on_a_thread_pool_runs_one_function_at_a_time)
{
    asio::thread_pool pool(4);
    never_two_at_once([&] { return make(pool.get_executor()); }, pool);
}

BOOST_FIXTURE_TEST_CASE(strand_on_an_asio_strand_runs_one_function_at_a_time, on_a_loop)
{
    never_two_at_once([&] { return make(asio::make_strand(context.get_executor())); }, context);
}

BOOST_FIXTURE_TEST_CASE(strand_on_another_strand_runs_one_function_at_a_time, on_a_loop)
{
    never_two_at_once([&] { return make(make(context.get_executor())); }, context);
}

BOOST_FIXTURE_TEST_CASE(post_from_the_strand_runs_after_the_current_function, on_a_loop)
{
    asio::post(s, [&] {
        asio::post(s, note(3));
        ran.push_back(1);
    });
    asio::post(s, note(2));

    context.run();

    check_ran({1, 2, 3});
}

BOOST_FIXTURE_TEST_CASE(post_from_the_strand_runs_in_the_same_turn_of_the_loop, on_a_loop)
{
    asio::post(s, [&] {
        asio::post(context, note(2));
        asio::post(s, note(1));
    });

    context.run_one();

    check_ran({1});
}

BOOST_FIXTURE_TEST_CASE(post_to_the_inner_executor_runs_after_everything_due, on_a_loop)
{
    asio::post(s, [&] { asio::post(s.inner(), note(3)); });
    asio::post(context, note(1));
    asio::post(context, note(2));

    context.run();

    check_ran({1, 2, 3});
}

BOOST_FIXTURE_TEST_CASE(post_without_end_lets_other_handlers_run, on_a_loop)
{
    bool other_ran = false;
    int ran = 0;
    std::function<void()> again = [&] {
        if (!other_ran && ++ran < 1'000'000)
            asio::post(s, again);
    };
    asio::post(s, again);
    asio::post(context, [&] { other_ran = true; });

    context.run();

    BOOST_TEST(other_ran);
    BOOST_TEST(ran < 1'000'000);
}

BOOST_FIXTURE_TEST_CASE(dispatch_runs_inline_on_the_strand_or_if_idle_on_the_loop, on_a_loop)
{
    bool ran = false;
    auto const dispatched_inline = [&] {
        ran = false;
        asio::dispatch(s, [&] { ran = true; });
        return ran;
    };

    BOOST_TEST(!dispatched_inline());  // this is not a thread of the loop
    context.run();
    BOOST_TEST(ran);

    context.restart();
    asio::post(context, [&] { BOOST_TEST(dispatched_inline()); });
    context.run();

    context.restart();
    asio::post(s, [&] { BOOST_TEST(dispatched_inline()); });
    context.run();

    context.restart();
    asio::post(context, [&] {
        asio::post(s, [] {});
        BOOST_TEST(!dispatched_inline());  // another function is first
    });
    context.run();
    BOOST_TEST(ran);
}

BOOST_FIXTURE_TEST_CASE(dispatch_while_another_thread_has_the_strand_does_not_run_inline, on_a_loop)
{
    std::mutex mutex;
    std::condition_variable changed;
    bool has_strand = false, dispatched = false;
    asio::post(s, [&] {
        std::unique_lock lock(mutex);
        has_strand = true;
        changed.notify_all();
        changed.wait(lock, [&] { return dispatched; });
        ran.push_back(1);
    });
    asio::post(context, [&] {
        {
            std::unique_lock lock(mutex);
            changed.wait(lock, [&] { return has_strand; });
        }
        asio::dispatch(s, note(2));
        std::lock_guard lock(mutex);
        dispatched = true;
        changed.notify_all();
    });

    run_on_threads(context, 2);

    check_ran({1, 2});
}

BOOST_FIXTURE_TEST_CASE(post_never_runs_inline, on_a_loop)
{
    int ran = 0;
    asio::post(context, [&] {
        asio::post(s, [&] { ++ran; });
        BOOST_TEST(ran == 0);
    });
    asio::post(s, [&] {
        auto const before = ran;
        asio::post(s, [&] { ++ran; });
        BOOST_TEST(ran == before);
    });

    context.run();

    BOOST_TEST(ran == 2);
}

BOOST_FIXTURE_TEST_CASE(post_during_an_inline_function_runs_after_it, on_a_loop)
{
    asio::post(context, [&] {
        asio::dispatch(s, [&] {
            asio::post(s, note(2));
            ran.push_back(1);
        });
        ran.push_back(3);
    });

    context.run();

    check_ran({1, 2, 3});
}

BOOST_FIXTURE_TEST_CASE(running_in_this_thread_is_true_only_on_the_strand, on_a_loop)
{
    auto const other = make(context.get_executor());
    asio::post(s, [&] {
        BOOST_TEST(s.running_in_this_thread());
        BOOST_TEST(!other.running_in_this_thread());
        asio::dispatch(other, [&] { BOOST_TEST(other.running_in_this_thread()); });
        BOOST_TEST(s.running_in_this_thread());
        std::thread([&] { BOOST_TEST(!s.running_in_this_thread()); }).join();
    });
    asio::post(context, [&] { BOOST_TEST(!s.running_in_this_thread()); });

    BOOST_TEST(context.run() > 0u);
    BOOST_TEST(!s.running_in_this_thread());
}

BOOST_FIXTURE_TEST_CASE(dispatch_between_two_strands_ends, on_a_loop)
{
    auto const a = make(context.get_executor()), b = make(context.get_executor());
    int ran = 0;
    std::function<void(int)> step = [&](int left) {
        ++ran;
        if (left > 0)
            asio::dispatch(left % 2 ? a : b, [&, left] { step(left - 1); });
    };
    asio::post(a, [&] { step(1000); });

    context.run();

    BOOST_TEST(ran == 1001);
}

BOOST_FIXTURE_TEST_CASE(post_after_a_function_that_throws_still_runs, on_a_loop)
{
    asio::post(s, note(1));
    asio::post(s, [] { throw std::runtime_error("of a function"); });
    asio::post(s, [&] {
        BOOST_TEST(s.running_in_this_thread());
        ran.push_back(2);
    });

    BOOST_CHECK_THROW(context.run(), std::runtime_error);
    BOOST_TEST(!s.running_in_this_thread());
    context.run();

    check_ran({1, 2});
}

BOOST_FIXTURE_TEST_CASE(dispatch_of_a_function_that_throws_runs_the_others_later, on_a_loop)
{
    asio::post(context, [&] {
        auto const throws = [&] {
            asio::post(s, note(1));
            throw std::runtime_error("of a function");
        };
        BOOST_CHECK_THROW(asio::dispatch(s, throws), std::runtime_error);
        BOOST_TEST(!s.running_in_this_thread());
        BOOST_TEST(ran.empty());
    });

    context.run();

    check_ran({1});
}

namespace {

// Executes immediately if it may block, and does not catch exceptions. Executors of users may do the same.
class eager_executor {
public:
    eager_executor(asio::io_context& context, bool may_block) : context_(&context), may_block_(may_block) {}

    template <class F>
    void execute(F f) const
    {
        if (may_block_)
            f();
        else
            asio::post(*context_, std::move(f));
    }
    asio::execution_context& query(asio::execution::context_t) const noexcept { return *context_; }
    asio::execution::blocking_t query(asio::execution::blocking_t) const noexcept
    {
        if (may_block_)
            return asio::execution::blocking.possibly;
        return asio::execution::blocking.never;
    }
    eager_executor require(asio::execution::blocking_t::possibly_t) const { return {*context_, true}; }
    eager_executor require(asio::execution::blocking_t::never_t) const { return {*context_, false}; }
    bool operator==(eager_executor const&) const noexcept = default;

private:
    asio::io_context* context_;
    bool may_block_;
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(strand_after_an_exception_of_its_executor_runs_one_at_a_time, on_a_loop)
{
    s = make(eager_executor(context, true));
    asio::dispatch(s, [] { throw std::runtime_error("of a function"); });
    asio::post(s, [] {});
    BOOST_CHECK_THROW(context.run(), std::runtime_error);

    // If the strand counted as idle although one of its turns is pending, two turns could run at the same time.
    asio::post(s, [&] {
        ran.push_back(1);
        asio::post(s, note(2));
        context.poll_one();
        check_ran({1});
    });
    context.run();

    check_ran({1, 2});
}

BOOST_FIXTURE_TEST_CASE(abandon_destroys_pending_functions, on_a_loop)
{
    int calls = 0;
    for (int i = 0; i < 3; ++i)
        asio::post(s, [&, w = instance_counter(alive)] { ++calls; });
    BOOST_TEST(alive == 3);

    s.abandon();

    BOOST_TEST(alive == 0);
    BOOST_TEST(!s.inner());
    context.run();
    BOOST_TEST(calls == 0);
}

BOOST_FIXTURE_TEST_CASE(abandon_destroys_functions_that_are_posted_later, on_a_loop)
{
    int calls = 0;
    auto const again = [&, w = instance_counter(alive)] { ++calls; };
    s.abandon();

    asio::post(s, again);
    asio::dispatch(s, again);
    asio::post(context, [&] { asio::dispatch(s, again); });
    context.run();

    BOOST_TEST(alive == 1);
    BOOST_TEST(calls == 0);
}

BOOST_FIXTURE_TEST_CASE(abandon_destroys_functions_that_a_destructor_posts, on_a_loop)
{
    struct posts_at_its_end {
        posts_at_its_end(redlock::runtime::strand on, int& alive) : s(std::move(on)), w(alive) {}
        posts_at_its_end(posts_at_its_end&& other) : s(other.s), w(other.w), last(std::exchange(other.last, false)) {}
        ~posts_at_its_end()
        {
            if (last)
                asio::post(s, [kept = w] {});
        }
        void operator()() {}

        redlock::runtime::strand s;
        instance_counter w;
        bool last = true;
    };
    asio::post(s, posts_at_its_end(s, alive));

    s.abandon();

    BOOST_TEST(alive == 0);
}

BOOST_FIXTURE_TEST_CASE(abandon_from_a_function_of_the_strand_destroys_the_others, on_a_loop)
{
    int calls = 0;
    asio::post(s, [&] {
        ++calls;
        s.abandon();
    });
    asio::post(s, [&, w = instance_counter(alive)] { ++calls; });

    context.run();

    BOOST_TEST(calls == 1);
    BOOST_TEST(alive == 0);
}

BOOST_AUTO_TEST_CASE(strand_of_a_destroyed_context_destroys_pending_functions)
{
    auto context = std::make_unique<asio::io_context>();
    auto s = std::optional(make(context->get_executor()));
    int alive = 0;
    asio::post(*s, [w = instance_counter(alive)] {});
    s.reset();
    BOOST_TEST(alive == 1);

    context.reset();

    BOOST_TEST(alive == 0);
}

BOOST_FIXTURE_TEST_CASE(strand_destroyed_in_its_function_runs_the_others, on_a_loop)
{
    auto s = std::make_unique<redlock::runtime::strand>(make(context.get_executor()));
    int ran = 0;
    asio::post(*s, [&] {
        s.reset();
        ++ran;
    });
    asio::post(*s, [&] { ++ran; });

    context.run();

    BOOST_TEST(ran == 2);
}

BOOST_FIXTURE_TEST_CASE(strand_destroyed_in_an_inline_function_runs_the_others, on_a_loop)
{
    auto s = std::make_unique<redlock::runtime::strand>(make(context.get_executor()));
    int ran = 0;
    asio::post(context, [&] {
        s->execute([&] {
            asio::post(*s, [&] { ++ran; });
            s->execute([&] { s.reset(); });
            ++ran;
        });
    });

    context.run();

    BOOST_TEST(ran == 2);
}

BOOST_FIXTURE_TEST_CASE(post_destroys_a_function_before_the_next_one_runs, on_a_loop)
{
    asio::post(s, [w = instance_counter(alive)] {});
    asio::post(s, [&] { BOOST_TEST(alive == 0); });

    context.run();

    BOOST_TEST(alive == 0);
}

BOOST_FIXTURE_TEST_CASE(post_and_dispatch_accept_move_only_functions, on_a_loop)
{
    int sum = 0;
    auto const add = [&](int n) { return [&sum, p = std::make_unique<int>(n)]() mutable { sum += *p; }; };
    asio::post(s, add(1));
    asio::dispatch(s, add(10));
    asio::post(context, [&] { asio::dispatch(s, add(100)); });

    context.run();

    BOOST_TEST(sum == 111);
}

BOOST_FIXTURE_TEST_CASE(strand_copies_are_equal_even_after_type_erasure, on_a_loop)
{
    redlock::runtime::strand const copy = s;
    auto const other = make(context.get_executor());
    BOOST_TEST((copy == s));
    BOOST_TEST((s != other));
    BOOST_TEST((asio::require(s, asio::execution::blocking.never) != s));
    BOOST_TEST((&asio::query(s, asio::execution::context) == &context));

    asio::any_io_executor const erased = s;

    BOOST_REQUIRE(erased.target<redlock::runtime::strand>() != nullptr);
    BOOST_TEST((*erased.target<redlock::runtime::strand>() == s));
    bool ran = false;
    asio::post(asio::bind_executor(erased, [&] { ran = s.running_in_this_thread(); }));
    context.run();
    BOOST_TEST(ran);
}

BOOST_AUTO_TEST_CASE(strand_on_the_system_executor_runs_functions_in_order)
{
    auto const s = make(asio::system_executor());
    std::vector<int> ran;
    std::promise<void> done;
    asio::dispatch(s, [&] {
        asio::dispatch(s, [&] { ran.push_back(1); });
        asio::post(s, [&] {
            ran.push_back(3);
            done.set_value();
        });
        ran.push_back(2);
    });
    done.get_future().get();

    BOOST_TEST(ran == (std::vector{1, 2, 3}), boost::test_tools::per_element());
}

BOOST_FIXTURE_TEST_CASE(prepare_runs_the_function_once_or_destroys_it, on_a_loop)
{
    auto const alive = std::make_shared<int>(0);
    auto first = s.prepare([alive] { ++*alive; });
    {
        auto const second = s.prepare([alive] { ++*alive; });
    }
    s.execute(std::move(first));
    BOOST_TEST(*alive == 0);
    context.run();
    BOOST_TEST(*alive == 1);
    BOOST_TEST(alive.use_count() == 1);
}

BOOST_AUTO_TEST_CASE(abandon_while_other_threads_dispatch_is_safe)
{
    for (int round = 0; round < 200; ++round) {
        std::optional<asio::io_context> context(std::in_place);
        auto s = make(context->get_executor());
        std::atomic<int> begun{0};
        std::vector<std::thread> users;
        for (int i = 0; i < 2; ++i) {
            users.emplace_back([&s, &begun] {
                ++begun;
                for (int n = 0; n < 200; ++n)
                    asio::dispatch(s, [] {});
            });
        }
        while (begun < 2) {
        }
        s.abandon();
        context.reset();  // no thread reaches the context after abandon()
        for (auto& u : users)
            u.join();
    }
}

BOOST_AUTO_TEST_SUITE_END()
