#pragma once

namespace redlock::inline v0::detail {

/// Differs between a process and its forks: what the one holds, the other does not. Any thread; reads one number.
unsigned process_life() noexcept;

}  // namespace redlock::detail
