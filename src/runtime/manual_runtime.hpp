#pragma once

#include "runtime/runtime.hpp"

#include <redlock/testing.hpp>

#include <memory>

namespace redlock::inline v1::runtime {

/// The system runtime, except that a test sets the time.
std::shared_ptr<runtime> make_manual_runtime(asio::any_io_executor executor, std::shared_ptr<testing::manual_clock>);

}  // namespace redlock::runtime
