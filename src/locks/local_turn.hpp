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

namespace redlock::inline v0::locks {

/// Whether an acquisition may ask the nodes, as far as its own manager knows: its place in the queues of the manager,
/// and what the manager holds, shares, or yields to others.
class local_turn {
public:
    /// @param r must outlive this
    local_turn(acquire_request const& r, clock::time_point called) : request_(r), called_(called) {}

    void enter(waiters::place&);
    void leave() noexcept { place_ = nullptr; }
    waiters::place* place() const noexcept { return place_; }  ///< null: it does not wait
    bool is_behind() const { return place_ && !place_->first(); }

    /// Whether this manager keeps a reader out although the nodes, which know only the manager, would let it in.
    bool keeps_reader_out(bool is_over) const;

    /// One more handle on what this manager shares already; null if there is none.
    std::shared_ptr<handle_state> join();

    /// Until when others of this manager, or of other ones, come first; they wake it when they are done. Nothing: it
    /// may ask the nodes.
    std::optional<clock::time_point> others_first(clock::time_point now);

    /// A set that waits for some of its resources lets those pass that want one of the others; but not for ever.
    void let_others_pass(free_watch const&, bool grows);

    /// Whether others of its manager come first for what it has @p asked for: the nodes notify them, and not it.
    bool is_overtaken(quorum::round const& asked) const;

    /// Tells those behind what it has met.
    void tell_those_behind(error_code outcome, std::shared_ptr<quorum::round> asked) const
    {
        if (place_)
            place_->met(outcome, std::move(asked));
    }

    /// A round was lost to others.
    void denied(quorum::round const&, clock::time_point now);

    /// Whether it comes before writers that wait.
    bool passes_writers() const noexcept
    {
        return request_.shares() && (request_.options.passes_writers || (place_ && place_->kept_out() >= called_));
    }

    /// What it has met here, without its rounds.
    core::history history() const;

    // If it wants any of several.

    /// Until when it does not ask for resource number @p i: others of this manager come first, or have it, and wake it
    /// when they are done. Or this manager yields it. Nothing: it may ask.
    std::optional<clock::time_point> kept_from(std::size_t i, clock::time_point now) const;

    /// From when on there is another one than those for which it has @p asked.
    clock::time_point another_choice_at(quorum::round const& asked, clock::time_point now) const;

    /// Until when this manager itself has the first of them that it has.
    clock::time_point first_held_until() const;

private:
    std::optional<clock::time_point> kept_from_all(clock::time_point now) const;

    acquire_request const& request_;
    clock::time_point const called_;
    waiters::place* place_ = nullptr;
    core::history history_;   ///< but for its rounds
    std::size_t passed_ = 0;  ///< how many have come before a set that waits
};

}  // namespace redlock::locks
