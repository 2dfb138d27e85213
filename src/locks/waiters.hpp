#pragma once

#include "core/handovers.hpp"
#include "core/key.hpp"

#include <redlock/clock.hpp>
#include <redlock/detail/recycler.hpp>
#include <redlock/error.hpp>
#include <redlock/mode.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace redlock::inline v0::quorum {
class round;
}

namespace redlock::inline v0::locks {

/// An acquisition that may wait.
class waiter {
public:
    /// Ends its wait early. It goes on later, not from within this.
    virtual void wake() = 0;

    /// Whether it will not ask any more.
    virtual bool stopped() const noexcept = 0;

    /// Whether it waits for several resources, and needs all of them.
    virtual bool wants_several() const noexcept = 0;

    /// Whether it asks for what is given back now, at once and in any case.
    virtual bool takes_over() const noexcept = 0;

    /// Whether one of the resources for which it waits is enough.
    virtual bool wants_any() const noexcept = 0;

    /// Whether others may have what it waits for at the same time.
    virtual bool shares() const noexcept = 0;

    /// The last, in the order of names, of what its owner holds meanwhile; empty if that is nothing. What it waits for
    /// comes later.
    virtual std::string_view holds_up_to() const noexcept = 0;

    /// Whether it waits for what @p of the lock of @p resource on @p node, as far as that has told.
    virtual bool awaits(core::watched of, std::size_t node, std::string_view resource) const = 0;

    /// What it waits for on @p node has changed: of @p resource, or, if that is empty, anything.
    virtual void may_be_free(std::size_t node, std::string_view resource) = 0;

protected:
    ~waiter() = default;
};

/// Is told what the first in the queue of a resource has met, whoever that is.
class queue_observer {
public:
    /// @param asked the round in which it was met; null if the nodes were not asked
    virtual void met(error_code outcome, quorum::round const* asked) noexcept = 0;

protected:
    ~queue_observer() = default;
};

/** The acquisitions of one manager that may wait, in a queue for each resource; only the first of each asks the nodes.
    Who waits for several resources enters all their queues at once, and asks when it is the first in each: so all
    queues have one order, and nobody waits for somebody who waits for it. Whose owner holds something already does not
    stand behind those who want several and hold less: they may wait for that. Who waits for any of several asks when it
    is the first in one of their queues, and only for those.

    Those who share a lock and those who have it alone come in phases: when one of a mode has got it, all who wait for
    it in the same mode follow, in the order of their calls, before those of the other; but not who comes later. So
    neither starves, readers wait for no writer in between, and a writer waits for one phase of readers at most.

    And how the lock goes from one to the next, where others want it, too: in batches, between which the manager yields.
    All of it on the strand, except where it says otherwise.
*/
class waiters {
    using line = std::list<waiter*>;

    /// The sets in a queue, by what their owners hold. They stand in the queue in the same order.
    using sets = std::multimap<std::string_view, line::iterator, std::greater<>>;

    struct queue : line {
        std::optional<error_code> met;
        std::shared_ptr<quorum::round> asked;
        clock::time_point kept_out = clock::time_point::min();  ///< somebody had the lock alone then
        std::optional<mode> phase;  ///< in which mode it was got last; nothing: not since somebody waits
        std::size_t alone = 0;      ///< how many exclusive waiters have not stopped
        waiters::sets sets;

        iterator place_of(waiter const&);
        void begin_phase(mode);
    };

    /// The observers of one queue. An observer that was told an outcome is not told the same again.
    struct audience {
        using members = std::set<std::weak_ptr<queue_observer>, std::owner_less<>>;

        members told, others;
        error_code outcome;          ///< the outcome that they were told
        std::size_t forget_at = 64;  ///< at this size the dead ones are dropped

        void add(std::weak_ptr<queue_observer>);
        void tell(error_code, quorum::round const* asked);
    };

    queue const* find(std::string_view resource) const;
    void tell_observers(std::string const& resource, error_code outcome, quorum::round const* asked) noexcept;

public:
    explicit waiters(std::size_t max_handovers) : max_handovers_(max_handovers) {}

    /// Any thread.
    std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

