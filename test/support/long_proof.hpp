#pragma once

#include <cstdlib>
#include <string_view>

namespace redlock::test {

/// Whether the environment asks for the full number of random steps: REDLOCK_LONG=1.
inline bool long_proof()
{
    auto const* const wanted = std::getenv("REDLOCK_LONG");
    return wanted && std::string_view(wanted) == "1";
}

/// Returns @p full for a long proof; otherwise @p brief.
template <class T>
T pick(T brief, T full)
{
    return long_proof() ? full : brief;
}

}  // namespace redlock::test
