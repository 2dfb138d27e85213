#pragma once

#include "locks/manager_state.hpp"
#include "quorum/round.hpp"
#include "runtime/operation.hpp"
#include "runtime/task.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/post.hpp>

#include <memory>
#include <utility>

namespace redlock::inline v1::locks {

/** An operation that waits for the nodes' answers, and for times.

    A cancellation ends either wait at once. But if nodes may have been asked, and the caller wants no side effects, the
    operation still finishes the current round. If that round wins, the operation succeeds.
*/
template <class Derived>
class waiting_operation : public runtime::shared_operation<Derived> {
public:
    void cancel(asio::cancellation_type type) override
    {
        if (!sleeper_ && has_asked() && !runtime::may_leave_traces(type)) {
            last_round_ = true;
            return;
        }
        cancelled_ = true;
        wake();
        if (asking_)
            asking_->end_wait();
    }

    void abandon() override
    {
        auto const self = this->shared_from_this();  // the task that is destroyed may be the last owner
        auto const sleeper = std::move(sleeper_);
        if (asking_)
            asking_->abandon();
    }

protected:
    explicit waiting_operation(std::shared_ptr<manager_state> s)
        : runtime::shared_operation<Derived>(s->strand()), state_(std::move(s)), alarm_([this] { wake(); })
    {
    }
    ~waiting_operation() = default;

    /// Whether nodes may have been asked for something.
    virtual bool has_asked() const noexcept { return false; }

    bool stopped() const noexcept { return cancelled_ || last_round_ || !state_->shutdown.open(); }

    /// Sleeps until somebody wakes it, or until @p until.
    auto sleep(clock::time_point until)
    {
        return runtime::suspend_into(sleeper_, [this, until] {
            if (until != clock::time_point::max())
                state_->runtime.set(alarm_, until);
        });
    }

    void wake()
    {
        alarm_.clear();
        if (sleeper_)  // posted: a chain of wake-ups must not recurse
            asio::post(state_->strand(), [sleeper = std::move(sleeper_)]() mutable { std::move(sleeper).resume(); });
    }

    /// Sends @p r, and waits until it is decided. The caller keeps @p r until then.
    auto gather(quorum::round& r)
    {
        asking_ = &r;
        return gathering{{r.gather()}, asking_};
    }

    std::shared_ptr<manager_state> const state_;
    bool cancelled_ = false;
    bool last_round_ = false;  ///< cancelled, unless the current round wins
    runtime::suspended sleeper_;

private:
    struct gathering : decltype(std::declval<quorum::round&>().gather()) {
        ~gathering() { asking = nullptr; }  // also if the wait failed, out of memory

        quorum::round*& asking;
    };

    quorum::round* asking_ = nullptr;  ///< set while it waits for answers
    runtime::alarm alarm_;
};

}  // namespace redlock::locks
