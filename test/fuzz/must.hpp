#pragma once

#include <cstdio>
#include <cstdlib>

/// Ends the program if a promise is broken. The fuzzer keeps the input.
inline void must(bool kept, char const* otherwise)
{
    if (kept)
        return;
    std::fprintf(stderr, "%s\n", otherwise);
    std::abort();
}
