#pragma once

#include "core/backoff.hpp"
#include "locks/manager_state.hpp"

#include <chrono>
#include <functional>
#include <memory>

namespace redlock::inline v0::locks {

/** Waits, by the manager's clock, for a time that is drawn from a range. Completes with `operation_aborted` when it is
    cancelled or the manager stops. Any thread.

    @param begun is told for how long, on the manager's strand; not if the manager has stopped. Empty: nobody is.
*/
void start_pause(std::shared_ptr<manager_state>, core::pause_range,
                 std::function<void(std::chrono::milliseconds)> begun, detail::error_handler);

}  // namespace redlock::locks
