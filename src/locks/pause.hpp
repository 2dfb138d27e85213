#pragma once

#include "core/backoff.hpp"
#include "locks/manager_state.hpp"

#include <chrono>
#include <functional>
#include <memory>

namespace redlock::inline v1::locks {

/** Waits for a random time from a range, by the manager's clock. Completes with `operation_aborted` if it is cancelled
    or the manager stops. Any thread.
    @param begun is called with the time, on the manager's strand, unless the manager has stopped. It may be empty.
*/
void start_pause(std::shared_ptr<manager_state>, core::pause_range,
                 std::function<void(std::chrono::milliseconds)> begun, detail::error_handler);

}  // namespace redlock::locks
