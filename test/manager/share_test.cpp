#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(sharing_a_handle)

namespace {

struct shared_lock : manager_of<3> {
    lock_world::outcome won = w.acquire(*locks, "stock", {.ttl = 3s});
    lock one = std::move(won.held);
    lock other = one.share();
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(handles_of_one_lock_are_the_same_lock, shared_lock)
{
    auto const requests = w[0].requests.size();
    lock third = other.share();

    for (auto const* l : {&one, &other, &third}) {
        BOOST_TEST(l->held());
        BOOST_TEST(l->resource() == "stock");
        BOOST_TEST(l->token() == one.token());
        BOOST_TEST((l->valid_until() == one.valid_until()));
    }
    w.run_for(1s);
    BOOST_TEST(w[0].requests.size() == requests);
    BOOST_TEST(locks->stats().held == 1u);
    BOOST_TEST(locks->stats().acquired == 1u);
}

BOOST_FIXTURE_TEST_CASE(the_last_one_gives_the_lock_back, shared_lock)
{
    BOOST_TEST(!w.release(one));
    BOOST_TEST(!one.held());
    BOOST_TEST(other.held());
    BOOST_TEST(w.keys_after(1s) == 3u);
    BOOST_TEST(w[0].count(kind::release) == 0u);

    BOOST_TEST(!w.release(other));
    BOOST_TEST(w[0].count(kind::release) == 1u);
    BOOST_TEST(w.keys_after(1ms) == 0u);
    BOOST_TEST(locks->stats().released == 1u);
}

BOOST_FIXTURE_TEST_CASE(so_it_does_if_they_are_destroyed, shared_lock)
{
    one = {};
    BOOST_TEST(w.keys_after(1s) == 3u);
    BOOST_TEST(other.held());
    other = {};
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

BOOST_FIXTURE_TEST_CASE(each_is_given_back_once, shared_lock)
{
    BOOST_TEST(!w.release(one));
    BOOST_TEST((w.release(one) == errc::not_held));
    one = {};
    BOOST_TEST(w.keys_after(1s) == 3u);
    BOOST_TEST(other.held());
}

BOOST_FIXTURE_TEST_CASE(of_one_that_was_given_back_there_is_no_other, shared_lock)
{
    BOOST_TEST(!w.release(one));
    BOOST_TEST(one.share().empty());
    BOOST_TEST(lock().share().empty());
    BOOST_TEST(!w.release(other));
    BOOST_TEST(other.share().empty());
}

BOOST_FIXTURE_TEST_CASE(an_extension_is_one_for_all, shared_lock)
{
    BOOST_TEST(!w.extend(other, 10s));
    BOOST_TEST((one.remaining() > 9s));
    BOOST_TEST(!w.release(one));
    BOOST_TEST((w.extend(one, 20s) == errc::not_held));
    BOOST_TEST((other.remaining() < 10s));
}

// As of a lock that is released: it may be extended for the others, but who asked holds nothing any more.
BOOST_FIXTURE_TEST_CASE(an_extension_under_way_ends_with_its_handle, shared_lock)
{
    for (auto const released_after : {0us, 50us, 150us}) {
        auto mine = other.share();
        auto extended = w.start_extend(mine, 10s);
        w.run_for(released_after);
        mine = {};
        w.run_for(1ms);
        BOOST_TEST((extended.ec == errc::not_held));
    }
    BOOST_TEST((other.remaining() > 9s));
    BOOST_TEST(!w.extend(other, 20s));
}

BOOST_FIXTURE_TEST_CASE(a_loss_is_told_to_all, shared_lock)
{
    auto first = w.start_wait_lost(one), second = w.start_wait_lost(other);
    w.run_for(3s);
    BOOST_TEST((first.ec == errc::lost));
    BOOST_TEST((second.ec == errc::lost));
    // There is nothing to give back, and both hear it.
    BOOST_TEST(!one.share().held());
    BOOST_TEST((w.release(one) == errc::not_held));
    BOOST_TEST((w.release(other) == errc::not_held));
}

BOOST_FIXTURE_TEST_CASE(who_waits_by_one_that_is_given_back_is_told_of_that, shared_lock)
{
    auto first = w.start_wait_lost(one), second = w.start_wait_lost(other), again = w.start_wait_lost(one);
    BOOST_TEST(!w.release(one));
    w.run_for(1ms);
    BOOST_TEST((first.ec == asio::error::operation_aborted));
    BOOST_TEST((again.ec == asio::error::operation_aborted));
    BOOST_TEST(!second.ec.has_value());
    auto late = w.start_wait_lost(one);
    w.run_for(1ms);
    BOOST_TEST((late.ec == asio::error::operation_aborted));
    other = {};
    w.run_for(1ms);
    BOOST_TEST((second.ec == asio::error::operation_aborted));
}

BOOST_FIXTURE_TEST_CASE(who_is_told_that_a_handle_is_given_back_may_end_the_other_waits, shared_lock)
{
    asio::cancellation_signal next;
    int told = 0;
    one.async_wait_lost([&](error_code) {
        ++told;
        next.emit(asio::cancellation_type::terminal);
    });
    one.async_wait_lost(asio::bind_cancellation_slot(next.slot(), [&](error_code) { ++told; }));
    one.async_wait_lost([&](error_code) { ++told; });
    w.run_for(1ms);
    BOOST_TEST(!w.release(one));
    w.run_for(1ms);
    BOOST_TEST(told == 3);
    BOOST_TEST(other.held());
}

BOOST_FIXTURE_TEST_CASE(renewal_goes_on_until_the_last, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    auto other = won.held.share();
    w.drop(won, 1min);
    BOOST_TEST(other.held());
    other = {};
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

BOOST_FIXTURE_TEST_CASE(a_body_may_leave_a_part_of_its_work_to_another_handle, manager_of<3>)
{
    lock kept;
    auto const body = [&](lock& l) -> asio::awaitable<void> {
        kept = l.share();
        co_return;
    };
    BOOST_TEST(run(w, locks->with_lock("stock", {.ttl = 3s}, body)).succeeded());
    BOOST_TEST(kept.held());
    BOOST_TEST(w.keys("lock:stock") == 3u);
    BOOST_TEST(!w.release(kept));
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

// As long as a body runs the manager's end does not end the renewal; a handle that it left behind has no such right.
BOOST_FIXTURE_TEST_CASE(a_handle_that_is_left_of_a_body_runs_out_at_the_managers_end, manager_of<3>)
{
    lock kept;
    auto const body = [&](lock& l) -> asio::awaitable<void> {
        kept = l.share();
        co_return;
    };
    asio::co_spawn(w.context, locks->with_lock("stock", {.ttl = 3s, .renew = renewal::automatic}, body),
                   asio::detached);
    w.run_for(10s);
    BOOST_TEST(kept.held());
    auto stopped = w.start_shutdown(*locks);
    w.run_for(4s);
    BOOST_TEST(stopped.ec.has_value());
    BOOST_TEST(!kept.held());
}

BOOST_FIXTURE_TEST_CASE(the_lock_stays_as_long_as_one_handle_outlives_the_manager, shared_lock)
{
    locks.reset();
    one = {};
    w.run_for(1s);
    BOOST_TEST(other.held());
    BOOST_TEST(w.keys("lock:stock") == 3u);
    other = {};
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

// Handles that are made and given back on many threads: the lock goes with the last, once.
BOOST_AUTO_TEST_CASE(any_thread_may_share_and_give_back, *boost::unit_test::label("threads"))
{
    asio::thread_pool context(2);
    lock_manager locks(context, {.nodes = {"memory://share"}});
    auto first = locks.async_acquire("stock", {.ttl = 60s}, asio::use_future).get();
    std::atomic<bool> always_held{true};
    {
        std::vector<std::jthread> threads;
        for (int i = 0; i < 4; ++i)
            threads.emplace_back([&, mine = first.share()] {
                for (int k = 0; k < 2000; ++k)
                    always_held = mine.share().held() && always_held;
            });
    }
    BOOST_TEST(always_held);
    BOOST_TEST(first.held());
    BOOST_TEST(locks.stats().released == 0u);
    first.async_release(asio::use_future).get();
    BOOST_TEST(locks.stats().released == 1u);
    locks.async_shutdown(asio::use_future).get();
    context.join();
}

BOOST_AUTO_TEST_SUITE_END()
