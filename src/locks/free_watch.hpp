#pragma once

#include "core/backoff.hpp"
#include "core/estimate.hpp"
#include "core/key.hpp"
#include "locks/acquire_request.hpp"
#include "quorum/round.hpp"

#include <redlock/clock.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

namespace redlock::inline v0::locks {

/// Which of several keys have to be free before it makes sense to ask the node again: all that are taken. If the set
/// grows, the first of them.
std::span<taken_key const> awaited(quorum::ballot const&);

/// Adds what the nodes have said in a lost round: from when on the locks may be free; or one of them, if any is wanted.
void add_votes(quorum::round const&, clock::time_point now, core::estimate<clock::time_point>& to);

/// When what an acquisition wants may be free: what the nodes have said and pushed, and how often they have denied.
class free_watch {
public:
    /// @param r must outlive this
    explicit free_watch(acquire_request const& r) : request_(r) {}

    /// Watches from @p asked, in which the nodes are asked to notify, until @ref end.
    void begin(std::shared_ptr<quorum::round> asked);
    void end() noexcept { asked_.reset(); }
    bool active() const noexcept { return asked_ != nullptr; }

    // While it is active.

    /// Others have won. @return when to ask again if no node notifies; the maximum if a quorum will
    clock::time_point denied(clock::time_point now, std::uint64_t random, std::size_t rounds);

    /// Reads the votes again: some may have come late.
    void read_votes(clock::time_point now) { add_votes(*asked_, now, *estimate_); }

    clock::time_point free_at() const { return estimate_->free_at(); }

    /// For how long to hold back when it may be free, so that managers do not ask at the same moment.
    clock::duration delay(clock::time_point decided, std::uint64_t random) const
    {
        return core::delay_after(denied_, races_, decided - asked_->started, random);
    }

    /// Whether a node has said that @p resource is taken, or, if it @p grows, keeps it for this acquisition.
    bool needs(std::string_view resource, bool grows) const;

    // Pushes: see @ref waiter.

    bool awaits(core::watched of, std::size_t node, std::string_view resource) const;
    bool may_be_free(std::size_t node, std::string_view resource);  ///< @return whether that concerns it

private:
    void note_holder(clock::time_point now);
    bool will_be_notified() const;
    taken_key const* awaited_key(std::size_t node, std::string_view resource) const;

    acquire_request const& request_;
    std::shared_ptr<quorum::round> asked_;                       ///< null: it is not active
    std::optional<core::estimate<clock::time_point>> estimate_;  ///< of that round
    std::size_t denied_ = 0;                                     ///< rounds that were lost to a holder
    std::size_t unchanged_ = 0;                                  ///< the latest of them, if the holder was the same
    std::size_t races_ = 0;                                      ///< the latest rounds, if they had some of the votes
    clock::time_point denied_at_{};                              ///< the latest time
    clock::time_point free_expected_{};                          ///< when it may be free, as was told then
};

}  // namespace redlock::locks