    /// A place in the queues for some resources; it is left on every path.
    class place {
    public:
        place(waiters&, std::span<std::string const> resources, waiter&);
        ~place();
        place(place const&) = delete;
        place& operator=(place const&) = delete;
        bool first() const;
        /// How many come before it, in the longest of its queues.
        std::size_t ahead() const;
        /// Of several resources: whether it is the first that waits for number @p i.
        bool first_for(std::size_t i) const { return places_[i].first(); }
        /// It does not want the resources any more: nobody gives way to it.
        void stops() noexcept;
        /// Where it is the first, and the resource @p is_free: lets the next come before it, if that wants no other
        /// one. @return how many did, at most @p left.
        std::size_t let_pass(std::size_t left, std::function<bool(std::string const&)> const& is_free);
        void step_back();  ///< behind all others, if there are any that it may wait for
        /// It is the first, and has got @p resources, all or one of those for which it waits: a phase of its mode
        /// begins, or goes on.
        void got(std::span<std::string const> resources);
        /// Tells those behind what the first has met: @p outcome of @p asked, if it was asked.
        void met(error_code outcome, std::shared_ptr<quorum::round> asked);
        /// What the first has met at last, and which round that was. Nothing: nobody has asked yet.
        std::optional<error_code> met() const { return latest().met; }
        std::shared_ptr<quorum::round> const& asked() const { return latest().asked; }
        /// Somebody has the lock alone, and so keeps out all who queue for it now.
        void kept_out(clock::time_point now) noexcept { places_.front().queue.kept_out = now; }
        /// Of one resource: when that was so at last.
        clock::time_point kept_out() const noexcept { return places_.front().queue.kept_out; }

    private:
        struct in_queue {
            std::string const& resource;
            locks::waiters::queue& queue;
            line::iterator at;
            std::optional<sets::iterator> set{};  ///< of one that wants several

            bool first() const { return queue.begin() == at; }
        };
        /// A queue in which others come first; null if there is none.
        queue const* in_the_way() const;
        queue const& latest() const;
        void leave();

        waiters& all_;
        bool const any_;
        bool const wants_alone_;
        bool stopped_ = false;
        std::vector<in_queue, detail::recycler<in_queue>> places_;
    };

    /// Whether somebody waits to have @p resource alone.
    bool wanted_alone(std::string_view resource) const;

    /// Adds an observer. If it observes already, it is told the next outcome even if that is the same as before.
    void observe(std::string const& resource, std::weak_ptr<queue_observer>) noexcept;

    /// Whether somebody waits behind the first for any of @p resources.
    bool others_queue(std::span<std::string const> resources) const;

    /// This has changed @p of the lock of @p resource on @p node.
    void changed(core::watched of, std::size_t node, std::string_view resource);

    /// This manager itself has deleted the lock's key on @p node, and with it what is known of hand-overs there.
    void deleted(std::size_t node, std::string_view resource);

    /// Anything may have changed on @p node.
    void all_changed(std::size_t node);

    // Batches of hand-overs.

    /// Whether an acquisition should contend, now and then: who comes back to the same resource again and again may
    /// find it free each time, because it is faster than all that it keeps waiting.
    bool should_contend(std::uint64_t random) const noexcept { return random % (max_handovers_ + 1) == 0; }

    /// The lock of @p resources was won in @p round_trip, and others want it, too, or some of it. @p in_vain: it had
    /// been yielded, and they did not come.
    void others_want(std::span<std::string const> resources, clock::duration round_trip, bool in_vain,
                     clock::time_point now, std::uint64_t random);

    /// The lock of @p resource is given back, or lost: wakes the first that waits. @return whether one of this manager
    /// follows
    bool freed(std::string const& resource, clock::time_point now);

    /// The lock of @p resource is held still, but shared from now on.
    void shared_again(std::string_view resource);

    /// Until when this manager yields one of @p resources to others, the last of them; nothing if it does not.
    std::optional<clock::time_point> yields_until(std::span<std::string const> resources, clock::time_point now) const;

private:
    struct sharing {
        core::handovers left;
        clock::duration yield;  ///< for so long afterwards; longer, if that was in vain
        clock::time_point yields_until = clock::time_point::min();  ///< that: none is handed over
        clock::time_point forgotten_at;                             ///< if nobody comes back to it

        bool goes_on() const noexcept { return yields_until == clock::time_point::min(); }
    };

    struct hash : std::hash<std::string_view> {
        using is_transparent = void;
    };

    static constexpr std::chrono::milliseconds sharing_life = std::chrono::minutes(1);

    std::size_t const max_handovers_;
    std::atomic<std::size_t> size_{0};
    std::unordered_map<std::string, queue, hash, std::equal_to<>> queues_;
    std::unordered_map<std::string, audience> audiences_;
    std::size_t forget_audiences_at_ = 64;
    std::unordered_map<std::string, sharing> shared_;  // with other managers
    std::size_t forget_at_ = 1024;                     // when there are so many, those that nobody came back to
};

}  // namespace redlock::locks
