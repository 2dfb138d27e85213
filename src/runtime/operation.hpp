#pragma once

#include "runtime/strand.hpp"

#include <redlock/detail/completion.hpp>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/intrusive/list_hook.hpp>

#include <memory>
#include <utility>

namespace redlock::inline v1::runtime {

/// Whether a cancellation of @p type may end an operation that already has had effects.
inline bool may_leave_traces(asio::cancellation_type type) noexcept
{
    return (type & (asio::cancellation_type::terminal | asio::cancellation_type::partial))
           != asio::cancellation_type::none;
}

/// A running operation. Call it on the strand, except where a comment says otherwise.
class operation : public detail::cancellable, public boost::intrusive::list_base_hook<> {
public:
    virtual void cancel(asio::cancellation_type) = 0;
    virtual void stop() { cancel(asio::cancellation_type::terminal); }  ///< the manager shuts down
    virtual void abandon() = 0;  ///< the execution context ends: destroys the waiting coroutine
};

/// An operation that is used as a std::shared_ptr, and can be cancelled from any thread.
template <class Derived>
class shared_operation : public operation, public std::enable_shared_from_this<Derived> {
public:
    /// @p s must live longer than the operation.
    explicit shared_operation(redlock::runtime::strand const& s) : strand_(s) {}

    void request_cancel(asio::cancellation_type type) final
    {
        asio::dispatch(strand_, [self = this->shared_from_this(), type] { self->cancel(type); });
    }

private:
    redlock::runtime::strand const& strand_;
};

}  // namespace redlock::runtime
