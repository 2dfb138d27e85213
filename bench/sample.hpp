#pragma once

#include "histogram.hpp"
#include "result.hpp"

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace redlock::bench {

/// The counters of one run of the library or of the floor.
struct sample {
    std::uint64_t cycles = 0;
    double seconds = 0;
    double client_cpu_seconds = 0;
    double server_cpu_seconds = 0;
    std::uint64_t allocations = 0;
    std::uint64_t bytes = 0;
    std::uint64_t peak_heap_bytes = 0;
    std::uint64_t commands = 0;
    std::uint64_t writes = 0;
    histogram acquire, cycle, wait;
    std::map<std::string, std::uint64_t> failures;
    std::uint64_t violations = 0;
    std::vector<std::uint64_t> slices;  ///< cycles that ended in each @ref slice since the beginning

    static constexpr std::chrono::milliseconds slice{50};

    double rate() const { return seconds > 0 ? static_cast<double>(cycles) / seconds : 0; }
    double each(double total) const { return cycles > 0 ? total / static_cast<double>(cycles) : 0; }
};

/// One round: the floor, then the library.
struct round {
    sample library;
    sample floor;
    bool disturbed = false;
    std::map<std::string, double> more;
};

double median(std::vector<double> values);

/// Medians over @p rounds, at least one. @p has_floor: the rounds have measured their floors.
result summarise(std::vector<round> const& rounds, bool has_floor);

}  // namespace redlock::bench
