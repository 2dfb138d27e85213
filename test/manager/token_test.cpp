// Completion tokens as lvalues and rvalues, default tokens, other types of executors, and overloads without options.

#include "support/cancelled_after.hpp"

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

using namespace redlock;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(completion_tokens)

namespace {

std::string fresh_url()
{
    static std::atomic<int> last{0};
    return "memory://token-" + std::to_string(++last);
}

struct fresh_server {
    asio::io_context context;
    std::string const url = fresh_url();
    std::shared_ptr<memory_server> const server = memory_server::at(url.substr(9));
};

// `context.run()` would not return while a lock is held.
template <class Condition>
void run_until(asio::io_context& context, Condition done)
{
    context.restart();
    while (!done() && context.run_one() > 0) {
    }
}

// A callback that is empty after it was moved from, because its std::function is.
template <class... Args>
struct counting_callback {
    std::shared_ptr<int> calls = std::make_shared<int>(0);
    std::function<void(Args...)> call = [calls = calls](Args...) { ++*calls; };

    void operator()(Args... args) const { call(std::move(args)...); }
};

template <class... Args, class Start>
void use_in_every_way(asio::io_context& context, Start start)
{
    counting_callback<Args...> callback;
    auto const calls = callback.calls;
    auto const& constant = callback;

    start(callback);
    start(callback);
    start(constant);
    BOOST_TEST(static_cast<bool>(callback.call));  // not moved from
    start(std::move(callback));
    run_until(context, [&] { return *calls == 4; });
    context.poll();
    BOOST_TEST(*calls == 4);
}

}  // namespace

BOOST_FIXTURE_TEST_CASE(completion_token_that_is_an_lvalue_is_not_moved_from, fresh_server)
{
    std::optional<lock_manager> locks(std::in_place, context, manager_options{.nodes = {url}});

    // Each handler ignores its lock, so the destructor releases it.
    use_in_every_way<error_code, lock>(
        context, [&](auto&& t) { locks->async_acquire("stock", {}, std::forward<decltype(t)>(t)); });
    use_in_every_way<error_code, lock>(context,
                                       [&](auto&& t) { locks->async_acquire("stock", std::forward<decltype(t)>(t)); });
    auto const any = slots("slot", 2);
    use_in_every_way<error_code, lock>(
        context, [&](auto&& t) { locks->async_try_acquire("stock", {}, std::forward<decltype(t)>(t)); });
    use_in_every_way<error_code, lock>(
        context, [&](auto&& t) { locks->async_try_acquire("stock", std::forward<decltype(t)>(t)); });
    use_in_every_way<error_code, lock>(
        context, [&](auto&& t) { locks->async_try_acquire_any(any, {}, std::forward<decltype(t)>(t)); });
    use_in_every_way<error_code, lock>(
        context, [&](auto&& t) { locks->async_acquire_any(any, {}, std::forward<decltype(t)>(t)); });
    use_in_every_way<error_code, lock>(context,
                                       [&](auto&& t) { locks->async_acquire_any(any, std::forward<decltype(t)>(t)); });
    lock_ticket const ticket{.resources = "nobody's", .token = "t"};
    use_in_every_way<error_code, lock>(
        context, [&](auto&& t) { locks->async_resume(ticket, {}, std::forward<decltype(t)>(t)); });
    use_in_every_way<error_code, lock>(context,
                                       [&](auto&& t) { locks->async_resume(ticket, std::forward<decltype(t)>(t)); });
    use_in_every_way<error_code>(context,
                                 [&](auto&& t) { locks->async_release(ticket, std::forward<decltype(t)>(t)); });
    use_in_every_way<error_code, lock_info>(
        context, [&](auto&& t) { locks->async_inspect("stock", std::forward<decltype(t)>(t)); });
    auto const body = [](lock&) -> asio::awaitable<void> { co_return; };
    use_in_every_way<std::exception_ptr>(
        context, [&](auto&& t) { locks->with_lock("stock", {}, body, std::forward<decltype(t)>(t)); });
    use_in_every_way<std::exception_ptr>(
        context, [&](auto&& t) { locks->with_lock("stock", body, std::forward<decltype(t)>(t)); });
    use_in_every_way<std::exception_ptr>(
        context, [&](auto&& t) { locks->with_any_lock(any, {}, body, std::forward<decltype(t)>(t)); });
    use_in_every_way<std::exception_ptr>(
        context, [&](auto&& t) { locks->with_any_lock(any, body, std::forward<decltype(t)>(t)); });

    lock_scope const scope(*locks);
    use_in_every_way<error_code, lock>(
        context, [&](auto&& t) { scope.async_acquire("stock", {}, std::forward<decltype(t)>(t)); });
    use_in_every_way<error_code, lock>(context,
                                       [&](auto&& t) { scope.async_acquire("stock", std::forward<decltype(t)>(t)); });
    use_in_every_way<std::exception_ptr>(
        context, [&](auto&& t) { scope.with_lock("stock", {}, body, std::forward<decltype(t)>(t)); });
    use_in_every_way<std::exception_ptr>(
        context, [&](auto&& t) { scope.with_lock("stock", body, std::forward<decltype(t)>(t)); });

    lock held;
    locks->async_acquire("held", {}, [&](error_code, lock l) { held = std::move(l); });
    run_until(context, [&] { return held.held(); });
    use_in_every_way<error_code>(context, [&](auto&& t) { held.async_extend(1s, std::forward<decltype(t)>(t)); });
    use_in_every_way<error_code>(context, [&](auto&& t) {
        held.async_wait_lost(std::forward<decltype(t)>(t));
        if (std::is_rvalue_reference_v<decltype(t)>)
            held.async_release([](error_code) {});
    });
    use_in_every_way<error_code>(context, [&](auto&& t) { held.async_release(std::forward<decltype(t)>(t)); });
    use_in_every_way<error_code>(context, [&](auto&& t) { locks->async_shutdown(std::forward<decltype(t)>(t)); });
}

