#pragma once

#include "runtime/operation.hpp"
#include "runtime/task.hpp"

#include <redlock/error.hpp>

#include <boost/asio/dispatch.hpp>
#include <boost/intrusive/list.hpp>

#include <atomic>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <utility>

namespace redlock::inline v0::runtime {

/// The operations of one manager that are under way. On the strand, except where it says otherwise.
class operations {
public:
    /// @param left is called when one has left
    operations(redlock::runtime::strand on, std::function<void()> left) : strand_(std::move(on)), left_(std::move(left))
    {
    }

    /// Runs the @p steps of @p o on the strand, and completes it with their outcome on every path. Any thread.
    template <class Operation>
    void run(std::shared_ptr<Operation> o, task<error_code> steps)
    {
        asio::dispatch(strand_, [this, o = std::move(o), steps = std::move(steps)]() mutable {
            begin(std::move(steps), [this, o = std::move(o)](std::exception_ptr failure, error_code ec) {
                leave(*o);
                o->complete(failure ? error_of(failure) : ec);
            });
        });
    }

    void enter(operation&);  ///< unless it is there already
    void leave(operation&);  ///< if it is there

    bool empty() const noexcept { return running_.empty(); }
    std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }  ///< any thread

    /// The manager ends: asks each to.
    void stop();

    /// The execution context goes.
    void abandon();

private:
    static error_code error_of(std::exception_ptr const&) noexcept;

    redlock::runtime::strand const strand_;
    std::function<void()> const left_;
    boost::intrusive::list<operation> running_;
    std::atomic<std::size_t> size_{0};
};

}  // namespace redlock::runtime
