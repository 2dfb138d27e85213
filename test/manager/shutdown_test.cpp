// The end of a manager while locks are held. No other client gets a lock before its holder has released it.

#include "support/manager_test.hpp"
#include "bed/process.hpp"

#include <boost/version.hpp>

#include <barrier>

using namespace redlock;
using namespace redlock::test;

BOOST_AUTO_TEST_SUITE(manager_shutdown)

namespace {

struct section {
    std::optional<clock::time_point> begun, ended;
    bool done = false;
    std::exception_ptr failure;

    void run(lock_world& w, lock_manager& locks, acquire_options options, clock::duration length)
    {
        auto body = [&w, this, length](lock& held) -> asio::awaitable<void> {
            begun = w.now;
            co_await uncancellable_work(w, length);
            still_held = held.held();
            ended = w.now;
        };
        locks.with_lock("stock", options, body, [this](std::exception_ptr e) {
            done = true;
            failure = e;
        });
    }

    bool still_held = false;
};

lock_ticket ticket_of_a_lock()
{
    lock_world w(3);
    auto const locks = w.manager();
    return w.acquire(*locks, "stock").held.detach();
}

}  // namespace

BOOST_AUTO_TEST_CASE(shutdown_keeps_the_lock_until_the_body_has_ended)
{
    for (bool const destroyed : {false, true}) {
        lock_world w(3);
        auto locks = w.manager(), others = w.manager();
        section first, second;
        first.run(w, *locks, {}, 300ms);
        w.run_for(100ms);
        second.run(w, *others, {.wait = 10s}, 1ms);
        std::optional<lock_world::call> stopped;
        if (destroyed)
            locks.reset();
        else
            stopped.emplace(w, asio::cancellation_slot(), [&](auto done) { locks->async_shutdown(std::move(done)); });
        w.run_to([&] { return first.done && second.done && (destroyed || stopped->ec); });

        BOOST_TEST_REQUIRE((first.ended && second.begun));
        BOOST_TEST((*second.begun >= *first.ended));
        BOOST_TEST(first.still_held);
        BOOST_TEST(!first.failure);  // the body was not cancelled
        if (!destroyed)
            BOOST_TEST((stopped->ec == error_code() && stopped->when >= *first.ended));
        BOOST_TEST(w.keys("lock:stock") == 0u);
    }
}

BOOST_FIXTURE_TEST_CASE(shutdown_renews_the_lock_of_a_body_longer_than_its_ttl, and_another<manager_of<3>>)
{
    section first, second;
    first.run(w, *locks, {.ttl = 1s}, 10s);
    w.run_for(100ms);
    second.run(w, *other, {.wait = 20s}, 1ms);
    locks.reset();
    w.run_to([&] { return first.done && second.done; });
    BOOST_TEST_REQUIRE((first.ended && second.begun));
    BOOST_TEST((*second.begun >= *first.ended));
    BOOST_TEST(!first.failure);
}

BOOST_AUTO_TEST_CASE(shutdown_waits_for_a_body_at_most_as_long_as_its_lock_is_valid)
{
    lock_world w(3);
    auto locks = w.manager({.node_timeout = 50ms, .connect_timeout = 200ms});
    section first;
    first.run(w, *locks, {.ttl = 2s, .renew = renewal::none}, 1h);
    w.run_for(100ms);
    auto const begun = w.now;
    w.shutdown(*locks);
    BOOST_TEST((w.now - begun <= 2s + 250ms));
    BOOST_TEST(!first.done);
    w.run_for(2h);
    BOOST_TEST((code_of(first.failure) == errc::lost));
}

