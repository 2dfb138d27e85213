#include "support/virtual_clock.hpp"

#include <algorithm>
#include <atomic>
#include <cassert>
#include <ctime>
#include <mutex>
#include <set>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

namespace redlock::test {

namespace {

std::atomic<virtual_clock*> present{nullptr};
std::atomic<clock::duration> skipped{clock::duration(0)};

/// The descriptors of all timers, closed ones included.
struct timers {
    std::mutex mutex;
    std::set<int> all;
};

timers& real_timers()
{
    static auto& t = *new timers;  // never destroyed: an event loop may end later
    return t;
}

int set_real_timer(int descriptor, int flags, itimerspec const* after, itimerspec* before)
{
    return static_cast<int>(::syscall(SYS_timerfd_settime, descriptor, flags, after, before));
}

void show(clock::duration since_boot, timespec& t)
{
    auto const seconds = std::chrono::floor<std::chrono::seconds>(since_boot);
    t.tv_sec = static_cast<time_t>(seconds.count());
    t.tv_nsec = static_cast<long>((since_boot - seconds).count());
}

}  // namespace

void skip_time(clock::duration d)
{
    skipped = skipped.load() + d;
    auto& timers = real_timers();
    std::lock_guard const guard(timers.mutex);
    itimerspec const at_once{.it_interval = {}, .it_value = {.tv_sec = 0, .tv_nsec = 1}};
    for (auto const descriptor : timers.all)  // if it is closed or no timer any more, the call fails
        set_real_timer(descriptor, 0, &at_once, nullptr);
}

virtual_clock::virtual_clock()
{
    assert(!present);
    present = this;
}

virtual_clock::~virtual_clock() { present = nullptr; }

void virtual_clock::set(clock::time_point t)
{
    now_ = std::max(now_, t);
    std::erase_if(timers_, [this](auto& timer) {
        bool const is_due = timer.second <= now_;
        if (is_due)
            ::eventfd_write(timer.first, 1);
        return is_due;
    });
}

void virtual_clock::set_timer(int descriptor, clock::duration d)
{
    eventfd_t rung;
    ::eventfd_read(descriptor, &rung);
    timers_[descriptor] = now_ + d;
    set(now_);
}

clock::time_point virtual_clock::next_timer() const
{
    auto const first =
        std::min_element(timers_.begin(), timers_.end(), [](auto& a, auto& b) { return a.second < b.second; });
    return first == timers_.end() ? clock::time_point::max() : first->second;
}

}  // namespace redlock::test

using namespace redlock::test;

// The event loop of Asio reads these clocks. It waits for a descriptor that becomes readable when a timer is due.

extern "C" [[gnu::visibility("default")]] int clock_gettime(clockid_t id, timespec* t) noexcept
{
    bool const counts = id == CLOCK_BOOTTIME || id == CLOCK_MONOTONIC;
    if (auto const* const c = present.load(); c && counts) {
        show(c->now().time_since_epoch(), *t);
        return 0;
    }
    auto const result = static_cast<int>(::syscall(SYS_clock_gettime, id, t));
    if (counts)
        show(std::chrono::seconds(t->tv_sec) + std::chrono::nanoseconds(t->tv_nsec) + skipped.load(), *t);
    return result;
}

extern "C" [[gnu::visibility("default")]] int timerfd_create(clockid_t id, int flags) noexcept
{
    if (present.load())
        return ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    auto const descriptor = static_cast<int>(::syscall(SYS_timerfd_create, id, flags));
    auto& timers = real_timers();
    std::lock_guard const guard(timers.mutex);
    timers.all.insert(descriptor);
    return descriptor;
}

extern "C" [[gnu::visibility("default")]] int timerfd_settime(int descriptor, int flags, itimerspec const* after,
                                                              itimerspec* before) noexcept
{
    auto* const c = present.load();
    if (!c)
        return set_real_timer(descriptor, flags, after, before);
    bool const at_once = (flags & TFD_TIMER_ABSTIME) != 0;
    c->set_timer(descriptor, at_once ? redlock::clock::duration(0)
                                     : std::chrono::seconds(after->it_value.tv_sec)
                                           + std::chrono::nanoseconds(after->it_value.tv_nsec));
    return 0;
}
