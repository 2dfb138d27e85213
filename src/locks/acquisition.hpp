#pragma once

#include "locks/acquire_request.hpp"
#include "locks/attempt.hpp"
#include "locks/free_watch.hpp"
#include "locks/leftovers.hpp"
#include "locks/local_turn.hpp"
#include "locks/preparation.hpp"
#include "locks/round_builder.hpp"
#include "locks/token_draw.hpp"
#include "locks/waiting_operation.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

namespace redlock::inline v1::locks {

/// Acquires a lock that may be upgraded: first the right to upgrade, which has one owner at a time, then a reader's
/// lock.
void start_upgradeable(acquire_request, detail::acquire_handler);

void start_acquire(acquire_request, detail::acquire_handler);

/** One call of `lock_manager::async_acquire` or `lock_manager::async_acquire_any`. It controls the flow from the queue
    to the lock; its members know the parts. It answers its manager's queues as a @ref waiter.
*/
class acquisition final : public waiting_operation<acquisition>, public waiter {
public:
    acquisition(acquire_request, detail::acquire_handler, lock_handle right_to_upgrade = {});

    /// The request must have been checked. @p right_to_upgrade is held as long as the lock.
    static void start(acquire_request, detail::acquire_handler, lock_handle right_to_upgrade = {});

    void cancel(asio::cancellation_type) override;
    void complete(error_code);

    void wake() override { waiting_operation::wake(); }
    bool stopped() const noexcept override { return waiting_operation::stopped(); }
    bool wants_several() const noexcept override { return request_.wants_several(); }
    bool takes_over() const noexcept override { return !wants_several() && (!wants_any() || sleeper_); }
    bool wants_any() const noexcept override { return request_.wants_any(); }
    bool shares() const noexcept override { return request_.shares(); }
    std::string_view holds_up_to() const noexcept override { return request_.holds_up_to; }
    bool awaits(core::watched of, std::size_t node, std::string_view resource) const override
    {
        return watch_.awaits(of, node, resource);
    }
    void may_be_free(core::watched of, std::size_t node, std::string_view resource) override;

private:
    /// The result of a round.
    struct judgement {
        error_code ec;
        clock::duration took;   ///< the duration of the round
        bool conflict = false;  ///< the nodes' counters are beyond the proposal, and differ
    };

    static runtime::task<error_code> run_in_queue(std::shared_ptr<acquisition>);
    static runtime::task<error_code> run(std::shared_ptr<acquisition>);

    // The steps of `run`, in their order.

    void begin();
    std::optional<error_code> end_without_asking(clock::time_point now);
    std::optional<clock::time_point> give_way(clock::time_point now);
    static runtime::task<void> get_ready(std::shared_ptr<acquisition>, clock::time_point now);
    void begin_round(clock::time_point now);
    judgement judge();
    bool fences() const noexcept { return state_->settings.fencing; }
    bool take_token();
    static runtime::task<judgement> draw_token(std::shared_ptr<acquisition>, judgement won);
    void hand_out(judgement const& won);
    void clean_up(error_code lost);
    bool asks_again_at_once(judgement const& lost) const;
    bool wait_is_over() const { return state_->now() >= give_up_at_; }
    static runtime::task<void> wait_until_free(std::shared_ptr<acquisition>, error_code lost);

    void step_back();
    static runtime::task<clock::time_point> wait_for_change(std::shared_ptr<acquisition>, clock::time_point decided,
                                                            std::uint64_t random);
    static runtime::task<void> sleep_in_quarantine(std::shared_ptr<acquisition>);

    bool has_asked() const noexcept override { return builder_.rounds() > 0; }
    error_code outcome_of(quorum::round const&) const;
    void tell(quorum::round const&, error_code outcome);
    attempt_report report(error_code) const;

    acquire_request const request_;
    detail::acquire_handler done_;
    lock_handle right_to_upgrade_;
    attempt attempt_;
    clock::time_point const give_up_at_;  ///< no round starts later
    preparation preparation_;
    local_turn turn_;
    token_draw draw_;
    round_builder builder_;
    leftovers leftovers_;
    free_watch watch_;
    std::shared_ptr<quorum::round> round_;  ///< the latest round, of this acquisition or of the waiter before it
    std::size_t conflicts_ = 0;             ///< rounds that ended in a conflict
    lock_handle won_;
};

}  // namespace redlock::locks
