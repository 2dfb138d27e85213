#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/detail/call_options.hpp>
#include <redlock/detail/completion.hpp>
#include <redlock/detail/initiate.hpp>
#include <redlock/detail/selection.hpp>
#include <redlock/error.hpp>
#include <redlock/lock.hpp>
#include <redlock/lock_error.hpp>
#include <redlock/options.hpp>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <concepts>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>

namespace redlock::inline v1 {

namespace detail {

template <class T>
inline constexpr bool is_awaitable = false;
template <class T, class Executor>
inline constexpr bool is_awaitable<asio::awaitable<T, Executor>> = true;

}  // namespace detail

/// The body of `lock_manager::with_lock`. It is called with `lock&`, and returns an `asio::awaitable` of any result and
/// executor type.
template <class F, class Lock = lock>
concept lock_body = std::move_constructible<std::decay_t<F>> && std::invocable<std::decay_t<F>&, Lock&>
                    && detail::is_awaitable<std::invoke_result_t<std::decay_t<F>&, Lock&>>;

// g++ 11 and 12 destroy a temporary closure within a co_await twice if it captures something with a destructor by value
// (also in programs without this library). So these overloads warn of such a body. A static check within the functions
// could not: compilers hide warnings about code in installed headers.
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ < 13
#define REDLOCK_DESTROYS_CLOSURES_TWICE 1
#else
#define REDLOCK_DESTROYS_CLOSURES_TWICE 0
#endif
#if REDLOCK_DESTROYS_CLOSURES_TWICE
#define REDLOCK_NAME_THE_BODY                                                                                          \
    [[deprecated(                                                                                                      \
        "this compiler destroys a temporary lambda twice within a co_await if it captures a string, or another class " \
        "with a destructor, by value: name the lambda first, and pass the name, or std::ref of it")]]
#define REDLOCK_WARN_OF_TEMPORARY_BODIES(function, qualifier, source, selected)                                        \
    template <class F>                                                                                                 \
        requires detail::destroyed_twice<F>                                                                            \
    REDLOCK_NAME_THE_BODY auto function(resource_set resources, acquire_options options, F&& body) qualifier           \
    {                                                                                                                  \
        static_assert(lock_body<F, lock_type>, "the body takes lock& and returns an asio::awaitable");                 \
        return detail::await_body<lock_type>(source, selected, options, std::forward<F>(body));                        \
    }                                                                                                                  \
    template <lock_body<lock_type> F>                                                                                  \
        requires detail::destroyed_twice<F>                                                                            \
    REDLOCK_NAME_THE_BODY auto function(resource_set resources, F&& body) qualifier                                    \
    {                                                                                                                  \
        return detail::await_body<lock_type>(source, selected, acquire_options(), std::forward<F>(body));              \
    }                                                                                                                  \
    template <lock_body<lock_type> F, asio::completion_token_for<detail::body_signature<F, lock_type>> Token>          \
        requires detail::destroyed_twice<F, Token>                                                                     \
    REDLOCK_NAME_THE_BODY auto function(resource_set resources, acquire_options options, F&& body, Token&& token)      \
        qualifier                                                                                                      \
    {                                                                                                                  \
        return detail::run_body_under_lock<lock_type, Token>(source, selected, options, std::forward<F>(body), token); \
    }                                                                                                                  \
    template <lock_body<lock_type> F, asio::completion_token_for<detail::body_signature<F, lock_type>> Token>          \
        requires detail::destroyed_twice<F, Token>                                                                     \
    REDLOCK_NAME_THE_BODY auto function(resource_set resources, F&& body, Token&& token) qualifier                     \
    {                                                                                                                  \
        return detail::run_body_under_lock<lock_type, Token>(source, selected, acquire_options(),                      \
                                                             std::forward<F>(body), token);                            \
    }
#else
#define REDLOCK_WARN_OF_TEMPORARY_BODIES(function, qualifier, source, selected)
#endif

namespace detail {

template <class Token>
inline constexpr bool may_be_awaited = false;
template <class Executor>
inline constexpr bool may_be_awaited<asio::use_awaitable_t<Executor>> = true;
template <>
inline constexpr bool may_be_awaited<asio::deferred_t> = true;
template <class Token>
inline constexpr bool may_be_awaited<asio::as_tuple_t<Token>> = may_be_awaited<Token>;

/// The deduced type of a temporary closure or aggregate with a destructor. Other temporaries are destroyed once. The
/// temporary may be the named object of a std::move, which is safe, but cannot be told apart.
template <class F, class Token = asio::deferred_t>
concept destroyed_twice =
    !std::is_reference_v<F> && !std::is_trivially_destructible_v<F>
    && (std::is_aggregate_v<F> || !std::is_move_assignable_v<F>)&&may_be_awaited<std::decay_t<Token>>;

using acquire_handler = completion<void(reported_error, lock_handle)>;
}

namespace locks {

/// @param explains whether the error includes its report
REDLOCK_API void start_acquire(std::shared_ptr<manager_state>, detail::selection, detail::call_options,
                               detail::acquire_handler, bool explains);

/// The same as @ref start_acquire, in a scope.
REDLOCK_API void start_acquire_in_scope(std::shared_ptr<scope_state>, detail::selection, detail::call_options,
                                        detail::acquire_handler, bool explains);

}  // namespace locks

namespace detail {

/// The source of a lock: a manager, or a scope of a manager.
struct lock_source {
    lock_source(std::shared_ptr<locks::manager_state> m = {}, std::shared_ptr<locks::scope_state> s = {}) noexcept
        : manager(std::move(m)), scope(std::move(s))
    {
    }