BOOST_FIXTURE_TEST_CASE(completion_token_may_return_a_value_and_take_auto_arguments, fresh_server)
{
    std::optional<lock_manager> locks(std::in_place, context, manager_options{.nodes = {url}});
    int calls = 0;
    auto const count = [&](auto const&...) { return ++calls; };
    auto const body = [](lock&) -> asio::awaitable<int> { co_return 1; };
    locks->async_inspect("stock", count);
    locks->with_lock("one", body, [&](auto const& failure, auto&& value) {
        if (failure)
            std::rethrow_exception(failure);
        return calls += value;
    });
    locks->with_lock(
        "another", [](lock&) -> asio::awaitable<void> { co_return; },
        [&](auto const& failure) {
            if (failure)
                std::rethrow_exception(failure);
            return ++calls;
        });
    locks->async_acquire("stock", [&](auto&& ec, auto&&) { return ec ? 0 : ++calls; });
    run_until(context, [&] { return calls == 4; });
    locks->async_shutdown(std::function<int(error_code)>(count));
    run_until(context, [&] { return calls == 5; });
    lock().async_release(count);
    BOOST_TEST(calls == 6);
}

BOOST_AUTO_TEST_CASE(release_of_an_empty_lock_calls_back_on_the_calling_thread, *boost::unit_test::label("threads"))
{
    lock empty;
    BOOST_TEST(empty.empty());
    std::vector<std::thread::id> ids;
    auto const note = [&](error_code ec) {
        BOOST_TEST((ec == errc::not_held));
        ids.push_back(std::this_thread::get_id());
    };
    empty.async_release(note);
    empty.async_extend(1s, note);
    empty.async_wait_lost(note);
    BOOST_TEST((ids == std::vector(3, std::this_thread::get_id())));

    // A handler with an executor is called on that executor.
    asio::io_context context;
    bool inside = true;
    empty.async_release(asio::bind_executor(context, [&](error_code) { BOOST_TEST(!inside); }));
    inside = false;
    BOOST_TEST(context.run() == 1u);
}

BOOST_FIXTURE_TEST_CASE(empty_of_an_expired_lock_is_false, fresh_server)
{
    lock_manager locks(context, {.nodes = {url}, .node_timeout = 10ms});
    lock held;
    locks.async_acquire("stock", {.ttl = 20ms}, [&](error_code, lock l) { held = std::move(l); });
    context.run_for(200ms);
    BOOST_TEST(!held.held());
    BOOST_TEST(!held.empty());
    lock const taken = std::move(held);
    BOOST_TEST(!taken.empty());
}

BOOST_FIXTURE_TEST_CASE(as_default_on_sets_the_default_token, fresh_server)
{
    bool done = false;
    auto run = [&]() -> asio::awaitable<void> {
        auto locks = asio::use_awaitable.as_default_on(lock_manager(context, {.nodes = {url}}));
        auto held = co_await locks.async_try_acquire("stock");
        static_assert(std::is_same_v<decltype(held), basic_lock<decltype(locks)::executor_type>>);
        co_await held.async_extend(5s);
        co_await held.async_release();
        auto const info = co_await locks.async_inspect("stock");
        BOOST_TEST(!info.locked);
        int const n = co_await locks.with_lock("stock", [](decltype(held)& l) -> asio::awaitable<int> {
            co_await l.async_extend(5s);
            co_return 7;
        });
        BOOST_TEST(n == 7);
        basic_lock_scope const scope(locks);
        auto again = co_await scope.async_try_acquire("stock");
        static_assert(std::is_same_v<decltype(again), decltype(held)>);
        BOOST_TEST(
            co_await scope.with_lock("stock", [](decltype(held)& l) -> asio::awaitable<bool> { co_return l.held(); }));
        co_await again.async_release();
        auto const ticket = (co_await locks.async_acquire("stock")).detach();
        auto resumed = co_await locks.async_resume(ticket);
        static_assert(std::is_same_v<decltype(resumed), decltype(held)>);
        co_await locks.async_release(resumed.detach());
        co_await locks.async_shutdown();
        done = true;
    };
    asio::co_spawn(context, run(), [](std::exception_ptr e) { BOOST_TEST(!e); });
    context.run();
    BOOST_TEST(done);

    using as_tuple_manager = decltype(asio::as_tuple(asio::use_awaitable).as_default_on(std::declval<lock_manager>()));
    static_assert(std::is_same_v<as_tuple_manager::rebind_executor<asio::any_io_executor>::other, lock_manager>);
    static_assert(
        std::is_same_v<basic_lock_scope<as_tuple_manager::executor_type>::rebind_executor<asio::any_io_executor>::other,
                       lock_scope>);
}

