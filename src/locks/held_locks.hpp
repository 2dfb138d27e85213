#pragma once

#include "locks/statistics.hpp"
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

namespace redlock::inline v0::locks {

class handle_state;

/// The acquisition that has won a lock.
struct lock_origin {
    std::uint64_t number;
    group_counters& count;      ///< of its group
    clock::time_point decided;  ///< when it had won
};

/// One of several locks that share a resource.
class sharer : public boost::intrusive::list_base_hook<boost::intrusive::tag<sharer>,
                                                       boost::intrusive::link_mode<boost::intrusive::auto_unlink>> {};

/// A lock that was handed out and not given back; it keeps itself while it is among the @ref holdings.
class held_lock_entry : public boost::intrusive::list_base_hook<>, private sharer {
public:
    using boost::intrusive::list_base_hook<>::is_linked;

    std::uint64_t const number;  ///< of the acquisition that won it
    resource_set const resources;
    group_counters& count;  ///< of its acquisition's group

    virtual bool held() const noexcept = 0;
    virtual clock::time_point valid_until() const noexcept = 0;
    virtual std::shared_ptr<quorum::grant> const& grant() const noexcept = 0;
    virtual std::chrono::milliseconds longest_ttl() const noexcept = 0;
    virtual redlock::mode mode() const noexcept = 0;
    virtual bool let_go() = 0;                      ///< @return false if it was let go before
    virtual bool is_detached() const noexcept = 0;  ///< its keys are for others to release
    virtual bool is_wanted() const noexcept = 0;    ///< somebody waited to have it alone when it was acquired
    /// One more handle, if it is shared and may be joined by somebody with these @p options, who asked for it when it
    /// was @p called: null if not.
    virtual std::shared_ptr<handle_state> join(acquire_options const& options, clock::time_point called) = 0;
    virtual void may_be_gone(std::size_t node) = 0;       ///< so says a node of one of its keys
    virtual void others_changed() = 0;                    ///< of those who share it some have come or gone
    virtual bool keeps_readers_out() const noexcept = 0;  ///< of this manager
    virtual void told_to_stop() noexcept = 0;             ///< the manager ends: so are those told who wait for a loss
    virtual void abandon() = 0;                           ///< the execution context goes

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

/// The locks that a manager has handed out. On the strand, except where it says otherwise.
class held_locks {
public:
    /// @param released is called when one was given away and needs no more care than its clean-up
    held_locks(locks::waiters&, quorum::cleaner&, runtime::event_log&, std::function<void()> released);

    void add(std::shared_ptr<held_lock_entry>);
    void set_free(held_lock_entry&, clock::time_point now);  ///< it is not held any more
    void remove(held_lock_entry&);                           ///< it was given back
    /// Nobody wants it any more: releases it in the background, unless that was done before, or it was detached.
    void give_away(held_lock_entry&) noexcept;

    /// Until when one of @p resources is held by this manager itself, and not to be had in this @ref mode, the last of
    /// them; nothing if none is.
    std::optional<clock::time_point> held_until(std::span<std::string const> resources, redlock::mode) const;

    /// Whether this manager itself has one of @p resources alone.
    bool held_alone(resource_set const& resources) const;

    /// Whether one who shares @p resource in this manager waits to have it alone.
    bool upgrade_waits(std::string_view resource) const;

    /// One more handle on what this manager shares already; null if there is nothing that may be joined.
    std::shared_ptr<handle_state> join(std::string const& resource, acquire_options const&, clock::time_point called,
                                       bool passes) const;

    /// This has changed @p what of the lock of @p resource on @p node.
    void changed(core::watched what, std::size_t node, std::string_view resource);

    /// Call this when @ref holding::keeps_readers_out of @p h may have changed.
    void changed_mode(held_lock_entry& h);

    /// Who holds a lock is told to stop. Until they have, or it is over, nobody else may have it.
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

    /// The locks on one resource: one that is exclusive, or several that share it. A shared lock has one resource.
    struct holders {
        held_lock_entry* alone = nullptr;
        sharers keep_out;        ///< locks that may keep out readers of this manager: at most one, as a rule
        sharers others;          ///< the latest first
        std::size_t wanted = 0;  ///< how many of the shared locks have @ref holding::is_wanted

        bool empty() const noexcept { return !alone && keep_out.empty() && others.empty(); }
    };

    using by_resource =
        std::unordered_map<std::string_view, holders, std::hash<std::string_view>, std::equal_to<std::string_view>,
                           detail::recycler<std::pair<std::string_view const, holders>>>;

    holders const* find(std::string_view resource) const;
    static held_lock_entry& entry_of(sharer const&) noexcept;
    template <class Condition>
    static held_lock_entry* who_keeps_out(holders const&, Condition);
    void add_to(std::string const& resource, held_lock_entry&);
    bool erase_from(std::string const& resource, held_lock_entry&) noexcept;
    void name_after(by_resource::iterator, std::string_view) noexcept;

    locks::waiters& waiters_;
    quorum::cleaner& cleaner_;
    runtime::event_log& log_;
    std::function<void()> const released_;
    boost::intrusive::list<held_lock_entry> all_;
    by_resource held_;
    std::atomic<std::size_t> held_now_{0};
};

}  // namespace redlock::locks
