#pragma once

#include <redlock/detail/api.hpp>

#include <cstddef>
#include <memory>
#include <utility>

namespace redlock::inline v1::detail {

/// Reuses freed memory, the latest first. Operations come in waves, and malloc caches only a few blocks of each size.
/// `runtime/recycler.hpp` has the limits. Blocks above 2 KiB are not kept.
REDLOCK_API void* recycled_new(std::size_t size);
REDLOCK_API void recycled_delete(void* memory, std::size_t size) noexcept;

/// The allocator for objects that every operation allocates.
template <class T>
struct recycler {
    using value_type = T;

    recycler() = default;
    template <class U>
    recycler(recycler<U> const&) noexcept
    {
    }

    T* allocate(std::size_t n)
    {
        static_assert(alignof(T) <= alignof(std::max_align_t));
        return static_cast<T*>(recycled_new(n * sizeof(T)));
    }
    void deallocate(T* memory, std::size_t n) noexcept { recycled_delete(memory, n * sizeof(T)); }

    friend bool operator==(recycler, recycler) noexcept { return true; }
};

template <class T, class... Args>
std::shared_ptr<T> make_recycled(Args&&... args)
{
    return std::allocate_shared<T>(recycler<T>(), std::forward<Args>(args)...);
}

}  // namespace redlock::detail
