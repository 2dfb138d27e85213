#pragma once

#include "result.hpp"

#include <string_view>

// Runs for the tests of the benchmark's output, and functions that search text.

namespace redlock::bench {

/// A run in which every field is set, with a value that differs from its neighbours.
inline run full_run()
{
    result r;
    r.scenario = "scale";
    r.variant = "rtt 1 ms, \"far\"";
    r.nodes = 5;
    r.clients = 16;
    r.cycles_per_second = 12'345;
    r.floor_cycles_per_second = 15'000;
    r.ratio_to_floor = 0.823;
    r.client_cpu_us_per_cycle = 21.5;
    r.floor_cpu_us_per_cycle = 12.25;
    r.server_cpu_us_per_cycle = 30.5;
    r.allocations_per_cycle = 13;
    r.bytes_per_cycle = 1'060;
    r.commands_per_cycle = 10.5;
    r.writes_per_cycle = 2.5;
    r.acquire_us = {100, 200, 300, 400, 500, 110};
    r.cycle_us = {150, 250, 1'240, 4'500, 2'100'000, 160};
    r.wait_us = {101, 201, 301, 401, 501, 111};
    r.floor_cycle_us = percentiles{75, 125, 310, 900, 1'000, 80};
    r.failures = {{"contended", 12}, {"no quorum <5>", 3}};
    r.violations = 2;
    r.peak_heap_bytes = 18'446'744'073'709'551'615U;
    r.rounds = 7;
    r.disturbed = 1;
    r.spread = 0.04;
    r.curve = {{0.5, 150}, {0.99, 1'240}, {0.999999, 9'000}};
    r.floor_curve = {{0.5, 75}, {0.99, 310}};
    r.time = timeline{0.25, {12'000, 0, 13'000}, {{0.25, "one node stopped"}, {0.5, "it is back"}}};
    r.more = {{"bytes_per_held_lock", 412}, {"longest_gap_ms", 12.5}};
    return {.machine = {{"processor", "A & B"}, {"command", "redlock_bench <all>"}}, .results = {r}};
}

/// A run with values that no measurement gives. The output functions must handle them.
inline run odd_run()
{
    result zero, huge;
    huge.scenario = zero.scenario = "scale";
    huge.nodes = huge.clients = ~std::size_t(0);
    huge.cycles_per_second = huge.client_cpu_us_per_cycle = 1e300;
    huge.ratio_to_floor = 1e-300;
    huge.cycle_us = {1e-300, 1, 1e300, 1e300, 1e300, 1};
    huge.curve = {{0, 0}, {0.5, 1e-300}, {0.9, 1e300}, {1, 1e308}};
    huge.time = timeline{1e300, {0, 1e308}, {{-1, "before"}, {1e300, std::string(1'000, 'x')}}};
    result point;
    point.scenario = "one point";
    point.curve = {{0.9, 5}};
    point.time = timeline{1, {7}, {}};
    return {.machine = {}, .results = {zero, huge, point, {}}};
}

inline bool contains(std::string_view text, std::string_view part) { return text.find(part) != text.npos; }

inline std::size_t occurrences(std::string_view text, std::string_view part)
{
    std::size_t count = 0;
    for (auto at = text.find(part); at != text.npos; at = text.find(part, at + 1))
        ++count;
    return count;
}

}  // namespace redlock::bench