    std::shared_ptr<locks::manager_state> manager;
    std::shared_ptr<locks::scope_state> scope;  ///< null: no scope
};

/** Runs a body under a lock. This class has everything that does not depend on types.

    It runs on one strand of the caller's executor. The user's cancellation slot has only a weak pointer to it, because
    the slot may be destroyed after the strand's execution context.
*/
class REDLOCK_API body_run : public cancellable, public std::enable_shared_from_this<body_run> {
public:
    ~body_run() override;

    void start(lock_source, selection selected, call_options);
    void request_cancel(asio::cancellation_type) override;

protected:
    explicit body_run(asio::any_io_executor strand);

    virtual lock_handle& held() noexcept = 0;
    virtual void spawn() = 0;                       ///< calls @ref ended, unless it throws
    virtual void complete(std::exception_ptr) = 0;  ///< calls the user's handler
    asio::cancellation_slot slot() noexcept { return signal_.slot(); }
    void ended(std::exception_ptr);
    auto end()  // as a completion handler
    {
        return [self = shared_from_this()](std::exception_ptr failure) { self->ended(std::move(failure)); };
    }
    void spawn_on(asio::any_io_executor const&, asio::awaitable<void>);

private:
    template <class Completion, class F>
    Completion on_strand(F);
    void acquired(reported_error, lock_handle);
    void wait_ended(locks::handle_state const&, error_code);
    void released(error_code);
    std::exception_ptr failure_of(error_code, std::string_view why) const;

    asio::any_io_executor const strand_;
    asio::cancellation_signal signal_;
    lock_source source_;
    selection selected_;
    call_options options_;
    std::exception_ptr failure_;
    std::string why_;         ///< why the lock was lost
    bool cancelled_ = false;  ///< by the caller
    bool lost_ = false;
    bool stopped_ = false;  ///< the manager stops
    bool ended_ = false;    ///< the body has ended
    bool released_itself_ = false;
};

// The result of a body. It needs no default constructor; for void, the type is std::monostate.
template <class T>
using result_slot = std::optional<std::conditional_t<std::is_void_v<T>, std::monostate, T>>;

// The result type may be local to a function. In a header this is correct, so the warning is disabled.
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wsubobject-linkage"
#endif
template <class T, class Executor>
asio::awaitable<void, Executor> keep_result(asio::awaitable<T, Executor> body, result_slot<T>& result)
{
    if constexpr (std::is_void_v<T>) {
        co_await std::move(body);
        result.emplace();
    } else {
        result.emplace(co_await std::move(body));
    }
}
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC diagnostic pop
#endif

inline bool is_cancellation(std::exception_ptr const& failure)
{
    try {
        std::rethrow_exception(failure);
    } catch (system_error const& e) {
        return e.code() == asio::error::operation_aborted;
    } catch (...) {
        return false;
    }
}

/// Why no body can run any more: the execution context has ended, or this process is a fork. Null if a body can run.
REDLOCK_API std::exception_ptr end_of(locks::manager_state const&, selection const&);

template <class F, class Lock>
using body_result = typename std::invoke_result_t<std::decay_t<F>&, Lock&>::value_type;
template <class F, class Lock>
using body_executor = typename std::invoke_result_t<std::decay_t<F>&, Lock&>::executor_type;

template <class... Results>
struct body_signature_of {
    using type = void(std::exception_ptr, Results...);
};
template <>
struct body_signature_of<void> : body_signature_of<> {};
template <class F, class Lock>
using body_signature = typename body_signature_of<body_result<F, Lock>>::type;

template <class T>
inline constexpr bool is_strand = false;
template <class Executor>
inline constexpr bool is_strand<asio::strand<Executor>> = true;

// A strand of the executor, if the body's coroutine can run on one; otherwise the executor itself.
template <class Executor, class Given>
Executor strand_of(Given const& given)
{
    if constexpr (std::is_same_v<Executor, Given> && is_strand<Executor>)
        return given;
    else if constexpr (!is_strand<Executor> && std::is_constructible_v<Executor, asio::strand<Given>>)
        return Executor(asio::make_strand(given));
    else if constexpr (!is_strand<Executor> && std::is_constructible_v<Executor, Given const&>)
        return Executor(given);
    else
        return executor_as<Executor>(given);
}

// @p Signature is that of the user's handler: without a result, with the result, or with a @ref result_slot.
template <class T, class Signature>
void finish(completion<Signature>& done, std::exception_ptr failure, result_slot<T> result)
{
    if constexpr (std::is_same_v<Signature, void(std::exception_ptr)>)
        done(std::move(failure));
    else if constexpr (std::is_same_v<Signature, void(std::exception_ptr, result_slot<T>)>)
        done(std::move(failure), std::move(result));
    else
        done(failure, failure ? T() : std::move(*result));
}

template <class F, class Lock, class Signature>
class body_run_of final : public body_run {
    using result_type = body_result<F, Lock>;
    using executor_type = body_executor<F, Lock>;

public:
    body_run_of(executor_type executor, F body, completion<Signature> done)
        : body_run(executor), executor_(std::move(executor)), body_(std::move(body)), done_(std::move(done))
    {
    }

