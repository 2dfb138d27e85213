#pragma once

#include "core/estimate.hpp"
#include "core/question.hpp"
#include "locks/attempt.hpp"
#include "locks/manager_state.hpp"
#include "quorum/round.hpp"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::inline v0::detail {

/// Acquires what may be upgraded: the right to that, which is a lock that one has at a time, and a place among the readers.
void start_upgradeable(std::shared_ptr<manager_state>, resource_set, acquire_options, acquire_handler, bool explains, std::string holds_up_to);

/// What the nodes have said in a round that was lost: from when on the locks may be free, or, of those of which it wants any, one.
void look_at(round const&, clock::time_point now, core::estimate<clock::time_point>& to);

/// @param holds_up_to see @ref waiter::holds_up_to
void start_acquire(std::shared_ptr<manager_state>, selection, acquire_options, acquire_handler, bool explains, std::string holds_up_to);

/// One call of `lock_manager::async_acquire`, or of `async_acquire_any`.
class acquisition final : public shared_operation<acquisition>, public waiter {
public:
    acquisition(std::shared_ptr<manager_state>, selection, acquire_options, acquire_handler, bool explains, std::string holds_up_to);

    /// What it asks for has been checked.
    static void start(std::shared_ptr<acquisition>);

    // The task: in the queue, or without.
    static task<error_code> run_in_queue(std::shared_ptr<acquisition>);
    static task<error_code> run(std::shared_ptr<acquisition>);

    void cancel(asio::cancellation_type) override;
    void abandon() override;

    void wake() override;
    bool stopped() const noexcept override { return cancelled_ || last_round_ || !state_->shutdown.open(); }
    bool wants_several() const noexcept override { return !wanted.any && resources.size() > 1; }
    bool takes_over() const noexcept override { return !wants_several() && (!wants_any() || sleeper_); }
    bool wants_any() const noexcept override { return wanted.wants_one_of_several(); }
    bool shares() const noexcept override { return options_.mode != mode::exclusive; }
    std::string_view holds_up_to() const noexcept override { return holds_up_to_; }
    bool awaits(core::watched of, std::size_t node, std::string_view resource) const override;
    void may_be_free(std::size_t node, std::string_view resource) override;

    void complete(error_code);

    selection const wanted;
    resource_set const& resources = wanted.resources;
    acquire_handler done;
    lock_handle right_to_upgrade;         ///< before it starts: the lock is held with it

private:
    /// What a second round has come to: the token is in the grant, unless the nodes' counters disagree.
    struct drawn {
        error_code ec;
        bool conflict = false;  ///< they have gone beyond what was proposed, each to another number
    };

    static task<void> connect(std::shared_ptr<acquisition>);
    static task<drawn> draw_token(std::shared_ptr<acquisition>);
    static task<void> wait_until_free(std::shared_ptr<acquisition>, error_code lost);
    static task<void> wait_for_change(std::shared_ptr<acquisition>, clock::time_point decided, clock::time_point ask_anyway);

    std::optional<error_code> end_without_asking(clock::time_point now);
    bool is_kept_waiting() const noexcept { return place_ && !growing_ && !place_->first(); }
    bool is_overtaken() const;
    bool is_behind_a_writer() const;
    bool is_behind_own_upgrade(clock::time_point now) const;
    bool join();
    std::optional<clock::time_point> others_first(clock::time_point now);
    void let_others_pass();
    bool waits_for_or_keeps(std::string_view resource) const;
    std::shared_ptr<round> next_round();
    mode mode_on_nodes() const noexcept { return shares() ? mode::shared : mode::exclusive; }
    key_list keys() const;
    std::string_view name_of(std::string_view key) const;

    // Of one that wants any of several.
    std::optional<clock::time_point> kept_from(std::size_t i, clock::time_point now) const;
    std::optional<clock::time_point> kept_from_all(clock::time_point now) const;
    key_list choices(clock::time_point now) const;
    void prefer_others();
    bool asks_for(std::string_view resource) const;
    clock::time_point another_choice_at(clock::time_point now) const;
    clock::time_point first_held_until() const;

    error_code outcome_of(round const&) const;
    void tell(round const&, error_code outcome);
    void tell_outcome(error_code) const;
    std::uint64_t propose();
    void learn(std::uint64_t counter);
    bool was_kept_out_by_a_holder() const;
    bool passes_writers() const noexcept
    {
        return shares() && (options_.passes_writers || (place_ && place_->kept_out() >= attempt_.called));
    }
    bool will_be_notified() const;
    void note_holder(clock::time_point now);
    taken_key const* awaited_key(std::size_t node, std::string_view resource) const;
    std::chrono::milliseconds remaining() const;
    void tell_those_behind(error_code outcome, std::shared_ptr<round> asked);
    void hand_out(clock::time_point decided);
    void round_was_in_vain(error_code);
    void keep_what_is_ours();
    void withdraw();
    void clean_up();
    auto sleep(clock::time_point until)
    {
        return suspend_into(sleeper_, [this, until] {
            if (until != clock::time_point::max())
                state_->runtime.set(alarm_, until);
        });
    }
    attempt_report report(error_code) const;
    std::string_view first_taken() const;

    std::shared_ptr<manager_state> const state_;
    acquire_options const options_;
    attempt attempt_;
    clock::time_point const give_up_at_;  ///< no round is started later
    bool const explains_;
    std::string const holds_up_to_;
    waiters::place* place_ = nullptr;     ///< of one that may wait
    std::size_t passed_ = 0;              ///< of one that wants several: how many that want one have come before it

    std::shared_ptr<round> round_;          ///< the latest, or that of who stood in front of us in the queue
    std::shared_ptr<round> raise_;          ///< the second round, while it is under way
    std::shared_ptr<grant> growing_;        ///< of several resources: what its rounds have kept, once it grows
    core::history history_;
    std::size_t second_rounds_ = 0;
    std::size_t denied_ = 0;                ///< rounds that were lost to somebody else
    std::size_t unchanged_ = 0;             ///< the latest of them, if the same holder kept the lock since the one before
    clock::time_point denied_at_{};         ///< at last
    clock::time_point free_expected_{};     ///< when it may be free, as was told then
    std::size_t races_ = 0;                 ///< the latest rounds, if they were lost with some of the votes
    std::size_t conflicts_ = 0;             ///< of tokens
    std::size_t lost_rounds_ = 0;           ///< to others, races included
    bool noted_ = false;                    ///< nodes may have noted that this manager wants it
    lock_handle won_;
    bool cancelled_ = false;
    bool last_round_ = false;               ///< cancelled, unless the present one wins
    std::optional<core::estimate<clock::time_point>> estimate_;  ///< of one that watches, from its round to the next
    std::uint64_t highest_ = 0;             ///< of the nodes' counters, as far as known
    bool leaves_traces_ = false;            ///< the round may have set keys, and nobody sees to them yet
    suspended sleeper_;
    alarm alarm_;
};

}  // namespace redlock::detail
