#include "support/manager_test.hpp"

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(lock_share)

namespace {

struct shared_lock : manager_of<3> {
    lock_world::outcome won = w.acquire(*locks, "stock", {.ttl = 3s});
    lock one = std::move(won.held);
    lock other = one.share();
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(share_returns_a_handle_on_the_same_lock, shared_lock)
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

BOOST_FIXTURE_TEST_CASE(release_of_the_last_shared_handle_releases_the_lock, shared_lock)
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

BOOST_FIXTURE_TEST_CASE(destroying_the_last_shared_handle_releases_the_lock, shared_lock)
{
    one = {};
    BOOST_TEST(w.keys_after(1s) == 3u);
    BOOST_TEST(other.held());
    other = {};
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

BOOST_FIXTURE_TEST_CASE(release_of_one_shared_handle_twice_returns_not_held, shared_lock)
{
    BOOST_TEST(!w.release(one));
    BOOST_TEST((w.release(one) == errc::not_held));
    one = {};
    BOOST_TEST(w.keys_after(1s) == 3u);
    BOOST_TEST(other.held());
}

BOOST_FIXTURE_TEST_CASE(share_of_a_released_handle_is_empty, shared_lock)
{
    BOOST_TEST(!w.release(one));
    BOOST_TEST(one.share().empty());
    BOOST_TEST(lock().share().empty());
    BOOST_TEST(!w.release(other));
    BOOST_TEST(other.share().empty());
}

BOOST_FIXTURE_TEST_CASE(extend_of_one_shared_handle_extends_the_others, shared_lock)
{
    BOOST_TEST(!w.extend(other, 10s));
    BOOST_TEST((one.remaining() > 9s));
    BOOST_TEST(!w.release(one));
    BOOST_TEST((w.extend(one, 20s) == errc::not_held));
    BOOST_TEST((other.remaining() < 10s));
}

// The extension may prolong the lock for the other handles. The caller has no handle any more.
BOOST_FIXTURE_TEST_CASE(extend_returns_not_held_if_its_shared_handle_ends, shared_lock)
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

BOOST_FIXTURE_TEST_CASE(wait_lost_completes_for_each_shared_handle, shared_lock)
{
    auto first = w.start_wait_lost(one), second = w.start_wait_lost(other);
    w.run_for(3s);
    BOOST_TEST((first.ec == errc::lost));
    BOOST_TEST((second.ec == errc::lost));
    // No handle holds the lock, so both releases fail.
    BOOST_TEST(!one.share().held());
    BOOST_TEST((w.release(one) == errc::not_held));
    BOOST_TEST((w.release(other) == errc::not_held));
}

BOOST_FIXTURE_TEST_CASE(wait_lost_is_aborted_by_the_release_of_its_shared_handle, shared_lock)
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

BOOST_FIXTURE_TEST_CASE(wait_lost_handler_may_cancel_the_other_waits_of_its_handle, shared_lock)
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

BOOST_FIXTURE_TEST_CASE(renewal_continues_until_the_last_shared_handle_ends, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 3s, .renew = renewal::automatic});
    auto other = won.held.share();
    w.drop(won, 1min);
    BOOST_TEST(other.held());
    other = {};
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

BOOST_FIXTURE_TEST_CASE(share_in_a_body_keeps_the_lock_after_the_body, manager_of<3>)
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

// During a shutdown, renewals continue while a body runs. They end for a handle that remains after the body.
BOOST_FIXTURE_TEST_CASE(share_in_a_body_does_not_keep_renewals_during_shutdown, manager_of<3>)
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

BOOST_FIXTURE_TEST_CASE(shared_handle_keeps_the_lock_after_the_end_of_the_manager, shared_lock)
{
    locks.reset();
    one = {};
    w.run_for(1s);
    BOOST_TEST(other.held());
    BOOST_TEST(w.keys("lock:stock") == 3u);
    other = {};
    BOOST_TEST(w.keys_after(1ms) == 0u);
}

BOOST_AUTO_TEST_CASE(share_and_destroy_on_many_threads_release_once, *boost::unit_test::label("threads"))
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
