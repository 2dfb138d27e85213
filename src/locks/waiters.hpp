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

namespace redlock::inline v1::quorum {
class round;
}

namespace redlock::inline v1::locks {

/// An acquisition that may wait.
class waiter {
public:
    /// Ends the wait early. The waiter goes on later, not from within this call.
    virtual void wake() = 0;

    /// Whether it no longer asks the nodes.
    virtual bool stopped() const noexcept = 0;

    /// Whether it needs all of several resources.
    virtual bool wants_several() const noexcept = 0;

    /// Whether it asks for a resource at once when the resource is given back.
    virtual bool takes_over() const noexcept = 0;

    /// Whether any one of its resources is enough.
    virtual bool wants_any() const noexcept = 0;

    /// Whether others may hold its resource at the same time.
    virtual bool shares() const noexcept = 0;

    /// The last name, in the order of names, that its owner holds while it waits; empty: the owner holds nothing. The
    /// names for which it waits come later.
    virtual std::string_view holds_up_to() const noexcept = 0;

    /// Whether it waits for a change of @p of for the lock of @p resource on @p node, as far as the node has told.
    virtual bool awaits(core::watched of, std::size_t node, std::string_view resource) const = 0;

    /// Call this when something for which it waits has changed on @p node: @p resource, or anything if that is empty.
    virtual void may_be_free(core::watched of, std::size_t node, std::string_view resource) = 0;

protected:
    ~waiter() = default;
};

/// Gets the outcomes of the first waiter in the queue of a resource, whichever waiter that is.
class queue_observer {
public:
    /// @param asked the round with this outcome; null if the nodes were not asked
    virtual void met(error_code outcome, quorum::round const* asked) noexcept = 0;

protected:
    ~queue_observer() = default;
};

/** The acquisitions of one manager that may wait, in a queue for each resource. Only the first of a queue asks the
    nodes.

    - A waiter for several resources (a set) enters all their queues at once, and asks when it is the first in each. So
      all queues have one order, and waiters do not deadlock.
    - A waiter whose owner holds locks does not queue behind sets whose owners hold less, because they may wait for
      these locks.
    - A waiter for any of several resources asks when it is the first in one of their queues, and only for those.
    - Readers and writers get the lock in phases. When a waiter of one mode gets it, all that wait in this mode follow,
      in the order of their calls. Those of the other mode come next; later calls do not join the phase. So neither side
      starves, no writer comes between the readers of a phase, and a writer waits for at most one phase of readers.
    - If other managers want a lock, too, this manager hands it over in batches, and yields it between them.

    On the strand, unless stated otherwise.
*/
class waiters {
    using line = std::list<waiter*>;

    /// The sets in a queue, by what their owners hold. The queue has the same order.
    using sets = std::multimap<std::string_view, line::iterator, std::greater<>>;

    struct queue : line {
        std::optional<error_code> met;
        std::shared_ptr<quorum::round> asked;
        clock::time_point kept_out = clock::time_point::min();  ///< when a holder last excluded the queue
        std::optional<mode> phase;  ///< the mode of the waiter that got the lock last; empty: none yet
        std::size_t alone = 0;      ///< exclusive waiters that have not stopped
        waiters::sets sets;

        iterator place_of(waiter const&);
        void begin_phase(mode);
    };

    /// The observers of one queue. An observer does not get the same outcome twice in a row.
    struct audience {
        using members = std::set<std::weak_ptr<queue_observer>, std::owner_less<>>;

        members told, others;
        error_code outcome;          ///< the outcome that `told` got
        std::size_t forget_at = 64;  ///< at this size, expired observers are dropped

        void add(std::weak_ptr<queue_observer>);
        void tell(error_code, quorum::round const* asked);
    };

    queue const* find(std::string_view resource) const;
    void tell_observers(std::string const& resource, error_code outcome, quorum::round const* asked) noexcept;

public:
    explicit waiters(std::size_t max_handovers) : max_handovers_(max_handovers) {}

    /// Any thread.
    std::size_t size() const noexcept { return size_.load(std::memory_order_relaxed); }

