#pragma once

#include "runtime/operation.hpp"

#include <redlock/clock.hpp>
#include <redlock/lock.hpp>
#include <redlock/resource_set.hpp>

#include <boost/intrusive/list.hpp>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::inline v0::locks {

class held_lock;
class loss_wait;
class scope_state;

/// How many handles there are: on a lock, or of a scope on it. From none it never becomes one again. Any thread.
class handle_count {
public:
    bool any() const noexcept { return count_.load(std::memory_order_acquire) != 0; }
    bool several() const noexcept { return count_.load(std::memory_order_acquire) > 1; }
    bool one_more() noexcept { return change(1) != 0; }  ///< @return false if there is none any more
    bool one_less() noexcept { return change(static_cast<std::size_t>(-1)) == 1; }  ///< @return whether it was the last
    bool end_the_only_one() noexcept  ///< @return false if there are others, or none
    {
        std::size_t one = 1;
        return count_.compare_exchange_strong(one, 0, std::memory_order_acq_rel);
    }

private:
    // Whoever gave back the last one may have told the nodes. Another thread may detach the only one at the same time.
    std::size_t change(std::size_t by) noexcept
    {
        auto before = count_.load(std::memory_order_relaxed);
        while (before != 0 && !count_.compare_exchange_weak(before, before + by, std::memory_order_acq_rel)) {
        }
        return before;
    }

    std::atomic<std::size_t> count_{1};
};

/// The handles that a scope has on one lock, wherever they were moved. They know the scope, which outlives its user's.
struct scope_share {
    explicit scope_share(std::shared_ptr<scope_state> s) : scope(std::move(s)) {}

    std::shared_ptr<scope_state> const scope;
    handle_count handles;
};

using waits_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<handle_state>,
                                                    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// A wait for the loss of a lock, in the list of the stake by which it waits.
class waits_by_handle : public waits_hook {
public:
    using list = boost::intrusive::list<waits_by_handle, boost::intrusive::base_hook<waits_hook>,
                                        boost::intrusive::constant_time_size<false>>;
};

/// What one handle has of a held lock. There may be several; the lock is given back with the last. In a scope it may
/// have more than one lock, or one for fewer names than that has: then it has *parts*.
class handle_state {
public:
    /// The first one, which is a part of the lock.
    explicit handle_state(held_lock& l) noexcept : lock(l) {}

    /// One more, of a scope if that counts. It has been given back from the beginning if the lock has.
    handle_state(std::shared_ptr<held_lock>, std::shared_ptr<scope_share> of_scope) noexcept;

    /// All of @p parts, for @p names: held as long as each of them is.
    handle_state(resource_set names, std::vector<lock_handle> parts);

    held_lock& lock;  ///< of several the first

    /// Of one that nobody has yet: it belongs to a scope, which counts its handles.
    void belongs_to(std::shared_ptr<scope_share> of_scope) noexcept { of_scope_ = std::move(of_scope); }
    std::shared_ptr<scope_share> const& of_scope() const noexcept { return of_scope_; }

    // Any thread.
    std::span<lock_handle const> parts() const noexcept;
    resource_set const& resources() const noexcept;
    bool held() const noexcept;
    clock::time_point valid_until() const noexcept;
    std::string_view lost_because() const noexcept;  ///< for people; empty: it is not lost
    bool given_back() const noexcept { return given_back_.load(std::memory_order_acquire); }

    enum class end : std::uint8_t { before, one_of_several, last, in_parts };
    end give_back() noexcept;   ///< its parts are given back each by itself
    bool end_alone() noexcept;  ///< gives it back, unless there are others; nobody joins the lock any more

    /// A body runs by it, until it is given back.
    void runs_body() noexcept;

    waits_by_handle::list waits;  ///< on the strand; they keep it

private:
    struct composition {
        resource_set names;
        std::vector<lock_handle> parts;
    };

    bool join() noexcept;
    void end_body() noexcept;
    void leave_scope() noexcept;

    std::shared_ptr<held_lock> const keep_;  // not of the first
    std::shared_ptr<scope_share> of_scope_;
    std::unique_ptr<composition const> const composition_;
    std::atomic<bool> given_back_{false};
    std::atomic<bool> has_body_{false};
};

/// Who shares a held lock: its handles, the bodies that run by them, and the waits for its loss.
class handles {
public:
    explicit handles(held_lock& l) noexcept : first(l) {}

    handle_state first;  ///< which is a part of the lock

    // Any thread.
    handle_count count;
    std::atomic<std::size_t> bodies{0};  ///< that run by them

    // On the strand.
    void add(std::shared_ptr<loss_wait>);
    std::shared_ptr<loss_wait> take(loss_wait&) noexcept;
    void end_waits(error_code) noexcept;
    void end_waits_of(handle_state&) noexcept;  ///< it was given back
    void abandon() noexcept;                    ///< tells nobody
    std::size_t later_joins = 0;                ///< of readers that called after the lock was acquired

private:
    void end(loss_wait&, error_code) noexcept;

    boost::intrusive::list<runtime::operation, boost::intrusive::constant_time_size<false>> waits_;
};

/// A body runs by it. On the strand.
void runs_body(handle_state&);

/// Gives back without waiting. Any thread; never throws.
void give_back(std::shared_ptr<handle_state> const&) noexcept;

/// One of several was given back: who waits by it for the loss is told. Any thread.
void tell_waits_of(std::shared_ptr<handle_state> const&);

}  // namespace redlock::locks
