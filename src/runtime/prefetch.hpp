#pragma once

#include <cstddef>
#include <cstdint>

namespace redlock::inline v1::runtime {

/// Starts to load the first 256 bytes at @p object into the processor's cache. @p object may be null, and shorter.
inline void prefetch(void const* object) noexcept
{
    auto const address = reinterpret_cast<std::uintptr_t>(object);  // pointers must not leave their object
    for (std::size_t i = 0; i < 256; i += 64)
        __builtin_prefetch(reinterpret_cast<void const*>(address + i), 1);
}

}  // namespace redlock::runtime