    /// A place in the queues for some resources; the destructor removes it.
    class place {
    public:
        place(waiters&, std::span<std::string const> resources, waiter&);
        ~place();
        place(place const&) = delete;
        place& operator=(place const&) = delete;
        bool first() const;
        /// The number of waiters before it, in the longest of its queues.
        std::size_t ahead() const;
        /// For several resources: whether it is the first that waits for number @p i.
        bool first_for(std::size_t i) const { return places_[i].first(); }
        /// Call this when it no longer wants the resources: nobody yields to it any more.
        void stops() noexcept;
        /// Where it is the first and the resource @p is_free, lets the next waiter pass that is not a set.
        /// @return how many passed, at most @p left
        std::size_t let_pass(std::size_t left, std::function<bool(std::string const&)> const& is_free);
        void step_back();  ///< moves behind all for which it may wait
        /// Call this when the first waiter got @p resources, all or one of its own. A phase of its mode begins, or goes
        /// on.
        void got(std::span<std::string const> resources);
        /// Tells the waiters behind it the @p outcome of the round @p asked, which may be null.
        void met(error_code outcome, std::shared_ptr<quorum::round> asked);
        /// The latest outcome of the first waiter, and its round. Empty: nobody has asked yet.
        std::optional<error_code> met() const { return latest().met; }
        std::shared_ptr<quorum::round> const& asked() const { return latest().asked; }
        /// Call this when a holder excludes all waiters that are in the queue now.
        void kept_out(clock::time_point now) noexcept { places_.front().queue.kept_out = now; }
        /// For one resource: when a holder last excluded the queue.
        clock::time_point kept_out() const noexcept { return places_.front().queue.kept_out; }

    private:
        struct in_queue {
            std::string const& resource;
            locks::waiters::queue& queue;
            line::iterator at;
            std::optional<sets::iterator> set{};  ///< for a waiter that wants several

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

    /// Whether somebody waits to hold @p resource exclusively.
    bool wanted_alone(std::string_view resource) const;

    /// Adds an observer. If it observes already, it gets the next outcome even if that is the same as before.
    void observe(std::string const& resource, std::weak_ptr<queue_observer>) noexcept;

    /// Whether somebody waits behind the first waiter for any of @p resources.
    bool others_queue(std::span<std::string const> resources) const;

    /// Call this when @p of has changed for the lock of @p resource on @p node.
    void changed(core::watched of, std::size_t node, std::string_view resource);

    /// Call this when this manager has deleted the lock's key on @p node, and with it the node's record of hand-overs.
    void deleted(std::size_t node, std::string_view resource);

    /// Call this when anything may have changed on @p node.
    void all_changed(std::size_t node);

    // Batches of hand-overs.

    /// Whether an acquisition should contend; true now and then. A manager that returns to one resource again and again
    /// may find it free each time, because it is faster than the waiting clients.
    bool should_contend(std::uint64_t random) const noexcept { return random % (max_handovers_ + 1) == 0; }

    /// Call this when the lock of @p resources was won in @p round_trip, and others want some of it.
    /// @param in_vain this manager had yielded it, and the others did not come
    void others_want(std::span<std::string const> resources, clock::duration round_trip, bool in_vain,
                     clock::time_point now, std::uint64_t random);

    /// Call this when the lock of @p resource is given back or lost: wakes the first waiter. @return whether a waiter
    /// of this manager follows
    bool freed(std::string const& resource, clock::time_point now);

    /// Call this when the lock of @p resource is still held, but shared from now on.
    void shared_again(std::string_view resource);

    /// Until when this manager yields one of @p resources to others: the latest time. Empty: it yields none.
    std::optional<clock::time_point> yields_until(std::span<std::string const> resources, clock::time_point now) const;

private:
    struct sharing {
        core::handovers left;
        clock::duration yield;  ///< how long it yields after the batch; longer after a vain yield
        clock::time_point yields_until = clock::time_point::min();  ///< hands nothing over until then
        clock::time_point forgotten_at;                             ///< when the entry may be dropped

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
    std::size_t forget_at_ = 1024;                     // at this size, old entries of `shared_` are dropped
};

}  // namespace redlock::locks
