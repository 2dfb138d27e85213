#pragma once

#include "allocations.hpp"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace redlock::bench {

/// Sets the counter "allocations" per iteration. @p before: @ref allocations before the first iteration.
inline void count_allocations_since(std::size_t before, ::benchmark::State& state)
{
    auto const allocated = static_cast<double>(allocations() - before);
    auto const each = allocated / static_cast<double>(std::max<::benchmark::IterationCount>(state.iterations(), 1));
    state.counters["allocations"] = std::round(each * 100) / 100;  // rounding removes the framework's own allocation
}

}  // namespace redlock::bench
