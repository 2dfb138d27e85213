#pragma once

#include "locks/acquire_request.hpp"
#include "locks/attempt.hpp"
#include "locks/free_watch.hpp"
#include "locks/leftovers.hpp"
#include "locks/local_turn.hpp"
#include "locks/round_builder.hpp"
#include "locks/token_draw.hpp"
#include "locks/waiting_operation.hpp"

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>

namespace redlock::inline v0::locks {

/// Acquires what may be upgraded: the right to that, which is a lock that one has at a time, and a reader's lock.
void start_upgradeable(acquire_request, detail::acquire_handler);

void start_acquire(acquire_request, detail::acquire_handler);

/** One call of `lock_manager::async_acquire`, or of `async_acquire_any`: the flow, which asks its parts for the rest.

    Nine of its functions are the answers of a @ref waiter.
*/
class acquisition final : public waiting_operation<acquisition>, public waiter {
public:
    acquisition(acquire_request, detail::acquire_handler, lock_handle right_to_upgrade = {});

    /// What it asks for has been checked. @p right_to_upgrade: the lock is held with it.
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
    void may_be_free(std::size_t node, std::string_view resource) override;

private:
    /// What a second round has come to: the token is in the grant, unless the nodes' counters disagree.
    struct drawn {
        error_code ec;
        bool conflict = false;  ///< they have gone beyond what was proposed, each to another number
    };

    static runtime::task<error_code> run_in_queue(std::shared_ptr<acquisition>);
    static runtime::task<error_code> run(std::shared_ptr<acquisition>);
    static runtime::task<drawn> draw_token(std::shared_ptr<acquisition>);
    static runtime::task<void> wait_until_free(std::shared_ptr<acquisition>, error_code lost);
    static runtime::task<void> wait_for_change(std::shared_ptr<acquisition>, clock::time_point decided,
                                               clock::time_point ask_anyway);

    bool has_asked() const noexcept override { return builder_.rounds() > 0; }
    std::optional<error_code> end_without_asking(clock::time_point now);
    std::shared_ptr<quorum::round> next_round();
    error_code outcome_of(quorum::round const&) const;
    void tell(quorum::round const&, error_code outcome);
    void hand_out(clock::time_point decided);
    void round_was_in_vain(error_code);
    attempt_report report(error_code) const;

    acquire_request const request_;
    detail::acquire_handler done_;
    lock_handle right_to_upgrade_;
    attempt attempt_;
    clock::time_point const give_up_at_;  ///< no round is started later
    local_turn turn_;
    token_draw draw_;
    round_builder builder_;
    leftovers leftovers_;
    free_watch watch_;
    std::shared_ptr<quorum::round> round_;  ///< the latest, or that of the waiter before it in the queue
    lock_handle won_;
};

}  // namespace redlock::locks
