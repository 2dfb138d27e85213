// A wall clock that tests can step, for one process. This library is preloaded into a server. Each time the server
// reads the time of day, the library adds the microseconds in the file $CLOCK_SHIM_OFFSET. Monotonic clocks do not
// change.

#include <atomic>
#include <cstdint>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <unistd.h>

namespace {

using offset = std::atomic<std::int64_t>;

offset const* map_offset()
{
    static offset const none{0};
    char const* const path = std::getenv("CLOCK_SHIM_OFFSET");
    int const file = path ? ::open(path, O_RDONLY | O_CLOEXEC) : -1;
    if (file < 0)
        return &none;
    void* const memory = ::mmap(nullptr, sizeof(offset), PROT_READ, MAP_SHARED, file, 0);
    ::close(file);
    return memory == MAP_FAILED ? &none : static_cast<offset const*>(memory);
}

std::int64_t microseconds() noexcept
{
    static offset const* const added = map_offset();
    timespec t{};
    ::syscall(SYS_clock_gettime, CLOCK_REALTIME, &t);
    return t.tv_sec * std::int64_t(1'000'000) + t.tv_nsec / 1000 + added->load(std::memory_order_relaxed);
}

}  // namespace

extern "C" {

int clock_gettime(clockid_t clock, timespec* t) noexcept
{
    if (clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE)
        return static_cast<int>(::syscall(SYS_clock_gettime, clock, t));
    auto const now = microseconds();
    *t = {now / 1'000'000, now % 1'000'000 * 1000};
    return 0;
}

int gettimeofday(timeval* t, void*) noexcept
{
    auto const now = microseconds();
    *t = {now / 1'000'000, now % 1'000'000};
    return 0;
}

std::time_t time(std::time_t* t) noexcept
{
    auto const now = microseconds() / 1'000'000;
    if (t)
        *t = now;
    return now;
}
}
