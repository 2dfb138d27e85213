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
#include <string>
#include <string_view>

namespace redlock::inline v1::locks {

/// The keys that must be free before it makes sense to ask the node again: all taken keys. For a set that grows: the
/// first taken key.
std::span<taken_key const> awaited(quorum::ballot const&);

/// Adds what the nodes said in a lost round: when the locks may be free. For any of several, one free lock is enough.
void add_votes(quorum::round const&, clock::time_point now, core::estimate<clock::time_point>& to);

/// Estimates when a wanted lock may be free, from the nodes' answers and pushes, and counts the denials.
class free_watch {
public:
    /// @param r must outlive this
    explicit free_watch(acquire_request const& r) : request_(r) {}

    /// Watches until @ref end. The round @p asked asks the nodes to notify.
    void begin(std::shared_ptr<quorum::round> asked);
    void end() noexcept { asked_.reset(); }
    bool active() const noexcept { return asked_ != nullptr; }

    // Call the following only while it is active.

    /// Call this after a round that was lost to others.
    /// @return when to ask again if no node notifies; the maximum if a quorum will notify
    clock::time_point denied(clock::time_point now, std::uint64_t random, std::size_t rounds);

    /// Reads the votes again, because late ones may have arrived.
    void read_votes(clock::time_point now) { add_votes(*asked_, now, *estimate_); }

    clock::time_point free_at() const { return stands_by() ? clock::time_point::max() : estimate_->free_at(); }

    /// How long to hold back after the lock may be free, so that managers do not all ask at the same moment.
    clock::duration delay(clock::time_point decided, std::uint64_t random) const
    {
        return core::delay_after(denied_, races_, ahead(), decided - asked_->started, random);
    }

    /// When to ask again at the earliest, if notifications have been in vain.
    clock::time_point not_before() const { return denied_at_ + core::time_between_vain(vain_); }

    /// Whether a node has denied @p resource, or, for a set that @p grows, keeps it for the set.
    bool needs(std::string_view resource, bool grows) const;

    // Pushes: see @ref waiter.

    bool awaits(core::watched of, std::size_t node, std::string_view resource) const;
    /// @return whether the push matters
    bool may_be_free(core::watched of, std::size_t node, std::string_view resource);

private:
    void note_holder(clock::time_point now);
    bool will_be_notified() const;
    bool is_behind_writer() const;
    bool stands_by() const;
    std::size_t ahead() const;
    std::string_view holder() const;
    taken_key const* awaited_key(std::size_t node, std::string_view resource) const;

    acquire_request const& request_;
    std::shared_ptr<quorum::round> asked_;                       ///< null: inactive
    std::optional<core::estimate<clock::time_point>> estimate_;  ///< of that round
    bool is_called_ = false;                                     ///< by a node where it stood by
    std::size_t denied_ = 0;                                     ///< rounds lost to a holder
    std::size_t unchanged_ = 0;                                  ///< consecutive ones, lost to the same holder
    std::size_t vain_ = 0;                                       ///< of these, soon after the one before
    std::string holder_;                                         ///< the value of the latest; empty: unknown
    std::size_t races_ = 0;                                      ///< consecutive lost rounds with some votes
    clock::time_point denied_at_{};                              ///< when the latest round was denied
    clock::time_point free_expected_{};                          ///< when it may be free, as estimated then
};

}  // namespace redlock::locks
