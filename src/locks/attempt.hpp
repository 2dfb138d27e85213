#pragma once

#include "locks/manager_state.hpp"
#include "quorum/round.hpp"

#include <redlock/clock.hpp>
#include <redlock/options.hpp>
#include <redlock/report.hpp>
#include <redlock/resource_set.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>

namespace redlock::inline v0::locks {

class held_lock;

/// What is counted and told of an acquisition, or of what goes on with one. On the strand.
class attempt {
public:
    attempt(manager_state& s, resource_set const& resources, acquire_options const& options)
        : called(s.now()), state_(s), resources_(resources), options_(options)
    {
    }

    clock::time_point const called;
    clock::time_point asked;    ///< when the latest round began
    clock::time_point decided;  ///< when it was decided; or, of both, when it turned out that none is needed

    void begins() noexcept;

    void ends(error_code) noexcept;  ///< unless it has never begun

    /// For the caller, but for the message. @p asked: the latest round, if there was one.
    attempt_report report(error_code, quorum::round const* asked, std::size_t rounds) const;

    /// Its group's. It has begun.
    group_counters& count() const noexcept { return *count_; }
    lock_origin origin() const noexcept { return {number_, *count_, decided}; }

    /// The lock that it wins has it, too. 0: it has not begun.
    std::uint64_t number() const noexcept { return number_; }

    // If there is an observer. What is @p alive has what the constructor was given.

    void tell_begin(bool any, bool resumes, std::size_t ahead, std::shared_ptr<void const> alive) noexcept;
    void tell_round(quorum::round const& decided_now, std::size_t how_many_eth, error_code outcome,
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
