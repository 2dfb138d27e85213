#pragma once

// Helpers for tests of the manager in virtual time.

#include "support/virtual_world.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <array>
#include <atomic>
#include <deque>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <numeric>
#include <optional>
#include <random>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace redlock::test {

using kind = node_command::kind;

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

/// A virtual pause that can be cancelled, like I/O of users.
inline asio::awaitable<void> work_for(virtual_world& w, clock::duration d)
{
    asio::steady_timer never(w.context, asio::steady_timer::time_point::max());
    auto const number = w.at(w.now + d, [&] { never.cancel(); });
    co_await never.async_wait(asio::as_tuple(asio::use_awaitable));
    w.forget(number);
    if ((co_await asio::this_coro::cancellation_state).cancelled() != asio::cancellation_type::none)
        throw system_error(asio::error::operation_aborted);
}

/// A virtual pause that ignores cancellation.
inline asio::awaitable<void> uncancellable_work(virtual_world& w, clock::duration d)
{
    co_await asio::this_coro::reset_cancellation_state(asio::disable_cancellation());
    co_await work_for(w, d);
}

/// A coroutine, and its result when it has ended.
template <class T>
struct spawned {
    spawned(virtual_world& w, asio::awaitable<T> a, asio::cancellation_slot slot = {})
    {
        auto ended = [this](std::exception_ptr e, auto... results) {
            done = true;
            failure = e;
            if (!e)
                (value.emplace(std::move(results)), ...);
        };
        asio::co_spawn(w.context, std::move(a), asio::bind_cancellation_slot(slot, ended));
    }

    error_code code() const { return code_of(failure); }
    bool succeeded() const { return done && !failure; }

    bool done = false;
    std::exception_ptr failure;
    std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>> value;
};

/// Runs a coroutine to its end.
template <class T>
spawned<T> run(virtual_world& w, asio::awaitable<T> a)
{
    spawned<T> s(w, std::move(a));
    w.run_to([&] { return s.done; });
    return s;
}

/// The message of a lock_error, which must be that of its report.
inline std::string message_of(std::exception_ptr const& failure)
{
    try {
        if (failure)
            std::rethrow_exception(failure);
    } catch (lock_error const& e) {
        BOOST_TEST(e.what() == e.report().message);
        BOOST_TEST((e.code() == e.report().outcome));
        return e.what();
    } catch (std::exception const& e) {
        return std::string("another exception: ") + e.what();
    }
    return "no exception";
}

/// A client that acquires locks repeatedly.
struct visits {
    resource_set resources;
    clock::duration hold;
    clock::duration pause{0};
    acquire_options how{.ttl = 30s, .wait = 10min};
    std::function<void(lock&)> end = [](lock& held) { held.async_release([](error_code) {}); };
};

/// Acquires and releases repeatedly while @p won returns true. @p won gets the time of each acquisition.
inline void acquire_repeatedly(lock_world& w, lock_manager& by, visits const& v,
                               std::function<bool(clock::duration)> won)
{
    by.async_acquire(v.resources, v.how, [=, &w, &by, asked = w.now](error_code ec, lock l) {
        BOOST_TEST((!ec || ec == asio::error::operation_aborted));
        if (ec || !won(w.now - asked))
            return;
        w.at(w.now + v.hold, [=, &w, &by, held = std::make_shared<lock>(std::move(l))] {
            v.end(*held);
            w.at(w.now + v.pause, [=, &w, &by] { acquire_repeatedly(w, by, v, won); });
        });
    });
}

/// Three managers that acquire "stock" shared or exclusively.
struct readers : manager_of<3> {
    explicit readers(manager_options const& settings = {})
        : manager_of(settings), second(w.manager(settings)), third(w.manager(settings))
    {
    }

    std::unique_ptr<lock_manager> second, third;

    lock_world::outcome read(lock_manager& by, acquire_options o = {})
    {
        o.mode = mode::shared;
        return w.acquire(by, "stock", o);
    }

    lock_world::outcome may_upgrade(lock_manager& by, acquire_options o = {})
    {
        o.mode = mode::upgradeable;
        return w.acquire(by, "stock", o);
    }

    lock_world::outcome write(lock_manager& by, acquire_options o = {}) { return w.acquire(by, "stock", o); }

    lock_world::outcome start(lock_manager& by, mode m, std::chrono::milliseconds wait = 1min)
    {
        return w.start(by, "stock", {.wait = wait, .mode = m});
    }
};

}  // namespace redlock::test
