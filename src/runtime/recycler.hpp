#pragma once

#include <redlock/detail/recycler.hpp>

#include <cstddef>

namespace redlock::inline v1::runtime {

// Under a sanitizer nothing is kept, so that the sanitizer sees each allocation. GCC defines macros, Clang tells by
// __has_feature.
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer)                  \
    || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
inline constexpr bool recycles = false;
#else
inline constexpr bool recycles = true;
#endif

/// A thread may always keep this much freed memory. So a thread that rests cannot take everything from the others.
inline constexpr std::size_t recycled_by_each_thread = 64 * 1024;

/// One thread keeps at most this much. Several threads together keep at most @ref recycled_by_each_thread more for each
/// further thread. It suffices for the waves of 256 clients. docs/performance.md says what it costs with more clients.
inline constexpr std::size_t recycled_max = 2 * 1024 * 1024;

/// How much freed memory this thread keeps.
std::size_t recycled_by_this_thread() noexcept;

}  // namespace redlock::runtime