// A lock counts as lost a margin before `valid_until`. A holder that has checked `held()` before may still be writing.
BOOST_AUTO_TEST_CASE(shutdown_keeps_the_lock_until_valid_until)
{
    for (bool const lost_before : {false, true}) {
        lock_world w(3);
        auto locks = w.manager(), others = w.manager();
        auto won = w.acquire(*locks, "stock", {.ttl = 4s});
        auto const until = won.held.valid_until();
        auto lost = w.start_wait_lost(won.held);
        if (lost_before)
            lost.end();
        auto stopped = w.start_shutdown(*locks);
        auto const next = w.acquire(*others, "stock", {.wait = 10s});
        BOOST_TEST(!stopped.end());
        BOOST_TEST((next.when >= until));
        BOOST_TEST((next.when < until + 100ms));  // the manager releases before the keys expire
    }
}

BOOST_FIXTURE_TEST_CASE(shutdown_completes_after_the_handle_of_a_lost_lock_ends, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 60s});
    auto const until = won.held.valid_until();
    w.start_wait_lost(won.held).end();
    auto stopped = w.start_shutdown(*locks);
    w.run_for(1s);
    BOOST_TEST(!stopped.ec.has_value());
    BOOST_TEST(w.keys("lock:stock") == 3u);
    w.drop(won, 10ms);
    BOOST_TEST((stopped.ec == error_code()));
    BOOST_TEST((w.now < until));
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(with_lock_ends_with_operation_aborted_after_shutdown, manager_of<3>)
{
    std::exception_ptr failure;
    auto body = [&](lock& held) -> asio::awaitable<void> {
        asio::steady_timer never(w.context, asio::steady_timer::time_point::max());
        try {
            co_await never.async_wait(asio::use_awaitable);
        } catch (system_error const&) {
            BOOST_TEST(held.held());
            throw;
        }
    };
    locks->with_lock("stock", {}, body, [&](std::exception_ptr e) { failure = e; });
    w.run_for(10ms);
    BOOST_TEST(!w.shutdown(*locks));
    BOOST_TEST((code_of(failure) == asio::error::operation_aborted));
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(shutdown_with_keys_left_is_an_error_only_on_request, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");
    w.each([](auto& s) { s.hung = true; });
    won.held = {};

    lock_world::call stopped(w, {}, [&](auto done) { locks->async_shutdown(std::move(done)); });
    BOOST_TEST((stopped.end() == error_code()));
    BOOST_TEST((w.shutdown(*locks) == errc::keys_left));
}

BOOST_FIXTURE_TEST_CASE(operations_of_a_manager_that_was_shut_down_say_so, manager_of<3>)
{
    lock_scope scope(*locks);
    auto const body = [](lock&) -> asio::awaitable<void> { co_return; };
    BOOST_TEST(!w.shutdown(*locks));

    BOOST_TEST(message_of(run(w, locks->async_acquire("stock", asio::use_awaitable)).failure)
               == "redlock: cannot hold \"stock\": the manager was shut down");
    BOOST_TEST(message_of(run(w, locks->async_acquire({"a", "b"}, {.wait = 1s}, asio::use_awaitable)).failure)
               == "redlock: cannot hold \"a\" and 1 more: the manager was shut down");
    BOOST_TEST(message_of(run(w, locks->async_acquire_any(slots("mailer", 2), asio::use_awaitable)).failure)
               == "redlock: cannot hold any of \"mailer:1\" and 1 more: the manager was shut down");
    BOOST_TEST(
        message_of(run(w, locks->async_acquire("stock", {.mode = mode::upgradeable}, asio::use_awaitable)).failure)
            .ends_with(": the manager was shut down"));
    BOOST_TEST(message_of(run(w, scope.async_acquire("stock", asio::use_awaitable)).failure)
               == "redlock: cannot hold \"stock\": the manager was shut down");
    BOOST_TEST(message_of(run(w, locks->with_lock("stock", body)).failure)
               == "redlock: cannot hold \"stock\": the manager was shut down");
    BOOST_TEST(message_of(run(w, locks->async_resume(ticket_of_a_lock(), {}, asio::use_awaitable)).failure)
               == "redlock: cannot resume \"stock\": the manager was shut down");
    attempt_report found;
    locks->async_found([&](error_code, attempt_report r) { found = std::move(r); });
    w.run_for(1s);
    BOOST_TEST(found.message.ends_with(": the manager was shut down"));
}

BOOST_FIXTURE_TEST_CASE(with_lock_stopped_by_shutdown_says_so, and_another<manager_of<3>>)
{
    auto blocker = w.acquire(*other, "taken", {.ttl = 1min});
    auto const body = [&](lock&) -> asio::awaitable<void> { co_await work_for(w, 1h); };
    spawned<void> works(w, locks->with_lock("stock", body));
    spawned<void> waits(w, locks->with_lock("taken", {.wait = wait_forever}, body));
    w.run_for(1s);
    BOOST_TEST(!w.shutdown(*locks));

    BOOST_TEST((works.code() == asio::error::operation_aborted));
    BOOST_TEST(message_of(works.failure) == "redlock: a body did not end under \"stock\": the manager was shut down");
    BOOST_TEST((waits.code() == asio::error::operation_aborted));
    BOOST_TEST(message_of(waits.failure) == "redlock: cannot hold \"taken\": the manager was shut down");
}

BOOST_FIXTURE_TEST_CASE(acquire_cancelled_by_the_caller_does_not_blame_the_manager, and_another<manager_of<3>>)
{
    auto blocker = w.acquire(*other, "stock", {.ttl = 1min});
    asio::cancellation_signal cancel;
    spawned<lock> waits(w, locks->async_acquire("stock", {.wait = wait_forever}, asio::use_awaitable), cancel.slot());
    w.run_for(1s);
    cancel.emit(asio::cancellation_type::terminal);
    w.run_for(1s);
    BOOST_TEST((waits.code() == asio::error::operation_aborted));
    BOOST_TEST(!contains(message_of(waits.failure), "shut down"));
}

BOOST_FIXTURE_TEST_CASE(shutdown_completes_after_handles_are_destroyed, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s, .renew = renewal::automatic});
    auto told = w.start_wait_lost(won.held);
    auto stopped = w.start_shutdown(*locks);
    w.run_for(1s);

    BOOST_TEST((told.ec == asio::error::operation_aborted));
    BOOST_TEST(won.held.held());
    BOOST_TEST(w.keys("lock:stock") == 3u);
    BOOST_TEST(!stopped.ec.has_value());
    w.drop(won, 1ms);
    BOOST_TEST((stopped.ec == error_code()));
    BOOST_TEST(w.keys("lock:stock") == 0u);
}

