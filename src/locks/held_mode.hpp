#pragma once

#include <redlock/lock.hpp>
#include <redlock/mode.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

namespace redlock::inline v1::locks {

/// An upgrade that waits until the other readers have gone.
class waiting_upgrade {
public:
    virtual void others_changed() = 0;

protected:
    ~waiting_upgrade() = default;
};

/// The mode in which a lock is held, and the upgrade under way.
class held_mode {
public:
    explicit held_mode(redlock::mode acquired) noexcept : acquired_(acquired) {}

    /// The form of a lock that was acquired shared. It only changes to a later one of these, because a request to
    /// upgrade may arrive late, and so may the request that reverts it.
    enum class form : std::uint8_t { as_acquired, upgraded, downgraded };

    // Any thread.
    redlock::mode mode() const noexcept;
    form current() const noexcept { return form_.load(std::memory_order_acquire); }
    bool change(form from, form to) noexcept
    {
        return form_.compare_exchange_strong(from, to, std::memory_order_acq_rel);
    }
    bool is_upgradeable() const noexcept { return !right_.empty(); }
    bool may_wait_to_be_alone() const noexcept { return right_.held(); }

    // On the strand.
    /// Gives the lock the right to wait for an upgrade. Call this once, before anybody else knows the lock.
    void may_be_upgraded(lock_handle right) noexcept { right_ = std::move(right); }
    void give_back_right() noexcept;

    /// @param waits null: the upgrade does not wait for others. @return false: the lock must not be upgraded
    bool begin_upgrade(waiting_upgrade* waits) noexcept;
    bool end_upgrade() noexcept;  ///< @return whether it waited and failed
    bool is_changing() const noexcept { return changing_; }
    void others_changed();
    bool keeps_readers_out() const noexcept { return waits_ || mode() == redlock::mode::exclusive; }

private:
    redlock::mode const acquired_;
    std::atomic<form> form_{form::as_acquired};
    bool changing_ = false;
    waiting_upgrade* waits_ = nullptr;
    lock_handle right_;  // empty: an upgrade does not wait
};

}  // namespace redlock::locks
