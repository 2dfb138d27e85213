// Completion tokens, executors, allocators, cancellation and threads of Asio. The tests use memory nodes and real time.

#include "support/cancelled_after.hpp"

#include <redlock.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_allocator.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>
#include <boost/version.hpp>
#if BOOST_VERSION >= 108600
#include <boost/asio/cancel_after.hpp>
#endif

#include <atomic>
#include <memory_resource>
#include <thread>

using namespace redlock;
using namespace std::chrono_literals;

BOOST_AUTO_TEST_SUITE(asio_integration)

namespace {

// Each test has its own nodes and keeps them alive.
struct memory_servers {
    explicit memory_servers(std::size_t count = 3)
    {
        static std::atomic<int> last{0};
        auto const number = std::to_string(++last);
        for (std::size_t i = 0; i < count; ++i) {
            auto const name = "asio-" + number + "-" + std::to_string(i);
            nodes.push_back(memory_server::at(name));
            urls.push_back("memory://" + name);
        }
    }

    std::size_t keys() const
    {
        std::size_t n = 0;
        for (auto& m : nodes)
            n += m->size();
        return n;
    }

    std::vector<std::shared_ptr<memory_server>> nodes;
    std::vector<std::string> urls;
};

struct on_a_loop {
    memory_servers m;
    asio::io_context context;
    lock_manager locks{context, {.nodes = m.urls}};
};

}  // namespace

BOOST_FIXTURE_TEST_CASE(async_acquire_accepts_each_kind_of_completion_token, on_a_loop)
{
    int done = 0;

    locks.async_acquire("callback", {}, [&](error_code ec, lock l) { done += !ec && l.held(); });
    auto future = locks.async_acquire("future", {}, asio::use_future);
    auto operation = locks.async_acquire("deferred", {}, asio::deferred);
    std::move(operation)([&](error_code ec, lock l) { done += !ec && l.held(); });
    auto run = [&]() -> asio::awaitable<void> {
        auto a = co_await locks.async_acquire("awaitable", {}, asio::use_awaitable);
        auto b = co_await locks.async_acquire("default token", {});
        auto [ec, c] = co_await locks.async_acquire("awaitable", {}, asio::as_tuple(asio::use_awaitable));
        BOOST_TEST((ec == errc::contended));
        auto [d_ec, d] = co_await locks.async_acquire("deferred tuple", {}, asio::as_tuple(asio::deferred));
        BOOST_TEST(d.held());
        auto [order, e_ec, e, f_ec, f] = co_await asio::experimental::make_parallel_group(
                                             locks.async_acquire("group 1", {}), locks.async_acquire("group 2", {}))
                                             .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
        done += a.held() && b.held() && e.held() && f.held();
        co_await a.async_extend(20s);
        co_await a.async_release();
        while (future.wait_for(0s) != std::future_status::ready)
            co_await asio::post(context, asio::use_awaitable);
        done += future.get().held();
        b = {}, e = {}, f = {}, d = {};  // otherwise, the shutdown would wait for these locks
        co_await locks.async_shutdown();
    };
    asio::co_spawn(context, run(), asio::use_future);
    context.run();

    BOOST_TEST(done == 4);
    BOOST_TEST(m.keys() == 0u);
}

#if BOOST_VERSION >= 108600
BOOST_FIXTURE_TEST_CASE(async_acquire_with_cancel_after_aborts_and_leaves_no_key, on_a_loop)
{
    m.nodes[0]->set("lock:stock", "foreign", 0ms);
    m.nodes[1]->set("lock:stock", "foreign", 0ms);
    error_code result;
    locks.async_acquire("stock", {.wait = wait_forever}, asio::cancel_after(100ms, [&](error_code ec, lock) {
                            result = ec;
                            locks.async_shutdown([](error_code) {});
                        }));
    context.run();
    BOOST_TEST((result == asio::error::operation_aborted));
    BOOST_TEST(m.keys() == 2u);
}
#endif

BOOST_AUTO_TEST_CASE(async_acquire_beside_a_timer_is_cancelled_when_the_timer_wins)
{
    using namespace asio::experimental::awaitable_operators;
    memory_servers m;
    asio::io_context context;
    lock_manager locks(context, {.nodes = m.urls, .node_timeout = 500ms});
    for (auto& n : m.nodes)
        n->set_fault(memory_server::fault::hung);
    bool timed_out = false;
    auto run = [&]() -> asio::awaitable<void> {
        asio::steady_timer timer(co_await asio::this_coro::executor, 50ms);
        auto result = co_await (locks.async_acquire("stock", {.wait = 1s}, asio::use_awaitable)
                                || timer.async_wait(asio::use_awaitable));
        timed_out = result.index() == 1;
        for (auto& n : m.nodes)
            n->set_fault(memory_server::fault::none);
        co_await locks.async_shutdown();
    };
    asio::co_spawn(context, run(), asio::use_future);
    context.run();
    BOOST_TEST(timed_out);
    BOOST_TEST(m.keys() == 0u);
}