BOOST_FIXTURE_TEST_CASE(shutdown_completes_after_the_validity_of_a_handle_that_stays, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 10s, .renew = renewal::automatic});
    auto const until = won.held.valid_until();
    BOOST_TEST(!w.shutdown(*locks));
    BOOST_TEST((w.now >= until));
    BOOST_TEST((w.now < until + 100ms));
    BOOST_TEST(!won.held.held());
    BOOST_TEST(w.keys("lock:stock") == 0u);
    BOOST_TEST((w.release(won.held) == errc::not_held));
}

BOOST_FIXTURE_TEST_CASE(extend_and_release_during_shutdown_succeed, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock", {.ttl = 2s});
    auto stopped = w.start_shutdown(*locks);
    w.run_for(1s);
    BOOST_TEST(!w.extend(won.held, 5s));
    BOOST_TEST(w.held_after(4s, won));
    w.release(won, 1ms);
    BOOST_TEST((stopped.ec == error_code()));
}

BOOST_FIXTURE_TEST_CASE(wait_lost_after_shutdown_is_aborted, manager_of<3>)
{
    auto won = w.acquire(*locks, "stock");
    locks->async_shutdown([](error_code) {});
    w.run_for(1ms);
    BOOST_TEST((w.start_wait_lost(won.held).end() == asio::error::operation_aborted));
}

