#pragma once

#include "locks/manager_state.hpp"
#include "quorum/round.hpp"
#include "runtime/operation.hpp"
#include "runtime/task.hpp"

#include <boost/asio/cancellation_type.hpp>
#include <boost/asio/error.hpp>
#include <boost/intrusive/list.hpp>

#include <memory>
#include <utility>

namespace redlock::inline v1::locks {

/// An operation that asks nodes in rounds, and waits for their answers. A cancellation ends all its waits at once.
template <class Derived>
class asking_operation : public runtime::shared_operation<Derived> {
public:
    /// Makes an operation for a call of the user, and runs its @p steps. The user's cancellation slot reaches it. From
    /// any thread.
    template <class... Given>
    static void start(runtime::task<error_code> (*steps)(std::shared_ptr<Derived>), std::shared_ptr<manager_state> s,
                      Given&&... given)
    {
        auto const o = std::make_shared<Derived>(s, std::forward<Given>(given)...);
        if (s->abandoned())
            return o->complete(asio::error::operation_aborted);
        o->done.on_cancel(o);
        s->operations.run(o, steps(o));
    }

    void cancel(asio::cancellation_type) override
    {
        auto const self = this->shared_from_this();  // the task that ends may be the last owner
        cancelled_ = true;
        for (auto next = asking_.begin(); next != asking_.end();)
            (next++)->asked.end_wait();  // a round that is decided leaves the list
    }

    void abandon() override
    {
        auto const self = this->shared_from_this();  // the task that is destroyed may be the last owner
        while (!asking_.empty()) {
            auto& asked = asking_.front().asked;
            asking_.pop_front();
            asked.abandon();
        }
    }

protected:
    explicit asking_operation(std::shared_ptr<manager_state> s)
        : runtime::shared_operation<Derived>(s->strand()), state_(std::move(s))
    {
    }
    ~asking_operation() = default;

    bool stopped() const noexcept { return cancelled_ || !state_->shutdown.open(); }

    /// Sends @p r, and waits until it is decided. The caller keeps @p r until then. Several tasks may wait.
    auto gather(quorum::round& r) { return gathering(r, asking_); }

    std::shared_ptr<manager_state> const state_;
    bool cancelled_ = false;

private:
    using hook = boost::intrusive::list_base_hook<boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;
    using wait = decltype(std::declval<quorum::round&>().gather());

    struct gathering;
    using list = boost::intrusive::list<gathering, boost::intrusive::base_hook<hook>,
                                        boost::intrusive::constant_time_size<false>>;

    // Its destructor leaves the list, also if the wait failed, out of memory.
    struct gathering : wait, hook {
        gathering(quorum::round& r, list& l) : wait(r.gather()), asked(r) { l.push_back(*this); }
        gathering(gathering const&) = delete;

        quorum::round& asked;
    };

    list asking_;  ///< rounds that a task waits for
};

}  // namespace redlock::locks
