#pragma once

#include "locks/asking_operation.hpp"
#include "runtime/task.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <utility>

namespace redlock::inline v1::locks {

/** An operation that waits for the nodes' answers, and sleeps.

    A cancellation ends both at once. But if nodes may have been asked, and the caller wants no side effects, the
    operation still finishes the current round. If that round wins, the operation succeeds.
*/
template <class Derived>
class waiting_operation : public asking_operation<Derived> {
public:
    void cancel(asio::cancellation_type type) override
    {
        if (!sleeper_ && has_asked() && !runtime::may_leave_traces(type)) {
            last_round_ = true;
            return;
        }
        wake();
        asking_operation<Derived>::cancel(type);
    }

    void abandon() override
    {
        auto const self = this->shared_from_this();  // the task that is destroyed may be the last owner
        auto const sleeper = std::move(sleeper_);
        asking_operation<Derived>::abandon();
    }

protected:
    explicit waiting_operation(std::shared_ptr<manager_state> s)
        : asking_operation<Derived>(std::move(s)), alarm_([this] { wake(); })
    {
    }
    ~waiting_operation() = default;

    /// Whether nodes may have been asked for something.
    virtual bool has_asked() const noexcept { return false; }

    bool stopped() const noexcept { return last_round_ || asking_operation<Derived>::stopped(); }

    /// Sleeps until somebody wakes it, or until @p until.
    auto sleep(clock::time_point until)
    {
        return runtime::suspend_into(sleeper_, [this, until] {
            if (until != clock::time_point::max())
                this->state_->runtime.set(alarm_, until);
        });
    }

    void wake()
    {
        alarm_.clear();
        if (sleeper_)  // posted: a chain of wake-ups must not recurse
            asio::post(this->state_->strand(),
                       [sleeper = std::move(sleeper_)]() mutable { std::move(sleeper).resume(); });
    }

    bool last_round_ = false;  ///< cancelled, unless the current round wins
    runtime::suspended sleeper_;

private:
    runtime::alarm alarm_;
};

}  // namespace redlock::locks
