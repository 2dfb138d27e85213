// Counts allocations: the functions here replace those of the C library in this program. A replaced operator new would
// miss aligned memory, which Boost.Asio requests with aligned_alloc.

#include "allocations.hpp"

#include <cerrno>
#include <cstdlib>
#include <malloc.h>

namespace {

constinit redlock::bench::heap used;

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)

void* counted(void* memory, std::size_t size)
{
    if (memory) {
        ++used.allocations;
        used.bytes += size;
        used.live_bytes += ::malloc_usable_size(memory);
        used.peak_bytes = used.live_bytes > used.peak_bytes ? used.live_bytes : used.peak_bytes;
    }
    return memory;
}

void forget(void* memory)
{
    if (memory)
        used.live_bytes -= ::malloc_usable_size(memory);
}

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);
void* __libc_memalign(std::size_t, std::size_t);
void __libc_free(void*);

void* malloc(std::size_t size) { return counted(__libc_malloc(size), size); }

void* calloc(std::size_t count, std::size_t size) { return counted(__libc_calloc(count, size), count * size); }

void* realloc(void* memory, std::size_t size)
{
    auto const before = memory ? ::malloc_usable_size(memory) : 0;
    void* const moved = __libc_realloc(memory, size);
    if (moved || size == 0)
        used.live_bytes -= before;
    return counted(moved, size);
}

void* memalign(std::size_t alignment, std::size_t size) { return counted(__libc_memalign(alignment, size), size); }

void* aligned_alloc(std::size_t alignment, std::size_t size) { return counted(__libc_memalign(alignment, size), size); }

int posix_memalign(void** memory, std::size_t alignment, std::size_t size)
{
    *memory = counted(__libc_memalign(alignment, size), size);
    return *memory ? 0 : ENOMEM;
}

void free(void* memory)
{
    forget(memory);
    __libc_free(memory);
}

}  // extern "C"

#endif

}  // namespace

redlock::bench::heap redlock::bench::heap_now() noexcept { return used; }

void redlock::bench::reset_peak() noexcept { used.peak_bytes = used.live_bytes; }
