#pragma once

#include "locks/counters.hpp"
#include "locks/waiters.hpp"
#include "quorum/cleaner.hpp"
#include "quorum/grant.hpp"

#include <redlock/clock.hpp>
#include <redlock/detail/recycler.hpp>
#include <redlock/options.hpp>
#include <redlock/resource_set.hpp>

#include <boost/intrusive/list.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace redlock::inline v1::locks {

class handle_state;

/// The acquisition that has won a lock.
struct lock_origin {
    std::uint64_t number;
    group_counters& count;      ///< the counters of its group
    clock::time_point decided;  ///< when it won
};

/// One of several locks that share a resource.
class sharer : public boost::intrusive::list_base_hook<boost::intrusive::tag<sharer>,
                                                       boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {};

/// A lock that was handed out and not given back. It keeps itself alive while it is among the @ref held_locks.
class held_lock_entry : public boost::intrusive::list_base_hook<>, private sharer {
public:
    using boost::intrusive::list_base_hook<>::is_linked;

    std::uint64_t const number;  ///< of the acquisition that won it
    resource_set const resources;
    group_counters& count;  ///< the counters of that acquisition's group

    virtual bool held() const noexcept = 0;
    virtual clock::time_point valid_until() const noexcept = 0;
    virtual std::shared_ptr<quorum::grant> const& grant() const noexcept = 0;
    virtual std::chrono::milliseconds longest_ttl() const noexcept = 0;
    virtual redlock::mode mode() const noexcept = 0;
    virtual bool give_back() = 0;                   ///< @return false if it was given back before
    virtual bool is_detached() const noexcept = 0;  ///< another process releases its keys
    virtual bool leaves_keys() const noexcept = 0;  ///< detached, or lost while another process may have resumed it
    virtual bool is_wanted() const noexcept = 0;    ///< a writer waited when the lock was acquired
    /// Adds a handle for an acquisition with these @p options that was @p called then. Null if the lock cannot be
    /// joined.
    virtual std::shared_ptr<handle_state> join(acquire_options const& options, clock::time_point called) = 0;
    virtual void key_may_be_gone(std::size_t node) = 0;   ///< the node says that a key of the lock is gone
    virtual void others_changed() = 0;                    ///< other readers of the resource have come or gone
    virtual bool keeps_readers_out() const noexcept = 0;  ///< excludes readers of this manager
    virtual void stop() noexcept = 0;                     ///< the manager ends; completes the waits for a loss
    virtual void abandon() = 0;                           ///< the execution context ends

protected:
    held_lock_entry(lock_origin const& by, resource_set names)
        : number(by.number), resources(std::move(names)), count(by.count)
    {
    }
    ~held_lock_entry() = default;

private:
    friend class held_locks;
    std::shared_ptr<held_lock_entry> kept_;
};

/// The locks that a manager has handed out. On the strand, unless stated otherwise.
class held_locks {
public:
    /// @param released is called after a lock was given away, when only its clean-up is left
    held_locks(locks::waiters&, quorum::cleaner&, events::event_log&, std::function<void()> released);

    void add(std::shared_ptr<held_lock_entry>);
    void set_free(held_lock_entry&, clock::time_point now);  ///< the lock is no longer held
    void remove(held_lock_entry&);                           ///< the lock was given back
    /// Call this when nobody uses the lock any more. It releases the lock in the background, unless the lock was
    /// released before or detached.
    void give_away(held_lock_entry&) noexcept;

    /// Until when locks of this manager prevent that @p resources are acquired in this @ref mode: the latest end.
    /// Empty: no lock does.
    std::optional<clock::time_point> held_until(std::span<std::string const> resources, redlock::mode) const;

    /// Whether this manager holds one of @p resources exclusively.
    bool held_alone(resource_set const& resources) const;

    /// Whether an upgrade of this manager waits to hold @p resource exclusively.
    bool upgrade_waits(std::string_view resource) const;

    /// One more handle on a lock that this manager shares already; null if no lock can be joined.
    std::shared_ptr<handle_state> join(std::string const& resource, acquire_options const&, clock::time_point called,
                                       bool passes) const;

    /// Call this when @p what has changed for the lock of @p resource on @p node.
    void changed(core::watched what, std::size_t node, std::string_view resource);

    /// Call this when @ref held_lock_entry::keeps_readers_out of @p h may have changed.
    void changed_mode(held_lock_entry& h);

    /// Tells the holders to stop. Each lock stays held until its holder has stopped, or until its validity is over.
    void tell_to_stop() noexcept;
    void abandon();

    bool empty() const noexcept { return all_.empty(); }

    // Any thread.
    std::size_t size() const noexcept { return held_now_.load(std::memory_order_relaxed); }

private:
    using sharers = boost::intrusive::list<
        sharer,
        boost::intrusive::base_hook<boost::intrusive::list_base_hook<
            boost::intrusive::tag<sharer>, boost::intrusive::link_mode<boost::intrusive::auto_unlink>>>,
        boost::intrusive::constant_time_size<false>>;

    /// The locks on one resource: one exclusive lock, or several shared ones. A shared lock has only one resource.
    struct holders {
        held_lock_entry* alone = nullptr;
        sharers keep_out;        ///< locks that may exclude readers of this manager; usually at most one
        sharers others;          ///< the latest first
        std::size_t wanted = 0;  ///< how many of the shared locks have @ref held_lock_entry::is_wanted

        bool empty() const noexcept { return !alone && keep_out.empty() && others.empty(); }
    };

    using by_resource =
        std::unordered_map<std::string_view, holders, std::hash<std::string_view>, std::equal_to<std::string_view>,
                           detail::recycler<std::pair<std::string_view const, holders>>>;

    holders const* find(std::string_view resource) const;
    static held_lock_entry& entry_of(sharer const&) noexcept;
    template <class Condition>
    static held_lock_entry* find_excluding(holders const&, Condition);
    void add_to(std::string const& resource, held_lock_entry&);
    bool erase_from(std::string const& resource, held_lock_entry&) noexcept;
    void name_after(by_resource::iterator, std::string_view) noexcept;

    locks::waiters& waiters_;
    quorum::cleaner& cleaner_;
    events::event_log& log_;
    std::function<void()> const released_;
    boost::intrusive::list<held_lock_entry> all_;
    by_resource held_;
    std::atomic<std::size_t> held_now_{0};
};

}  // namespace redlock::locks
