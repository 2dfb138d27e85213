#pragma once

#include "core/validity.hpp"
#include "locks/manager_state.hpp"
#include "quorum/round.hpp"

#include <redlock/clock.hpp>
#include <redlock/options.hpp>
#include <redlock/report.hpp>
#include <redlock/resource_set.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace redlock::inline v1::locks {

class held_lock;

/// The statistics, events and report of one acquisition or resumption. On the strand.
class attempt {
public:
    attempt(manager_state& s, resource_set const& resources, acquire_options const& options)
        : called(s.now()), state_(s), resources_(resources), options_(options)
    {
    }

    clock::time_point const called;
    clock::time_point asked;    ///< when the latest round began; without a round: as @ref decided
    clock::time_point decided;  ///< when the outcome was known

    void begins() noexcept;

    void ends(error_code) noexcept;  ///< does nothing if it has not begun

    /// How long a round that begins at @p now waits for a place in the manager's admission. The last round begins when
    /// the wait is over. Its outcome is still worth a moment: it says who holds the lock.
    clock::time_point ask_until(clock::time_point now) const noexcept
    {
        return std::max(core::later(called, options_.wait), core::later(now, state_.settings.connect_timeout));
    }

    /// The report for the caller, without a message. @p asked: the latest round, or null.
    attempt_report report(error_code, quorum::round const* asked, std::size_t rounds) const;

    /// The counters of its group. Call this only after @ref begins.
    group_counters& count() const noexcept { return *count_; }
    lock_origin origin() const noexcept { return {number_, *count_, decided}; }

    /// The number of the acquisition; the lock that it wins has the same number. 0: it has not begun.
    std::uint64_t number() const noexcept { return number_; }

    // Call these only if there is an observer. @p alive keeps the constructor's arguments alive.

    void tell_begin(bool any, bool resumes, std::size_t ahead, std::shared_ptr<void const> alive) noexcept;
    void tell_round(quorum::round const& decided_now, std::size_t number_of_round, error_code outcome,
                    std::shared_ptr<void const> alive) const noexcept;
    void tell_end(error_code, lock_handle const& won, std::size_t rounds,
                  std::shared_ptr<void const> alive) const noexcept;

private:
    void tell_win(std::shared_ptr<held_lock const>, std::size_t rounds) const noexcept;

    manager_state& state_;
    resource_set const& resources_;
    acquire_options const& options_;
    group_counters* count_ = nullptr;
    std::uint64_t number_ = 0;
    std::size_t ahead_ = 0;
};

}  // namespace redlock::locks
