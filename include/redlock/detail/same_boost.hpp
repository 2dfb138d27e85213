#pragma once

#include <redlock/detail/api.hpp>

#include <boost/version.hpp>

// The library and the program must be compiled with the same version of Boost, because types of Boost.Asio are part of
// the interface. If the versions differ, the linker reports an undefined `built_with_boost_108300`: the Boost of the
// program.

#define REDLOCK_DETAIL_JOIN(a, b) a##b
#define REDLOCK_DETAIL_BUILT_WITH(version) REDLOCK_DETAIL_JOIN(built_with_boost_, version)

namespace redlock::inline v1::detail {

REDLOCK_API extern char const REDLOCK_DETAIL_BUILT_WITH(BOOST_VERSION);

#if defined(__GNUC__)
[[gnu::used, gnu::visibility("hidden")]] inline char const* const same_boost =
    &REDLOCK_DETAIL_BUILT_WITH(BOOST_VERSION);
#endif

}  // namespace redlock::detail
