#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace redlock::test {

/// Makes one allocation fail. It replaces `operator new`, so include it in one file of a program. Do not use it with
/// sanitizers: they replace `operator new`, too, and report the task whose handler was not called for lack of memory.
struct failing_memory {
    static inline thread_local int in = 0;  ///< which of the next allocations fails; 0: none

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
