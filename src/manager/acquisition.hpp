#pragma once

#include "core/outlook.hpp"
#include "core/schedule.hpp"
#include "manager/engine.hpp"
#include "manager/round.hpp"

#include <memory>
#include <optional>
#include <string>

namespace redlock::detail {

/// One call of `lock_manager::async_acquire`.
class acquisition final : public shared_operation<acquisition> {
public:
    acquisition(std::shared_ptr<detail::engine>, std::string resource, acquire_options, acquire_handler, bool explains);

    // The flow: in the queue, or without.
    static flow<error_code> contend(std::shared_ptr<acquisition>);
    static flow<error_code> ask_nodes(std::shared_ptr<acquisition>);
    static flow<error_code> draw_token(std::shared_ptr<acquisition>);
    static flow<void> wait_for_chance(std::shared_ptr<acquisition>, error_code lost);

    void cancel(asio::cancellation_type) override;
    void drop() override;

    /// Ends the pause or the wait in the queue early.
    void wake();

    /// It will not ask any more.
    bool stopped() const noexcept { return cancelled_ || last_round_ || !engine_->open(); }

    /// The key on @p node has changed; or the turn is over, if it awaits that.
    void may_be_free(std::size_t node);
    bool awaits_turn(std::size_t node) const;

    void complete(error_code);

    std::string const resource;
    acquire_handler done;

private:
    std::optional<clock::time_point> blocked_until();
    error_code judge(round const&) const;
    std::uint64_t propose();
    bool will_be_told() const;
    std::chrono::milliseconds remaining() const;
    clock::time_point chance(clock::time_point at_the_latest) const;
    void hand_out();
    void clean_up();
    auto sleep(clock::time_point until);
    attempt_report report(error_code) const;

    std::shared_ptr<detail::engine> const engine_;
    acquire_options const options_;
    clock::time_point const called_;
    clock::time_point const give_up_at_;  ///< no round is started later
    bool const explains_;
    engine::place_in_queue* place_ = nullptr;  ///< of one that may wait

    std::shared_ptr<detail::round> round_;  ///< the latest, or that of who stood in front of us in the queue
    std::shared_ptr<detail::round> raise_;  ///< the second round, while it is under way
    std::size_t rounds_ = 0;
    std::size_t second_rounds_ = 0;
    std::size_t denied_ = 0;                ///< rounds that were lost to somebody else
    std::size_t races_ = 0;                 ///< the latest rounds, if they were lost with some of the votes
    lock_handle won_;
    bool cancelled_ = false;
    bool last_round_ = false;               ///< cancelled, unless the present one wins
    std::optional<core::outlook<clock::time_point>> outlook_;  ///< while it waits for a chance
    std::uint64_t highest_ = 0;           ///< of the nodes' counters, as far as known
    bool queued_ = false;                 ///< behind others of this process, or behind its holder
    bool gave_way_ = false;               ///< it was the turn of other processes
    bool outbid_ = false;                 ///< the nodes' counters disagreed above what we had proposed
    std::size_t outbids_ = 0;             ///< how often that was so
    bool leaves_traces_ = false;          ///< the round may have set keys, and nobody sees to them yet
    suspended sleeper_;
    core::alarm<clock::time_point> alarm_;
};

}  // namespace redlock::detail
