// Counts what is allocated, by replacing the global operators of this program.

#include "allocations.hpp"

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

std::atomic<std::size_t> count{0};

}  // namespace

std::size_t redlock::bench::allocations() noexcept
{
    return count.load(std::memory_order_relaxed);
}

void* operator new(std::size_t size)
{
    count.store(count.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);  // one thread: no need for more
    if (void* p = std::malloc(size ? size : 1))
        return p;
    throw std::bad_alloc();
}

void operator delete(void* p) noexcept
{
    std::free(p);
}

void operator delete(void* p, std::size_t) noexcept
{
    std::free(p);
}