// The thread sanitizer and the address sanitizer find the errors.
BOOST_AUTO_TEST_CASE(held_and_destructor_of_a_lock_may_race_with_the_context, *boost::unit_test::label("threads"))
{
    for (int round = 0; round < 200; ++round) {
        auto const name = "dying-" + std::to_string(round);
        auto const server = memory_server::at(name);
        std::optional<asio::io_context> context(std::in_place);
        std::optional<lock_manager> locks(std::in_place, *context, manager_options{.nodes = {"memory://" + name}});
        lock observed, dropped;
        locks->async_acquire("a", {.ttl = 60s, .wait = 60s}, [&](error_code, lock l) { observed = std::move(l); });
        locks->async_acquire("b", {.ttl = 60s, .wait = 60s, .renew = renewal::automatic},
                             [&](error_code, lock l) { dropped = std::move(l); });
        while ((!observed.held() || !dropped.held()) && context->run_one() > 0) {
        }
        BOOST_TEST_REQUIRE(observed.held());
        BOOST_TEST_REQUIRE(dropped.held());
        std::barrier start(3);
        std::thread observer([&] {
            start.arrive_and_wait();
            for (int i = 0; i < 100; ++i) {
                static_cast<void>(observed.held());
                static_cast<void>(observed.remaining());
                static_cast<void>(locks->stats());
            }
        });
        std::thread dropper([&] {
            start.arrive_and_wait();
            dropped = {};
        });
        start.arrive_and_wait();
        context.reset();
        observer.join();
        dropper.join();
        BOOST_TEST_REQUIRE(!observed.held());
    }
}

BOOST_AUTO_TEST_CASE(with_lock_cancellation_signal_may_be_emitted_after_the_context)
{
    asio::cancellation_signal with_token, with_coroutine;
    {
        auto const server = memory_server::at("signal");
        asio::io_context context;
        auto const strand = asio::make_strand(context);
        lock_manager locks(context, {.nodes = {"memory://signal"}});
        auto body = [](lock&) -> asio::awaitable<void> { co_return; };
        int done = 0;
        locks.with_lock("a", body,
                        asio::bind_cancellation_slot(with_token.slot(),
                                                     asio::bind_executor(strand, [&](std::exception_ptr) { ++done; })));
        asio::co_spawn(context, locks.with_lock("b", body),
                       asio::bind_cancellation_slot(with_coroutine.slot(), [&](std::exception_ptr) { ++done; }));
        context.run();
        BOOST_TEST(done == 2);
    }
    with_token.emit(asio::cancellation_type::terminal);
#if BOOST_VERSION >= 109000  // an older co_spawn keeps the executor of its coroutine in the slot
    with_coroutine.emit(asio::cancellation_type::terminal);
#endif
}

BOOST_AUTO_TEST_CASE(held_in_a_forked_child_is_false)
{
    auto const server = memory_server::at("fork");
    asio::io_context context;
    lock_manager locks(context, {.nodes = {"memory://fork"}});
    lock held;
    locks.async_acquire("stock", [&](error_code, lock l) { held = std::move(l); });
    while (!held.held())
        context.run_one();

    testbed::process child([&] {
        bool refused = false;
        bool const looks_held = held.held() || held.remaining() > 0s;
        held.async_release([&](error_code ec) { refused = ec == errc::not_held; });
        held = {};  // sends no release
        return looks_held ? 1 : !refused ? 2 : server->size() != 1 ? 3 : 0;
    });
    BOOST_TEST(child.wait().status == 0);
    BOOST_TEST(held.held());
}

