#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/detail/asio_1_81.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/lock_error.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/use_future.hpp>
#include <boost/version.hpp>

#include <exception>
#include <memory>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace redlock::inline v1::locks {

class manager_state;
class scope_state;
class handle_state;

// The executor for handlers of the operation that have no executor of their own.
REDLOCK_API asio::any_io_executor executor_of(std::shared_ptr<manager_state> const&) noexcept;
REDLOCK_API asio::any_io_executor executor_of(std::shared_ptr<scope_state> const&) noexcept;
REDLOCK_API asio::any_io_executor executor_of(std::shared_ptr<handle_state> const&) noexcept;

}  // namespace redlock::locks

namespace redlock::inline v1::detail {

// The type-erased executor, converted to the user's type.
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

// Starts an operation. It provides the executor for `cancel_after` and similar tokens. The user's handler takes
// @p Results.
template <class Object, class Start, class Completion, class... Results>
struct initiation {
    std::shared_ptr<Object> object;
    Start start;

    using executor_type = asio::any_io_executor;
    executor_type get_executor() const noexcept { return locks::executor_of(object); }

    template <class Handler, class... Args>
    void operator()(Handler&& handler, Args&&... args) const
    {
        start(object, std::forward<Args>(args)...,
              Completion(std::decay_t<Handler>(std::forward<Handler>(handler)), get_executor(), results<Results...>()));
    }
};

#if BOOST_VERSION >= 108700
using deferred_token = asio::deferred_t;
using thrown_error = reported_error;
#else
// Asio throws only error codes and exceptions. This token is `deferred` for operations that complete with an exception.
struct deferred_token : asio::deferred_t {};
using thrown_error = std::exception_ptr;
#endif

// The default completion token of @p Executor. If it has none, this is `deferred`. Before Boost 1.86, Asio has no
// default.
template <class Executor, class Token = typename asio::default_completion_token<Executor>::type>
using default_token =
    std::conditional_t<std::is_void_v<Token> || std::is_same_v<Token, asio::deferred_t>, deferred_token, Token>;

// Whether a token throws the error of its operation as a @ref lock_error.
template <class CompletionToken>
inline constexpr bool throws = false;
template <>
inline constexpr bool throws<deferred_token> = true;
template <class Executor>
inline constexpr bool throws<asio::use_awaitable_t<Executor>> = true;
template <class Allocator>
inline constexpr bool throws<asio::use_future_t<Allocator>> = true;

template <class Signature>
struct initiate;

// @p CompletionToken is the deduced type: a reference if the caller keeps the token. So a token that the caller keeps
// is never moved from.
template <class... Results>
struct initiate<void(Results...)> {
    template <class Completion, class CompletionToken, class Object, class Start, class... Args>
    static auto on(std::shared_ptr<Object> const& object, Start start, std::remove_reference_t<CompletionToken>& token,
                   Args&&... args)
    {
        return asio::async_initiate<CompletionToken, void(Results...)>(
            initiation<Object, Start, Completion, Results...>{object, std::move(start)}, token,
            std::forward<Args>(args)...);
    }
};

}  // namespace redlock::detail

#if BOOST_VERSION < 108700
template <class Signature>
struct boost::asio::async_result<redlock::detail::deferred_token, Signature> : async_result<deferred_t, Signature> {};
#endif
