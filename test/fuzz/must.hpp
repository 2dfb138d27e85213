#pragma once

#include <cstdio>
#include <cstdlib>

/// Ends the program if a promise is broken: a fuzzer keeps the input that did it.
inline void must(bool kept, char const* otherwise)
{
    if (kept)
        return;
    std::fprintf(stderr, "%s\n", otherwise);
    std::abort();
}