BOOST_AUTO_TEST_CASE(destructors_in_a_forked_child_run_in_any_order)
{
    for (int order = 0; order < 3; ++order) {
        auto context = std::make_unique<asio::io_context>();
        auto locks = std::make_unique<lock_manager>(
            *context, manager_options{.nodes = {"memory://fork-" + std::to_string(order)}});
        lock held;
        locks->async_acquire("stock", {.renew = renewal::automatic}, [&](error_code, lock l) { held = std::move(l); });
        while (!held.held())
            context->run_one();

        testbed::process child([&] {
            if (order == 0)
                context.reset();
            // In a fork, with_lock fails at once. It calls the handler itself, because the child runs no event loop.
            bool called = false;
            locks->with_lock(
                "order", [](lock&) -> asio::awaitable<void> { co_return; }, [&](std::exception_ptr) { called = true; });
            locks->async_acquire("order", [&](error_code, lock) {});
            if (order == 1)
                locks.reset();
            context.reset();
            locks.reset();
            held = {};
            return called ? 0 : 1;
        });
        BOOST_TEST(child.wait().status == 0);
        BOOST_TEST(held.held());
    }
}

BOOST_AUTO_TEST_CASE(shutdown_logs_nothing_after_its_completion, *boost::unit_test::label("threads"))
{
    for (int threads : {1, 4}) {
        for (int i = 0; i < 20; ++i) {
            asio::thread_pool pool(static_cast<std::size_t>(threads));
            auto const name = "log-" + std::to_string(threads) + "-" + std::to_string(i);
            auto const server = memory_server::at(name);
            std::atomic<int> lines = 0, late = 0;
            std::atomic<bool> completed = false;
            lock_manager locks(pool, {.nodes = {"memory://" + name},
                                      .node_timeout = 2ms,
                                      .connect_timeout = 2ms,
                                      .log = [&](log_level, std::string_view) {
                                          ++lines;
                                          late += completed;
                                      }});
            auto held = locks.async_acquire("stock", {.ttl = 10s, .wait = 10s}, asio::use_future).get();
            server->set_fault(memory_server::fault::hung);
            held = {};  // the manager logs that the release fails
            std::promise<void> done;
            locks.async_shutdown([&](error_code) {
                completed = true;
                done.set_value();
            });
            done.get_future().get();
            std::this_thread::sleep_for(1ms);
            pool.stop();
            pool.join();
            BOOST_TEST(lines > 0);
            BOOST_TEST(late == 0);
        }
    }
}

BOOST_AUTO_TEST_CASE(with_lock_after_the_end_of_the_context_completes_at_once, *boost::unit_test::label("threads"))
{
    auto context = std::make_unique<asio::io_context>();
    lock_manager locks(*context, {.nodes = {"memory://gone"}});
    context.reset();
    std::exception_ptr failure;
    std::optional<std::thread::id> thread;
    locks.with_lock(
        "stock", [](lock&) -> asio::awaitable<void> { co_return; },
        [&](std::exception_ptr e) {
            thread = std::this_thread::get_id();
            failure = e;
        });
    BOOST_TEST((thread == std::this_thread::get_id()));
    BOOST_TEST((code_of(failure) == asio::error::operation_aborted));
    BOOST_TEST(message_of(failure).find("\"stock\"") != std::string::npos);
}

BOOST_AUTO_TEST_CASE(acquire_after_the_end_of_the_context_has_the_report_that_it_asked_for)
{
    auto context = std::make_unique<asio::io_context>();
    lock_manager locks(*context, {.nodes = {"memory://gone"}});
    context.reset();
    std::vector<std::shared_ptr<attempt_report const>> reports;
    auto const handler = [&](error_code, lock l) { reports.push_back(l.report()); };
    locks.async_acquire("stock", {.explain = true}, handler);
    locks.async_resume({.resources = "stock", .token = "t"}, {.explain = true}, handler);
    locks.async_acquire("stock", {.wait = 1s}, handler);
    BOOST_TEST_REQUIRE(reports.size() == 3u);
    BOOST_TEST_REQUIRE((reports[0] && reports[1] && !reports[2]));
    BOOST_TEST((reports[0]->outcome == asio::error::operation_aborted));
    BOOST_TEST(reports[0]->message.find("cannot hold \"stock\": the execution context") != std::string::npos);
    BOOST_TEST(reports[1]->message.find("cannot resume \"stock\": the execution context") != std::string::npos);
}

BOOST_AUTO_TEST_SUITE_END()
