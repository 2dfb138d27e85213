#pragma once

#include <redlock/detail/recycler.hpp>

#include <coroutine>
#include <exception>
#include <optional>
#include <utility>

namespace redlock::inline v1::runtime {

/** A coroutine with the steps of an operation. It begins when it is awaited. It waits for other tasks, or until the
    owner of its @ref suspended object resumes it.

    Unlike `asio::awaitable` it has no executor, no cancellation and no thread. It does not need them, because every
    operation runs on the manager's strand and handles cancellation itself. This makes it several times cheaper.
*/
template <class T>
class task;

namespace tasks {

struct promise_base {
    std::coroutine_handle<> outermost;  ///< destroying it destroys the whole chain
    std::coroutine_handle<> caller;     ///< continues when this coroutine has ended
    std::exception_ptr failure;

    std::suspend_always initial_suspend() const noexcept { return {}; }
    auto final_suspend() const noexcept
    {
        struct back_to_caller {
            bool await_ready() const noexcept { return false; }
            std::coroutine_handle<> await_suspend(std::coroutine_handle<>) const noexcept { return caller; }
            void await_resume() const noexcept {}
            std::coroutine_handle<> caller;
        };
        return back_to_caller{caller};
    }
    void unhandled_exception() noexcept { failure = std::current_exception(); }

    static void* operator new(std::size_t size) { return detail::recycled_new(size); }
    static void operator delete(void* memory, std::size_t size) noexcept { detail::recycled_delete(memory, size); }
};

template <class T>
struct promise : promise_base {
    task<T> get_return_object() noexcept;
    void return_value(T value) { result = std::move(value); }
    std::optional<T> result;
};

template <>
struct promise<void> : promise_base {
    task<void> get_return_object() noexcept;
    void return_void() const noexcept {}
};

/// Destroys itself at its end.
struct root {
    struct promise_type : promise_base {
        root get_return_object() noexcept
        {
            outermost = std::coroutine_handle<promise_type>::from_promise(*this);
            return {};
        }
        std::suspend_never initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void unhandled_exception() const { throw; }  // out of memory for the call of the handler
        void return_void() const noexcept {}
    };
};

}  // namespace tasks

template <class T>
class [[nodiscard]] task {
public:
    using promise_type = tasks::promise<T>;

    task(task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
    task& operator=(task&&) = delete;
    ~task()
    {
        if (handle_)
            handle_.destroy();
    }

    bool await_ready() const noexcept { return false; }

    template <class Promise>
    std::coroutine_handle<> await_suspend(std::coroutine_handle<Promise> caller) noexcept
    {
        handle_.promise().outermost = caller.promise().outermost;
        handle_.promise().caller = caller;
        return handle_;
    }

    T await_resume()
    {
        auto& p = handle_.promise();
        if (p.failure)
            std::rethrow_exception(p.failure);
        if constexpr (!std::is_void_v<T>)
            return std::move(*p.result);
    }

private:
    friend promise_type;
    explicit task(std::coroutine_handle<promise_type> handle) noexcept : handle_(handle) {}

    std::coroutine_handle<promise_type> handle_;
};

template <class T>
task<T> tasks::promise<T>::get_return_object() noexcept
{
    return task<T>(std::coroutine_handle<promise>::from_promise(*this));
}

inline task<void> tasks::promise<void>::get_return_object() noexcept
{
    return task<void>(std::coroutine_handle<promise>::from_promise(*this));
}

/// Begins @p steps. Calls @p done(exception_ptr, T) when they have ended, unless they are destroyed before.
template <class T, class Done>
tasks::root begin(task<T> steps, Done done)
{
    T result{};
    std::exception_ptr failure;
    try {
        result = co_await std::move(steps);
    } catch (...) {
        failure = std::current_exception();
    }
    done(std::move(failure), std::move(result));
}

/// A suspended task. Its owner resumes it. If the owner is destroyed first, the task is destroyed as well.
class suspended {
public:
    suspended() = default;
    template <class Promise>
    explicit suspended(std::coroutine_handle<Promise> innermost) noexcept
        : innermost_(innermost), outermost_(innermost.promise().outermost)
    {
    }
    suspended(suspended&& other) noexcept
        : innermost_(std::exchange(other.innermost_, {})), outermost_(other.outermost_)
    {
    }
    suspended& operator=(suspended&& other) noexcept
    {
        std::swap(innermost_, other.innermost_);
        std::swap(outermost_, other.outermost_);
        return *this;
    }
    ~suspended() { destroy(); }

    explicit operator bool() const noexcept { return static_cast<bool>(innermost_); }

    void resume() && { std::exchange(innermost_, {}).resume(); }

    void destroy() noexcept
    {
        if (std::exchange(innermost_, {}))
            outermost_.destroy();
    }

    /// The task continues without a call of resume().
    void forget() noexcept { innermost_ = {}; }

private:
    std::coroutine_handle<> innermost_;
    std::coroutine_handle<> outermost_;
};

namespace tasks {

template <class Start>
struct suspension {
    bool await_ready() const noexcept { return false; }

    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> innermost)
    {
        place = suspended(innermost);
        try {
            start();
        } catch (...) {  // the task continues immediately, with the exception
            place.forget();
            throw;
        }
    }

    void await_resume() const noexcept {}

    suspended& place;
    Start start;
};

}  // namespace tasks

/// Suspends the task into @p place and calls @p start, which must not resume the task before it returns.
template <class Start>
tasks::suspension<Start> suspend_into(suspended& place, Start start)
{
    return {place, std::move(start)};
}

}  // namespace redlock::runtime
