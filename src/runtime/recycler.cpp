#include "runtime/recycler.hpp"

#include "runtime/prefetch.hpp"

#include <array>
#include <atomic>
#include <new>
#include <utility>

namespace redlock::inline v1::detail {

namespace {

constexpr std::size_t step = 64;
constexpr std::size_t size_max = 2048;
constexpr std::size_t share = runtime::recycled_by_each_thread;
constexpr std::size_t shares_max = runtime::recycled_max / share - 1;  // that threads take beyond their first

struct block {
    block* next;
};

constinit std::atomic<std::size_t> shares_taken{0};

// It has no destructor, so it can still be used while other thread-local objects are destroyed.
struct lists {
    std::array<block*, size_max / step> first;
    std::size_t kept;  ///< bytes
    std::size_t room;  ///< for kept bytes, in shares. 0 before the first block is kept, and after the end of the thread
    bool ending;

    bool grow() noexcept;
    void shrink() noexcept
    {
        room -= share;
        shares_taken.fetch_sub(1, std::memory_order_relaxed);
    }
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
        mine.kept = 0;
        while (mine.room > share)
            mine.shrink();
        mine.room = 0;
    }
    void touch() const noexcept {}
};
thread_local at_thread_end const guard;

// The first share is free. All threads count the further ones together, so memory that is freed on another thread
// than it was allocated on cannot pile up.
bool lists::grow() noexcept
{
    if (!runtime::recycles || ending)
        return false;
    if (room == 0) {
        guard.touch();  // the first use registers its destructor
        room = share;
        return true;
    }
    auto taken = shares_taken.load(std::memory_order_relaxed);
    while (taken < shares_max) {
        if (shares_taken.compare_exchange_weak(taken, taken + 1, std::memory_order_relaxed)) {
            room += share;
            return true;
        }
    }
    return false;
}

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
        if (mine.room - mine.kept > 2 * share)  // the second one saves the counting if it is soon needed again
            mine.shrink();
        return b;
    }
    return ::operator new((i + 1) * step);
}

void recycled_delete(void* memory, std::size_t size) noexcept
{
    if (size - 1 >= size_max)  // size 0 wraps around, and so counts as too large
        return ::operator delete(memory);
    auto const i = list_of(size);
    auto const kept = mine.kept + (i + 1) * step;
    if (kept > mine.room && !mine.grow())
        return ::operator delete(memory);
    mine.kept = kept;
    mine.first[i] = ::new (memory) block{mine.first[i]};
}

}  // namespace redlock::detail

std::size_t redlock::runtime::recycled_by_this_thread() noexcept { return redlock::detail::mine.kept; }
