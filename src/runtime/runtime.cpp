#include "runtime/runtime.hpp"

#include <algorithm>
#include <atomic>

#include <pthread.h>

namespace redlock::inline v1::runtime {

namespace {

std::atomic<unsigned> forks{0};

// Registered when the library is loaded, so that each fork increments the number, a fork of a fork too.
int const registered = ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

unsigned process_life() noexcept { return forks.load(std::memory_order_relaxed); }

void runtime::set(alarm& a, clock::time_point at)
{
    schedule_.set(a, at);
    // An early wake-up without due alarms costs less than a timer operation for each alarm.
    if (at < wake_at_)
        wake_for(at);
}

void runtime::wake_for(clock::time_point at)
{
    wake_at(at, [weak = weak_from_this()] {
        if (auto const self = weak.lock())
            self->ring();
    });
    wake_at_ = at;  // after the call, because it may throw if memory is short
}

void runtime::ring()
{
    auto const due = std::exchange(wake_at_, clock::time_point::max());
    auto const at = now();
    stalls_.rang(due, at);
    if (at - due >= long_stall && after_long_stall_)
        after_long_stall_();
    schedule_.ring_until(at);
    if (auto const next = schedule_.next(); next && *next < wake_at_)
        wake_for(*next);
}

clock::duration runtime::stalled_since(clock::time_point since, clock::time_point untold) const noexcept
{
    auto const next = schedule_.next();  // none after stop()
    auto const late = next && *next > untold ? now() - *next : clock::duration::zero();
    return std::max(stalls_.longest(since, untold), late);
}

void runtime::stop()
{
    schedule_.clear();
    forget_call();
}

void runtime::abandon()
{
    schedule_.clear();
    strand_.abandon();
    drop_references();
}

}  // namespace redlock::runtime
