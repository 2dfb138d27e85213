#pragma once

#include "locks/handle_state.hpp"
#include "runtime/operation.hpp"

#include <redlock/error.hpp>

#include <boost/intrusive/list.hpp>

#include <atomic>
#include <cstddef>
#include <memory>

namespace redlock::inline v1::locks {

/// The handles of a held lock, the bodies that run under it, and the waits for its loss.
class handles {
public:
    explicit handles(held_lock& l) noexcept : first(l) {}

    handle_state first;  ///< a member of the lock

    // Any thread.
    handle_count count;
    std::atomic<std::size_t> bodies{0};  ///< that run under the lock

    // On the strand.
    void add(std::shared_ptr<loss_wait>);
    std::shared_ptr<loss_wait> take(loss_wait&) noexcept;
    void end_waits(error_code) noexcept;
    void end_waits_of(handle_state&) noexcept;  ///< call this when the handle was given back
    void abandon() noexcept;                    ///< does not complete the waits
    std::size_t later_joins = 0;                ///< by readers that called after the winning round began

private:
    void end(loss_wait&, error_code) noexcept;

    boost::intrusive::list<runtime::operation, boost::intrusive::constant_time_size<false>> waits_;
};

}  // namespace redlock::locks
