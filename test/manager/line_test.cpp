// Many processes wait for one lock. The nodes keep them in line: only the first three ask when the lock is free.

#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(line)

namespace {

/// Processes that wait for a lock, and the order in which they got it.
struct queue_of_processes {
    explicit queue_of_processes(std::size_t count)
    {
        w.acquire(*holder, "warm-up");
        held = w.acquire(*holder, "stock", {.ttl = 60s}).held;
        for (std::size_t i = 0; i < count; ++i)
            waiting.push_back(w.manager());
    }

    void start(std::size_t i, acquire_options options = {.ttl = 60s, .wait = 1h})
    {
        waiting[i]->async_acquire("stock", options, [this, i](error_code ec, lock l) {
            if (ec)
                return;
            got.push_back(i);
            longest_gap = std::max(longest_gap, w.now - freed);
            w.at(w.now + 2ms, [this, kept = std::make_shared<lock>(std::move(l))] {
                freed = w.now;
                kept->async_release([](error_code) {});
            });
        });
        w.run_for(3ms);
    }
    void start_all()
    {
        for (std::size_t i = 0; i < waiting.size(); ++i)
            start(i);
        w.run_for(20ms);  // they have asked twice
    }

    void begin()
    {
        freed = w.now;
        w.release(held);
    }

    std::size_t rounds() const
    {
        return std::accumulate(waiting.begin(), waiting.end(), std::size_t{0},
                               [](std::size_t n, auto& m) { return n + m->stats().rounds; });
    }

    lock_world w{3};
    std::unique_ptr<lock_manager> holder = w.manager();
    std::vector<std::unique_ptr<lock_manager>> waiting;
    lock held;
    std::vector<std::size_t> got;
    clock::time_point freed;
    clock::duration longest_gap{};
};

}  // namespace

BOOST_AUTO_TEST_CASE(waiters_of_many_processes_come_about_in_the_order_of_their_calls)
{
    constexpr std::size_t count = 20;
    queue_of_processes q(count);
    q.start_all();
    auto const before = q.rounds();
    q.begin();
    BOOST_TEST(q.w.run_to([&] { return q.got.size() == count; }));
    for (std::size_t i = 0; i < count; ++i) {  // three at a time compete
        BOOST_TEST(q.got[i] <= i + 2);
        BOOST_TEST(i <= q.got[i] + 2);
    }
    BOOST_TEST((q.longest_gap < 30ms), q.longest_gap / 1us << " us");
    // Each is called once, and is one of three when the lock is released; all would be 20 times 10.
    BOOST_TEST(q.rounds() - before <= 5 * count, q.rounds() - before << " rounds");
}

BOOST_AUTO_TEST_CASE(waiters_behind_the_third_ask_once_a_second_while_the_lock_is_held)
{
    constexpr std::size_t count = 10;
    queue_of_processes q(count);
    q.start_all();
    auto const before = q.rounds();
    q.w.run_for(10s);
    auto const asked = q.rounds() - before;
    BOOST_TEST(asked >= (count - 3) * 8);
    BOOST_TEST(asked <= (count - 3) * 21 + 3, asked << " rounds");
}

BOOST_AUTO_TEST_CASE(waiters_behind_others_that_give_up_get_the_lock_within_a_second)
{
    queue_of_processes q(8);
    for (std::size_t i = 0; i < 8; ++i)
        q.start(i, {.ttl = 60s, .wait = i < 5 ? std::chrono::milliseconds(300) : std::chrono::hours(1)});
    q.w.run_for(350ms);  // the first five have given up
    q.begin();
    BOOST_TEST(q.w.run_to([&] { return q.got.size() == 3; }));
    BOOST_TEST((q.longest_gap <= 1s + 20ms), q.longest_gap / 1ms << " ms");
}

// A process that has died cannot take its wish back.
BOOST_AUTO_TEST_CASE(waiters_behind_others_that_have_died_get_the_lock_within_a_second)
{
    queue_of_processes q(6);
    std::string const key = "lock:stock";
    for (auto const* dead : {"1:dead", "2:dead", "3:dead", "4:dead", "5:dead"}) {
        for (std::size_t i = 0; i < 3; ++i)
            q.w.servers[i]->carry_out(
                {.what = commands::acquire{.contender = dead}, .keys = {&key, 1}, .value = "v", .ttl = 5s}, false);
        q.w.run_for(1ms);
    }
    q.start_all();
    q.begin();
    BOOST_TEST(q.w.run_to([&] { return q.got.size() == 6; }));
    BOOST_TEST((q.longest_gap <= 1s + 20ms), q.longest_gap / 1ms << " ms");
}

BOOST_AUTO_TEST_CASE(waiters_in_line_on_nodes_that_disagree_get_the_lock)
{
    queue_of_processes q(12);
    std::string const key = "lock:stock";
    q.start_all();
    for (std::size_t i = 0; i < 3; ++i) {  // another order on each node
        auto& wishes = q.w.servers[i]->wanted.find(key)->second.first;
        std::vector<clock::time_point> since;
        for (auto const& [who, wish] : wishes)
            since.push_back(wish.since);
        std::rotate(since.begin(), since.begin() + static_cast<std::ptrdiff_t>(4 * i), since.end());
        auto next = since.begin();
        for (auto& [who, wish] : wishes)
            wish.since = *next++;
    }
    q.begin();
    BOOST_TEST(q.w.run_to([&] { return q.got.size() == 12; }));
    BOOST_TEST((q.longest_gap <= 1s + 20ms), q.longest_gap / 1ms << " ms");
}

BOOST_AUTO_TEST_CASE(last_of_a_line_is_called_although_the_first_have_given_up)
{
    queue_of_processes q(4);
    for (std::size_t i = 0; i < 4; ++i)
        q.start(i, {.ttl = 60s, .wait = i < 2 ? std::chrono::milliseconds(100) : std::chrono::hours(1)});
    q.w.run_for(150ms);
    q.begin();
    BOOST_TEST(q.w.run_to([&] { return q.got.size() == 2; }));
    BOOST_TEST((q.longest_gap < 30ms), q.longest_gap / 1ms << " ms");
}

BOOST_AUTO_TEST_CASE(waiters_on_nodes_that_cannot_call_them_poll)
{
    queue_of_processes q(6);
    for (auto& s : q.w.servers)
        s->notifies = false;
    q.start_all();
    q.begin();
    BOOST_TEST(q.w.run_to([&] { return q.got.size() == 6; }));
    BOOST_TEST((q.longest_gap < 400ms), q.longest_gap / 1ms << " ms");
}

BOOST_AUTO_TEST_SUITE_END()
