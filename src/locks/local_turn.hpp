#pragma once

#include "core/question.hpp"
#include "locks/acquire_request.hpp"
#include "locks/free_watch.hpp"
#include "locks/waiters.hpp"
#include "quorum/round.hpp"

#include <redlock/clock.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

namespace redlock::inline v1::locks {

/// Whether an acquisition may ask the nodes, as far as its own manager knows. That depends on its place in the
/// manager's queues, and on the locks that the manager holds, shares or yields.
class local_turn {
public:
    /// @param r must outlive this
    local_turn(acquire_request const& r, clock::time_point called) : request_(r), called_(called) {}

    void enter(waiters::place&);
    void leave() noexcept { place_ = nullptr; }
    waiters::place* place() const noexcept { return place_; }  ///< null: it does not wait
    bool is_behind() const { return place_ && !place_->first(); }

    /// Whether this manager keeps out a reader that the nodes would let in. The nodes know only the manager, not its
    /// single acquisitions.
    bool keeps_reader_out(bool is_over) const;

    /// One more handle on a lock that this manager shares already; null if there is none.
    std::shared_ptr<handle_state> join();

    /// Lets waiters and holders of this manager come first, which wake this one when they are done. Also yields to
    /// other managers.
    /// @return until when; empty: it may ask the nodes
    std::optional<clock::time_point> give_way(clock::time_point now);

    /// While a set waits for some of its resources, waiters that are not sets may pass it for the others, up to a
    /// limit.
    void let_others_pass(free_watch const&, bool grows);

    /// Whether other waiters of this manager come first for the resources of @p asked. Then pushes wake them, not this
    /// one.
    bool is_overtaken(quorum::round const& asked) const;

    /// Tells the waiters behind this one the outcome.
    void tell_those_behind(error_code outcome, std::shared_ptr<quorum::round> asked) const
    {
        if (place_)
            place_->met(outcome, std::move(asked));
    }

    /// Call this after a round was lost to others.
    void denied(quorum::round const&, clock::time_point now);

    /// Whether this reader passes waiting writers.
    bool passes_writers() const noexcept
    {
        return request_.shares() && (request_.options.passes_writers || (place_ && place_->kept_out() >= called_));
    }

    /// The history of this acquisition, without the number of its rounds.
    core::history history() const;

    // For any of several resources.

    /// Until when it does not ask for resource number @p i. Either this manager yields it, or others of this manager
    /// come first or hold it; these wake this one when they are done. Empty: it may ask.
    std::optional<clock::time_point> kept_from(std::size_t i, clock::time_point now) const;

    /// When it may ask for a resource that is not in the round @p asked.
    clock::time_point another_choice_at(quorum::round const& asked, clock::time_point now) const;

    /// When the first lock ends that this manager itself holds on one of the resources.
    clock::time_point first_held_until() const;

private:
    std::optional<clock::time_point> kept_from_all(clock::time_point now) const;

    acquire_request const& request_;
    clock::time_point const called_;
    waiters::place* place_ = nullptr;
    core::history history_;   ///< without the number of rounds
    std::size_t passed_ = 0;  ///< how many waiters have passed this set
};

}  // namespace redlock::locks
