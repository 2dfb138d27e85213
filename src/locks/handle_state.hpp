#pragma once

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

namespace redlock::inline v1::locks {

class held_lock;
class loss_wait;
class scope_state;

/// The number of handles on a lock, or of one scope's handles on a lock. Once it is zero, it stays zero. Any thread.
class handle_count {
public:
    bool any() const noexcept { return count_.load(std::memory_order_acquire) != 0; }
    bool several() const noexcept { return count_.load(std::memory_order_acquire) > 1; }
    bool one_more() noexcept { return change(1) != 0; }  ///< @return false if it is zero already
    bool one_less() noexcept { return change(static_cast<std::size_t>(-1)) == 1; }  ///< @return whether it was the last
    bool end_the_only_one() noexcept  ///< @return false if there are others, or none
    {
        std::size_t one = 1;
        return count_.compare_exchange_strong(one, 0, std::memory_order_acq_rel);
    }

private:
    // At zero, the release may have been sent already. Another thread may detach the only handle at the same time.
    std::size_t change(std::size_t by) noexcept
    {
        auto before = count_.load(std::memory_order_relaxed);
        while (before != 0 && !count_.compare_exchange_weak(before, before + by, std::memory_order_acq_rel)) {
        }
        return before;
    }

    std::atomic<std::size_t> count_{1};
};

/// The handles of a scope on one lock, even after they were moved. They keep the scope's state, which may outlive the
/// user's scope.
struct scope_share {
    explicit scope_share(std::shared_ptr<scope_state> s) : scope(std::move(s)) {}

    std::shared_ptr<scope_state> const scope;
    handle_count handles;
};

using waits_hook = boost::intrusive::list_base_hook<boost::intrusive::tag<handle_state>,
                                                    boost::intrusive::link_mode<boost::intrusive::auto_unlink>>;

/// A wait for the loss of a lock, in the list of the handle through which the caller waits.
class waits_by_handle : public waits_hook {
public:
    using list = boost::intrusive::list<waits_by_handle, boost::intrusive::base_hook<waits_hook>,
                                        boost::intrusive::constant_time_size<false>>;
};

/// The share of one handle in a held lock. A lock may have several handles; the last one releases it. In a scope, a
/// handle may cover more than one lock, or fewer names than its lock has: then it has *parts*.
class handle_state {
public:
    /// The first handle, which is a member of the lock.
    explicit handle_state(held_lock& l) noexcept : lock(l) {}

    /// One more handle, counted by a scope if @p of_scope is set. If the lock was given back before, so is the new
    /// handle.
    handle_state(std::shared_ptr<held_lock>, std::shared_ptr<scope_share> of_scope) noexcept;

    /// A handle for @p names with @p parts. It is held as long as each of them is.
    handle_state(resource_set names, std::vector<lock_handle> parts);

    held_lock& lock;  ///< with parts: the lock of the first one

    /// Assigns the handle to a scope, which counts its handles. Call this before anybody gets the handle.
    void belongs_to(std::shared_ptr<scope_share> of_scope) noexcept { of_scope_ = std::move(of_scope); }
    std::shared_ptr<scope_share> const& of_scope() const noexcept { return of_scope_; }

    // Any thread.
    std::span<lock_handle const> parts() const noexcept;
    resource_set const& resources() const noexcept;
    bool held() const noexcept;
    clock::time_point valid_until() const noexcept;
    std::string_view lost_because() const noexcept;  ///< for people; empty: not lost
    bool given_back() const noexcept { return given_back_.load(std::memory_order_acquire); }

    enum class end : std::uint8_t { before, one_of_several, last, in_parts };
    end give_back() noexcept;   ///< the caller gives back the parts
    bool end_alone() noexcept;  ///< gives back the only handle, so that nobody can join; false: it is not the only one

    /// Notes that a body runs under the handle, which the lock has counted. The count ends when the handle is given
    /// back.
    void runs_body() noexcept;

    waits_by_handle::list waits;  ///< on the strand; each wait keeps this handle

private:
    struct composition {
        resource_set names;
        std::vector<lock_handle> parts;
    };

    bool join() noexcept;
    void end_body() noexcept;
    void leave_scope() noexcept;

    std::shared_ptr<held_lock> const keep_;  // null in the first handle
    std::shared_ptr<scope_share> of_scope_;
    std::unique_ptr<composition const> const composition_;
    std::atomic<bool> given_back_{false};
    std::atomic<bool> has_body_{false};
};

/// Notes that a body runs under the handle. On the strand.
void runs_body(handle_state&);

/// Gives the handle back without waiting. Any thread; never throws.
void give_back(std::shared_ptr<handle_state> const&) noexcept;

/// Call this when one of several handles was given back: completes its waits for the loss. Any thread.
void tell_waits_of(std::shared_ptr<handle_state> const&);

}  // namespace redlock::locks
