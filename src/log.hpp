#pragma once

#include "strand.hpp"

#include <redlock/config.hpp>

#include <functional>
#include <string_view>

namespace redlock::detail {

using log_function = std::function<void(log_level, std::string_view)>;

/** A user's log function that can be called from anywhere on the strand.

    The lines reach @p log in a turn of the event loop of their own: it may throw, destroy the manager, or take a mutex that a caller
    of the library holds, and meets nothing that is half done. Empty if @p log is.
*/
log_function log_on(strand const&, log_function log);

}  // namespace redlock::detail
