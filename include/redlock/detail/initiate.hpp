#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/detail/completion.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/version.hpp>

#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace redlock::detail {

class manager_state;
class scope_state;
class stake;

// Where the handlers of an operation belong that have no executor of their own.
REDLOCK_API asio::any_io_executor executor_of(std::shared_ptr<manager_state> const&) noexcept;
REDLOCK_API asio::any_io_executor executor_of(std::shared_ptr<scope_state> const&) noexcept;
REDLOCK_API asio::any_io_executor executor_of(std::shared_ptr<stake> const&) noexcept;

// The type-erased executor as what the user knows it to be.
template <class Executor>
Executor executor_as(asio::any_io_executor e)
{
    if constexpr (std::is_constructible_v<Executor, asio::any_io_executor>) {
        return Executor(std::move(e));
    } else {
        auto const* known = e.target<Executor>();
        if (!known)
            throw std::invalid_argument("redlock: the executor is of another type than the manager's");
        return *known;
    }
}

// The default completion token of @p Executor. Before Boost 1.86, an executor of Asio has none; later ones have `deferred`.
template <class Executor, class Token = typename asio::default_completion_token<Executor>::type>
using default_token = std::conditional_t<std::is_void_v<Token>, asio::deferred_t, Token>;

// Starts an operation. It carries the executor for `cancel_after` and the like. @p Results is what the user's handler takes.
template <class Object, class Start, class Completion, class... Results>
struct initiation {
    std::shared_ptr<Object> object;
    Start start;

    using executor_type = asio::any_io_executor;
    executor_type get_executor() const noexcept { return executor_of(object); }

    template <class Handler, class... Args>
    void operator()(Handler&& handler, Args&&... args) const
    {
        start(object, std::forward<Args>(args)...,
              Completion(std::decay_t<Handler>(std::forward<Handler>(handler)), get_executor(), results<Results...>()));
    }
};

// Whether a token throws the error of its operation as a @ref lock_error. Before Boost 1.87, Asio throws error codes only.
template <class CompletionToken>
inline constexpr bool throws = false;
#if BOOST_VERSION >= 108700
template <>
inline constexpr bool throws<asio::deferred_t> = true;
template <class Executor>
inline constexpr bool throws<asio::use_awaitable_t<Executor>> = true;
template <class Allocator>
inline constexpr bool throws<asio::use_future_t<Allocator>> = true;
#endif

template <class Signature>
struct initiate;

// What @p CompletionToken was deduced to be, a reference if the caller keeps it, is handed through: only what is given away is
// moved from.
template <class... Results>
struct initiate<void(Results...)> {
    template <class Completion, class CompletionToken, class Object, class Start, class... Args>
    static auto on(std::shared_ptr<Object> const& object, Start start, std::remove_reference_t<CompletionToken>& token, Args&&... args)
    {
        return asio::async_initiate<CompletionToken, void(Results...)>(
            initiation<Object, Start, Completion, Results...>{object, std::move(start)}, token, std::forward<Args>(args)...);
    }
};

}  // namespace redlock::detail
