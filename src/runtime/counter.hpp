#pragma once

#include <atomic>

namespace redlock::inline v0::detail {

/// Adds to a counter that only the strand writes, so that a plain addition is enough.
template <class T>
void bump(std::atomic<T>& counter, T by = 1) noexcept
{
    counter.store(counter.load(std::memory_order_relaxed) + by, std::memory_order_relaxed);
}

}  // namespace redlock::detail
