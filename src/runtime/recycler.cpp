#include <redlock/detail/recycler.hpp>

#include "runtime/prefetch.hpp"

#include <array>
#include <new>
#include <utility>

namespace redlock::inline v1::detail {

namespace {

// Under a sanitizer nothing is kept, so that the sanitizer sees each allocation. GCC defines macros, Clang tells by
// __has_feature.
#ifndef __has_feature
#define __has_feature(x) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer)                  \
    || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
constexpr std::size_t kept_max = 0;
#else
constexpr std::size_t kept_max = 64 * 1024 * 1024;
#endif
constexpr std::size_t step = 64;
constexpr std::size_t size_max = 2048;

struct block {
    block* next;
};

// It has no destructor, so it can still be used while other thread-local objects are destroyed.
struct lists {
    std::array<block*, size_max / step> first;
    std::size_t kept;
    bool ending;
};
thread_local constinit lists mine{};

// Frees all blocks when the thread ends.
struct at_thread_end {
    ~at_thread_end()
    {
        mine.ending = true;
        for (auto*& first : mine.first) {
            while (first)
                ::operator delete(std::exchange(first, first->next));
        }
    }
    void touch() const noexcept {}
};
thread_local at_thread_end const guard;

constexpr std::size_t list_of(std::size_t size) { return (size - 1) / step; }

}  // namespace

void* recycled_new(std::size_t size)
{
    if (size - 1 >= size_max)  // size 0 wraps around, and so counts as too large
        return ::operator new(size);
    auto const i = list_of(size);
    if (auto* const b = mine.first[i]) {
        mine.first[i] = b->next;
        runtime::prefetch(b->next);  // after thousands of operations, it is not in the cache any more
        mine.kept -= (i + 1) * step;
        return b;
    }
    return ::operator new((i + 1) * step);
}

void recycled_delete(void* memory, std::size_t size) noexcept
{
    if (size - 1 >= size_max)  // size 0 wraps around, and so counts as too large
        return ::operator delete(memory);
    auto const i = list_of(size);
    if (mine.ending || mine.kept + (i + 1) * step > kept_max)
        return ::operator delete(memory);
    if (mine.kept == 0)  // the first use registers the destructor of the guard
        guard.touch();
    mine.kept += (i + 1) * step;
    mine.first[i] = ::new (memory) block{mine.first[i]};
}

}  // namespace redlock::detail