BOOST_FIXTURE_TEST_CASE(lock_manager_move_keeps_its_locks, fresh_server)
{
    lock_manager first(context, {.nodes = {url}});
    lock held;
    first.async_acquire("stock", [&](error_code, lock l) { held = std::move(l); });
    lock_manager second(std::move(first));
    run_until(context, [&] { return held.held(); });
    BOOST_TEST(held.held());
    BOOST_TEST(second.stats().held == 1u);

    second = lock_manager(context, {.nodes = {fresh_url()}});  // stops the manager that was assigned over
    held = {};
    context.restart();
    context.run();
    BOOST_TEST(server->size() == 0u);
}

BOOST_FIXTURE_TEST_CASE(with_lock_accepts_bodies_of_any_executor_type, fresh_server)
{
    using loop = asio::io_context::executor_type;
    lock_manager erased(context, {.nodes = {url}});
    basic_lock_manager<loop> plain(context, {.nodes = {url}});
    static_assert(std::is_same_v<decltype(plain.get_executor()), loop>);
    int sum = 0;

    auto on_loop = [](auto&) -> asio::awaitable<int, loop> { co_return 1; };
    auto on_strand = [](auto&) -> asio::awaitable<int, asio::strand<loop>> { co_return 10; };
    auto on_any = [](auto&) -> asio::awaitable<int> { co_return 100; };
    auto outer = [&]() -> asio::awaitable<void, loop> {
        sum += co_await plain.with_lock("a", on_loop);
        sum += co_await erased.with_lock("a", {.wait = 1s}, on_loop);
    };
    asio::co_spawn(context.get_executor(), outer(), [](std::exception_ptr e) { BOOST_TEST(!e); });
    auto in_strand = [&]() -> asio::awaitable<void, asio::strand<loop>> {
        sum += co_await erased.with_lock("b", on_strand);
    };
    asio::co_spawn(asio::make_strand(context.get_executor()), in_strand(),
                   [](std::exception_ptr e) { BOOST_TEST(!e); });
    plain.with_lock("c", on_any, [&](std::exception_ptr e, int n) {
        BOOST_TEST(!e);
        sum += n;
    });
    auto future = erased.with_lock("d", on_any, asio::use_future);
    auto deferred = erased.with_lock("e", {.ttl = 1s}, on_any, asio::deferred);
    std::move(deferred)([&](std::exception_ptr, int n) { sum += n; });
    context.run();
    BOOST_TEST(future.get() == 100);
    BOOST_TEST(sum == 1 + 1 + 10 + 100 + 100);
}

BOOST_AUTO_TEST_CASE(lock_body_accepts_only_coroutines_that_take_a_lock)
{
    auto good = [](lock&) -> asio::awaitable<void> { co_return; };
    auto plain = [](lock&) { return 1; };
    auto no_argument = []() -> asio::awaitable<void> { co_return; };
    static_assert(lock_body<decltype(good)>);
    static_assert(!lock_body<decltype(plain)>);
    static_assert(!lock_body<decltype(no_argument)>);
    static_assert(!lock_body<int>);
}

BOOST_FIXTURE_TEST_CASE(with_lock_with_a_callback_is_cancelled_and_reports_errors, fresh_server)
{
    lock_manager locks(context, {.nodes = {url}});
    auto forever = [](lock&) -> asio::awaitable<int> {
        asio::steady_timer never(co_await asio::this_coro::executor, asio::steady_timer::time_point::max());
        co_await never.async_wait(asio::use_awaitable);
        co_return 1;
    };
    std::exception_ptr cancelled, busy;
    locks.with_lock(
        "stock", forever,
        test::cancelled_after(context.get_executor(), 50ms, [&](std::exception_ptr e, int) { cancelled = e; }));
    locks.async_acquire("busy", [&](error_code, lock l) {
        locks.with_lock("busy", forever,
                        [&, keep = std::make_shared<lock>(std::move(l))](std::exception_ptr e, int) { busy = e; });
    });
    context.run();
    BOOST_CHECK_EXCEPTION(std::rethrow_exception(cancelled), system_error,
                          [](auto& e) { return e.code() == asio::error::operation_aborted; });
    BOOST_CHECK_EXCEPTION(std::rethrow_exception(busy), lock_error, [](auto& e) {
        return e.code() == errc::contended && e.report().nodes.size() == 1 && e.report().nodes[0].vote == vote::denied;
    });
    BOOST_TEST(server->size() == 0u);
}

BOOST_AUTO_TEST_SUITE_END()
