#pragma once

#include <redlock/lock.hpp>
#include <redlock/mode.hpp>

#include <atomic>
#include <cstdint>
#include <utility>

namespace redlock::inline v0::locks {

/// An upgrade under way that waits for others to go.
class waiting_upgrade {
public:
    virtual void others_changed() = 0;

protected:
    ~waiting_upgrade() = default;
};

/// In which mode a lock is held, and the upgrade under way.
class held_mode {
public:
    explicit held_mode(redlock::mode acquired) noexcept : acquired_(acquired) {}

    /// How one that was acquired shared is held. It moves down only: what asks for an upgrade may arrive late, and so
    /// may what takes it back.
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
    /// Once, before anybody else knows the lock: it may wait to be alone as long as it has this.
    void may_be_upgraded(lock_handle right) noexcept { right_ = std::move(right); }
    void give_back_right() noexcept;

    /// @param waits null: it does not wait for others. @return false: it must not be upgraded
    bool begin_upgrade(waiting_upgrade* waits) noexcept;
    bool end_upgrade() noexcept;  ///< @return whether it has waited in vain
    bool is_changing() const noexcept { return changing_; }
    void others_changed();
    bool keeps_readers_out() const noexcept { return waits_ || mode() == redlock::mode::exclusive; }

private:
    redlock::mode const acquired_;
    std::atomic<form> form_{form::as_acquired};
    bool changing_ = false;
    waiting_upgrade* waits_ = nullptr;
    lock_handle right_;  // empty: it does not wait to be alone
};

}  // namespace redlock::locks
