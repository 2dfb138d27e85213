#pragma once

#include "runtime/runtime.hpp"

#include <redlock/testing.hpp>

#include <memory>

namespace redlock::inline v0::runtime {

/// The real world but for the time, which a test sets by hand.
std::shared_ptr<runtime> make_manual_runtime(asio::any_io_executor executor, std::shared_ptr<testing::manual_clock>);

}  // namespace redlock::runtime