BOOST_AUTO_TEST_CASE(async_acquire_calls_the_handler_on_its_associated_executor, *boost::unit_test::label("threads"))
{
    memory_servers m;
    asio::io_context manager_context, user_context;
    lock_manager locks(manager_context, {.nodes = m.urls});
    auto const strand = asio::make_strand(user_context);
    bool on_strand = false, done = false;
    lock held;
    locks.async_acquire("stock", {}, asio::bind_executor(strand, [&](error_code, lock l) {
                            on_strand = strand.running_in_this_thread();
                            held = std::move(l);
                            done = true;
                        }));
    std::thread manager_thread([&] { manager_context.run_for(10s); });
    user_context.run();  // returns when the handler has been called: a pending handler is outstanding work
    BOOST_TEST(done);
    BOOST_TEST(on_strand);
    asio::post(manager_context, [&] { held = {}; });
    locks.async_shutdown([&](error_code) {});
    manager_thread.join();
}

BOOST_AUTO_TEST_CASE(async_functions_never_call_the_handler_before_they_return)
{
    memory_servers m(1);
    asio::io_context context;
    lock_manager locks(context, {.nodes = m.urls});
    bool inside = true;
    int calls = 0;
    auto const check = [&] {
        BOOST_TEST(!inside);
        ++calls;
    };
    asio::post(context, [&] {
        lock empty;
        locks.async_acquire("", {}, [&](error_code, lock) { check(); });
        locks.async_acquire("stock", {}, [&](error_code, lock) { check(); });
        locks.async_inspect("", [&](error_code, lock_info) { check(); });
        locks.async_shutdown([&](error_code) { check(); });
        inside = false;
    });
    context.run();
    BOOST_TEST(calls == 4);
}

BOOST_AUTO_TEST_CASE(async_acquire_uses_the_associated_allocator)
{
    struct counting : std::pmr::memory_resource {
        int allocations = 0, blocks = 0;
        void* do_allocate(std::size_t n, std::size_t a) override
        {
            ++allocations, ++blocks;
            return std::pmr::new_delete_resource()->allocate(n, a);
        }
        void do_deallocate(void* p, std::size_t n, std::size_t a) override
        {
            --blocks;
            std::pmr::new_delete_resource()->deallocate(p, n, a);
        }
        bool do_is_equal(memory_resource const& o) const noexcept override { return this == &o; }
    } memory;
    memory_servers m;
    {
        asio::io_context context;
        lock_manager locks(context, {.nodes = m.urls});
        locks.async_acquire(
            "stock", {}, asio::bind_allocator(std::pmr::polymorphic_allocator<void>(&memory), [&](error_code ec, lock) {
                BOOST_TEST(!ec);
                locks.async_shutdown([](error_code) {});
            }));
        context.run();
    }
    BOOST_TEST(memory.allocations > 0);
    BOOST_TEST(memory.blocks == 0);
}

BOOST_AUTO_TEST_CASE(lock_manager_is_used_from_all_threads_of_a_pool, *boost::unit_test::label("threads"))
{
    memory_servers m;
    std::atomic<int> inside{0}, acquired{0}, failed{0};
    {
        asio::thread_pool pool(4);
        lock_manager locks(pool, {.nodes = m.urls});
        // The macros of Boost.Test are not thread-safe, so the workers only count.
        auto worker = [&](int i) -> asio::awaitable<void> {
            for (int round = 0; round < 50; ++round) {
                auto const resource = "r" + std::to_string((i + round) % 3);
                auto [ec, held] = co_await locks.async_acquire(resource, {.ttl = 10s, .wait = 30s, .explain = true},
                                                               asio::as_tuple(asio::deferred));
                if (ec) {
                    ++failed;
                    continue;
                }
                if (resource == "r0" && ++inside != 1)
                    ++failed;
                if (!held.held())
                    ++failed;
                if (resource == "r0")
                    --inside;
                ++acquired;
                if (round % 3 == 0)
                    co_await held.async_extend(20s, asio::as_tuple(asio::deferred));
                if (round % 2 == 0)
                    co_await held.async_release(asio::as_tuple(asio::deferred));
                locks.stats();
            }
        };
        std::vector<std::future<void>> done;
        for (int i = 0; i < 16; ++i)
            done.push_back(asio::co_spawn(pool, worker(i), asio::use_future));
        for (auto& d : done)
            d.get();
        BOOST_TEST(acquired == 16 * 50);
        BOOST_TEST(failed == 0);
        locks.async_shutdown(asio::use_future).get();
        BOOST_TEST(m.keys() == 0u);
        pool.join();
    }
}

BOOST_AUTO_TEST_CASE(async_acquire_is_cancelled_from_another_thread, *boost::unit_test::label("threads"))
{
    memory_servers m;
    asio::thread_pool manager_pool(2);
    lock_manager locks(manager_pool, {.nodes = m.urls});
    asio::io_context user_context;
    m.nodes[0]->set("lock:stock", "foreign", 0ms);
    m.nodes[1]->set("lock:stock", "foreign", 0ms);
    int aborted = 0;
    for (int i = 0; i < 50; ++i) {
        locks.async_acquire(
            "stock", {.wait = wait_forever},
            test::cancelled_after(user_context.get_executor(), std::chrono::milliseconds(i),
                                  [&](error_code ec, lock) { aborted += ec == asio::error::operation_aborted; }));
    }
    user_context.run();
    BOOST_TEST(aborted == 50);
    locks.async_shutdown(asio::use_future).get();
    manager_pool.join();
}

BOOST_AUTO_TEST_SUITE_END()
