#pragma once

#include "core/growth.hpp"
#include "locks/acquire_request.hpp"
#include "locks/local_turn.hpp"
#include "locks/token_draw.hpp"
#include "quorum/round.hpp"

#include <redlock/clock.hpp>

#include <cstddef>
#include <memory>

namespace redlock::inline v1::locks {

/// Decides what an acquisition asks the nodes next.
class round_builder {
public:
    /// The arguments must outlive this.
    round_builder(acquire_request const& r, local_turn const& t, token_draw& d) : request_(r), turn_(t), draw_(d) {}

    /// @param growing the keys that a set that grows has kept; null if it does not grow
    std::shared_ptr<quorum::round> next(std::shared_ptr<quorum::grant> growing);

    std::size_t rounds() const noexcept { return rounds_; }

    /// Call this when the latest round was lost to others.
    void lost_to_others() noexcept { ++lost_; }

    /// Whether a set should keep what it gets from now on.
    bool should_grow() const noexcept
    {
        return turn_.place() && request_.wants_several() && lost_ >= core::all_or_nothing;
    }

    /// Call this after @p lost, a lost round for any of several. If nodes chose keys, they chose different ones: they
    /// differ in which keys are free.
    void prefer_others(quorum::round const& lost) const;

private:
    quorum::round_command plain(std::shared_ptr<quorum::grant> growing) const;
    quorum::key_list choices(clock::time_point now) const;

    acquire_request const& request_;
    local_turn const& turn_;
    token_draw& draw_;
    std::size_t rounds_ = 0;
    std::size_t lost_ = 0;  ///< rounds lost to others, including races
};

}  // namespace redlock::locks
