#pragma once

#include <cstddef>
#include <cstdlib>
#include <new>

namespace redlock::test {

/// Makes one allocation fail. Include it in one file of a program: it replaces `operator new`. Do not use it with
/// sanitizers: they have their own, and report the task whose handler could not be called for want of memory.
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
