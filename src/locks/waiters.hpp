#pragma once

#include "core/handovers.hpp"

#include <redlock/clock.hpp>
#include <redlock/error.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace redlock::detail {

class round;

/// An acquisition that may wait.
class waiter {
public:
    /// Ends its wait early. It goes on later, not from within this.
    virtual void wake() = 0;

    /// Whether it will not ask any more.
    virtual bool stopped() const noexcept = 0;

    /// Whether it waits for the end of hand-overs that @p node told of, and not for the lock itself.
    virtual bool awaits_handovers(std::size_t node) const = 0;

    /// What it waits for on @p node has changed.
    virtual void may_be_free(std::size_t node) = 0;

protected:
    ~waiter() = default;
};

/** The acquisitions of one manager that may wait, in a queue for each resource; only the first of each asks the nodes.

    And how the lock goes from one to the next, where others want it, too: in batches, between which the manager yields. All of it
    on the strand, except where it says otherwise.
*/
class waiters {
    struct queue : std::list<waiter*> {
        error_code met;
        std::shared_ptr<round> asked;
    };

public:
    explicit waiters(std::size_t max_handovers) : max_handovers_(max_handovers) {}

    /// Any thread.
    std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

    /// A place in the queue for a resource; it is left on every path.
    class place {
    public:
        /// @param at_first what who never got to ask has met, as long as nobody has asked
        place(waiters&, std::string const& resource, waiter&, error_code at_first);
        ~place();
        place(place const&) = delete;
        place& operator=(place const&) = delete;
        bool first() const { return queue_.front() == &who_; }
        void step_back();  ///< behind all others, if there are any
        /// Tells those behind what the first has met: @p outcome of @p asked, if it was asked.
        void met(error_code outcome, std::shared_ptr<round> asked);
        /// What the first has met at last, and which round that was.
        error_code met() const { return queue_.met; }
        std::shared_ptr<round> const& asked() const { return queue_.asked; }

    private:
        waiters& all_;
        std::string const& resource_;
        waiter& who_;
        queue& queue_;
        std::list<waiter*>::iterator at_;
    };

    /// Whether somebody waits behind the first for @p resource.
    bool others_queue(std::string const& resource) const;

    /// What a waiter waits for has changed on @p node: the lock of @p resource, or the hand-overs there.
    void changed(std::size_t node, std::string_view resource, bool handovers);

    /// Anything may have changed on @p node.
    void all_changed(std::size_t node);

    // Batches of hand-overs.

    /// Whether an acquisition should contend, now and then: who comes back to the same resource again and again may find it free
    /// each time, because it is faster than all that it keeps waiting.
    bool should_contend(std::uint64_t random) const noexcept { return random % (max_handovers_ + 1) == 0; }

    /// The lock of @p resource was won in @p round_trip, and others want it, too. @p in_vain: it had been yielded, and they did not come.
    void others_want(std::string const& resource, clock::duration round_trip, bool in_vain, clock::time_point now, std::uint64_t random);

    /// The lock of @p resource is given back, or lost: wakes the first that waits. @return whether one of this manager follows
    bool freed(std::string const& resource, clock::time_point now);

    /// Until when this manager yields @p resource to others; nothing if it does not.
    std::optional<clock::time_point> yields_until(std::string const& resource, clock::time_point now) const;

private:
    struct sharing {
        core::handovers left;
        clock::duration yield;                                      ///< for so long afterwards; longer, if that was in vain
        clock::time_point yields_until = clock::time_point::min();  ///< that: none is handed over
        clock::time_point forgotten_at;                             ///< if nobody comes back to it

        bool goes_on() const noexcept { return yields_until == clock::time_point::min(); }
    };

    static constexpr std::chrono::milliseconds sharing_life = std::chrono::minutes(1);

    std::size_t const max_handovers_;
    std::atomic<std::size_t> size_{0};
    std::unordered_map<std::string, queue> queues_;
    std::unordered_map<std::string, sharing> shared_;  // with other managers
    std::size_t forget_at_ = 1024;                     // when there are so many, those that nobody came back to
};

}  // namespace redlock::detail
