#include "runtime/fork.hpp"

#include <atomic>

#include <pthread.h>

namespace redlock::inline v0::detail {

namespace {

std::atomic<unsigned> forks{0};

// Registered when the library is loaded: a fork of a fork counts on.
int const registered = ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });

}  // namespace

unsigned process_life() noexcept
{
    return forks.load(std::memory_order_relaxed);
}

}  // namespace redlock::detail
