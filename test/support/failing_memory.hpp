#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace redlock::test {

/// Memory that is missing once. To be included in one file of a program: it replaces the program's `operator new`. Not with sanitizers, which have
/// their own; and where there is no memory to call a handler, its task is left, as they would say.
struct failing_memory {
    static inline thread_local int in = 0;  ///< the how many-eth piece from now on is missing; 0: none

    static void* take(std::size_t size)
    {
        if (in > 0 && --in == 0)
            throw std::bad_alloc();
        if (auto* const p = std::malloc(size > 0 ? size : 1))
            return p;
        throw std::bad_alloc();
    }
};

}  // namespace redlock::test

void* operator new(std::size_t size) { return redlock::test::failing_memory::take(size); }
void operator delete(void* p) noexcept { std::free(p); }
void operator delete(void* p, std::size_t) noexcept { std::free(p); }
