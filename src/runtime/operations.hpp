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

namespace redlock::inline v1::runtime {

/// The running operations of one manager. Call it on the strand, except where a comment says otherwise.
class operations {
public:
    /// @param left called when an operation has ended
    operations(redlock::runtime::strand on, std::function<void()> left) : strand_(std::move(on)), left_(std::move(left))
    {
    }

    /// Runs the @p steps of @p o on the strand, and then completes @p o with their result, or with an error if they
    /// throw. From any thread.
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

    void enter(operation&);  ///< does nothing if the operation is in the list already
    void leave(operation&);  ///< does nothing if the operation is not in the list

    bool empty() const noexcept { return running_.empty(); }
    std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }  ///< from any thread

    /// The manager shuts down: asks each operation to stop.
    void stop();

    /// The execution context ends.
    void abandon();

private:
    static error_code error_of(std::exception_ptr const&) noexcept;

    redlock::runtime::strand const strand_;
    std::function<void()> const left_;
    boost::intrusive::list<operation> running_;
    std::atomic<std::size_t> size_{0};
};

}  // namespace redlock::runtime
