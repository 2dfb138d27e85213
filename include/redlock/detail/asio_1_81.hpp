#pragma once

#include <boost/version.hpp>
#if BOOST_VERSION < 108200
#include <boost/asio/awaitable.hpp>

#include <exception>
#include <tuple>
#include <utility>

namespace redlock::inline v1 {

template <class Executor>
class basic_lock;

}  // namespace redlock

// In Boost 1.81, `co_await` of an operation that completes with an exception and one value does not compile: a member
// is misspelled (`*result` for `*result.ex_`). Boost 1.82 has fixed this. For locks, this class replaces Asio's.
template <class R, class E, class Executor>
class boost::asio::detail::awaitable_async_op_handler<R(std::exception_ptr, redlock::basic_lock<E>), Executor>
    : public awaitable_async_op_handler<R(std::exception_ptr, redlock::basic_lock<E>, int), Executor> {
    using base = awaitable_async_op_handler<R(std::exception_ptr, redlock::basic_lock<E>, int), Executor>;

public:
    using base::base;

    void operator()(std::exception_ptr e, redlock::basic_lock<E> lock)
    {
        base::operator()(std::move(e), std::move(lock), 0);
    }

    static redlock::basic_lock<E> resume(typename base::result_type& result)
    {
        if (*result.ex_)
            std::rethrow_exception(std::exchange(*result.ex_, nullptr));
        return std::get<0>(std::move(*result.value_));
    }
};
#endif
