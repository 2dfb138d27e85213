#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::bench {

/// Of a latency, in microseconds.
struct percentiles {
    double p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0, mean = 0;
};

/// Throughput in equal slices of time, from the beginning of a measurement on.
struct timeline {
    struct mark {
        double at_seconds;
        std::string what;  ///< "one node stopped", "it is back"
    };
    double slice_seconds = 0;
    std::vector<double> cycles_per_second;
    std::vector<mark> marks;
};

/** What one measurement found; medians over its rounds.

    A cycle is a lock that was acquired and released (of scenario `renew`: a renewal). Ratios are to the floor that ran
    in the same rounds. What was not measured is absent.
*/
struct result {
    std::string scenario;  ///< "uncontended"
    std::string variant;   ///< what sets it apart from others of its scenario, such as "rtt 1 ms"; may be empty
    std::size_t nodes = 0;
    std::size_t clients = 0;
    double cycles_per_second = 0;
    std::optional<double> floor_cycles_per_second;
    std::optional<double> ratio_to_floor;  ///< of cycles_per_second: the median of the rounds' ratios
    double client_cpu_us_per_cycle = 0;
    std::optional<double> floor_cpu_us_per_cycle;
    std::optional<double> server_cpu_us_per_cycle;  ///< of all nodes
    double allocations_per_cycle = 0;
    double bytes_per_cycle = 0;     ///< allocated
    double commands_per_cycle = 0;  ///< that the servers carried out for the locks, over all nodes
    double writes_per_cycle = 0;    ///< system calls by which requests arrived at the servers
    percentiles acquire_us;         ///< from the call, or the intended start, to the lock
    percentiles cycle_us;           ///< and on to the end of the release
    percentiles wait_us;            ///< acquisitions that failed included
    std::optional<percentiles> floor_cycle_us;
    std::map<std::string, std::uint64_t> failures;  ///< by error: its message, and how often; over all rounds
    std::uint64_t violations = 0;                   ///< of mutual exclusion; over all rounds
    std::uint64_t peak_heap_bytes = 0;
    std::size_t rounds = 0;
    std::size_t disturbed = 0;  ///< rounds among them in which other processes took the processor
    double spread = 0;          ///< of ratio_to_floor, else of cycles_per_second: (max - min) / median
    std::vector<std::pair<double, double>> curve;  ///< of cycle_us: the share of cycles (0 to 1) that took at most (us)
    std::vector<std::pair<double, double>> floor_curve;
    std::optional<timeline> time;  ///< of one round
    /// Figures that only this scenario has: "cpu_percent_of_a_core", "bytes_per_held_lock", "all_voting_after_ms", …
    std::map<std::string, double> more;
};

/// Everything that one call of the program measured.
struct run {
    std::map<std::string, std::string> machine;  ///< "processor", "cores", "kernel", "server", "compiler", "date",
                                                 ///< "command"
    std::vector<result> results;
};

}  // namespace redlock::bench