    void begin(lock_source from, selection selected, call_options options)
    {
        done_.on_cancel(weak_from_this());
        start(std::move(from), std::move(selected), std::move(options));
    }

private:
    lock_handle& held() noexcept override { return held_; }

    void spawn() override
    {
        auto body = keep_result<result_type, executor_type>(body_(held_), result_);
        if constexpr (std::is_same_v<executor_type, asio::any_io_executor>)
            spawn_on(executor_, std::move(body));  // compiled once, in the library
        else
            asio::co_spawn(executor_, std::move(body),
                           asio::bind_cancellation_slot(slot(), asio::bind_executor(executor_, end())));
    }

    void complete(std::exception_ptr failure) override
    {
        finish<result_type>(done_, std::move(failure), std::move(result_));
    }

    executor_type const executor_;
    F body_;
    completion<Signature> done_;
    Lock held_;
    result_slot<result_type> result_;
};

template <class F, class Lock, class Signature>
struct initiate_body {
    lock_source source;

    using executor_type = asio::any_io_executor;
    executor_type get_executor() const noexcept { return locks::executor_of(source.manager); }

    template <class Handler>
    void operator()(Handler&& handler, selection selected, call_options options, F body) const
    {
        using executor = body_executor<F, Lock>;
        if (auto ended = end_of(*source.manager, selected)) {
            completion<Signature> done(std::decay_t<Handler>(std::forward<Handler>(handler)), get_executor());
            return finish<body_result<F, Lock>>(done, std::move(ended), {});
        }
        auto on = strand_of<executor>(asio::get_associated_executor(handler, get_executor()));
        auto const run = std::make_shared<body_run_of<F, Lock, Signature>>(
            std::move(on), std::move(body),
            completion<Signature>(std::decay_t<Handler>(std::forward<Handler>(handler)), get_executor()));
        run->begin(source, std::move(selected), std::move(options));
    }
};

template <class Lock, class CompletionToken, class F>
auto run_body_under_lock(lock_source from, selection selected, call_options options, F body,
                         std::remove_reference_t<CompletionToken>& token)
{
    using signature = body_signature<F, Lock>;
    return asio::async_initiate<CompletionToken, signature>(initiate_body<F, Lock, signature>{std::move(from)}, token,
                                                            std::move(selected), std::move(options), std::move(body));
}

template <class Lock, class F>
std::invoke_result_t<F&, Lock&> await_body(lock_source from, selection selected, call_options options, F body)
{
    using signature = void(std::exception_ptr, result_slot<body_result<F, Lock>>);
    asio::use_awaitable_t<body_executor<F, Lock>> const token;
    // A named object: g++ 12 would destroy a temporary twice within the co_await.
    initiate_body<F, Lock, signature> initiation{std::move(from)};
    auto running = asio::async_initiate<decltype(token), signature>(std::move(initiation), token, std::move(selected),
                                                                    std::move(options), std::move(body));
    auto result = co_await std::move(running);
    if constexpr (!std::is_void_v<body_result<F, Lock>>)
        co_return std::move(*result);
}

}  // namespace detail
}  // namespace redlock
