#pragma once

#include "quorum/admission.hpp"
#include "quorum/ballot_set.hpp"
#include "quorum/choice.hpp"
#include "runtime/task.hpp"

#include <redlock/clock.hpp>
#include <redlock/detail/recycler.hpp>

#include <boost/asio/cancellation_type.hpp>

#include <cstdint>
#include <memory>
#include <utility>

namespace redlock::inline v1::quorum {

/** Asks all nodes at once, and waits for their votes.

    It is used as a std::shared_ptr, because the nodes share it until each of them has answered. Builders of commands
    are in `quorum/commands.hpp`, functions that evaluate the votes in `quorum/verdicts.hpp`.
*/
class round final : public std::enable_shared_from_this<round>, public entrant, public ballot_set {
public:
    round(quorum_state&, round_command&&);

    /// Sends to all nodes when the manager's @ref admission has a place. Completes when the votes are decided, or after
    /// @ref end_wait. From the sending on, it waits for each node until it is @ref due. A vote that has not come by
    /// then counts as unknown, and the round goes on.
    auto gather()
    {
        return runtime::suspend_into(waiting_, [this] { start_gathering(); });
    }

    /// Sends to all nodes, at once or when there is a place, without waiting for answers.
    void send();

    /// Ends the wait in @ref gather immediately.
    void end_wait();

    /// Destroys the coroutine that waits in @ref gather without resuming it, because the execution context ends.
    void abandon();

    bool decided() const noexcept;

    /// Whether no node was asked, because there was no place until @ref wait_for_place_until.
    bool found_no_place() const noexcept { return found_no_place_; }

    /// How long the round waits for a place.
    clock::time_point wait_for_place_until = clock::time_point::max();
    bool waits_for_all = false;  ///< a majority does not decide the round
    redlock::quorum::choice choice;

private:
    friend class ballot;

    void start_gathering();
    void gather_now();
    void send_now();
    asio::cancellation_type decide(vote);
    void completed_one();
    void finish();
    void out_of_time();
    void end_waits_until(clock::time_point);
    void stop_waiting();
    void stop_waiting_for_place();
    purpose aim() const noexcept override { return purpose_of(command); }
    outcome fate() const noexcept override;
    std::shared_ptr<void> owner() override { return shared_from_this(); }
    void admitted() noexcept override;

    runtime::suspended waiting_;  ///< the coroutine in @ref gather
    runtime::alarm deadline_;
    bool overslept_ = false;
    bool out_of_time_ = false;
    bool found_no_place_ = false;
    bool gathers_ = false;         ///< somebody waits for the votes
    bool counts_missing_ = false;  ///< no answer of these nodes will come: each one's vote counts, not only the first
    std::uint32_t completed_ = 0;
};

inline std::shared_ptr<round> make_round(quorum_state& q, round_command&& what)
{
    return detail::make_recycled<round>(q, std::move(what));
}

}  // namespace redlock::quorum
