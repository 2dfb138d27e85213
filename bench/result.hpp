#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace redlock::bench {

/// Percentiles of a latency, in microseconds.
struct percentiles {
    double p50 = 0, p90 = 0, p99 = 0, p999 = 0, max = 0, mean = 0;
};

/// Throughput in equal slices of time since the beginning of a measurement.
struct timeline {
    struct mark {
        double at_seconds;
        std::string what;  ///< "one node stopped", "it is back"
    };
    double slice_seconds = 0;
    std::vector<double> cycles_per_second;
    std::vector<mark> marks;
};

/** The result of a measurement: medians over its rounds.

    A cycle is an acquisition and a release; in scenario `renew`, a renewal. Ratios are to the floor in the same rounds.
    Figures that were not measured are absent.
*/
struct result {
    std::string scenario;  ///< "uncontended"
    std::string variant;   ///< distinguishes it from others of its scenario, such as "rtt 1 ms"; may be empty
    std::size_t nodes = 0;
    std::size_t clients = 0;
    double cycles_per_second = 0;
    std::optional<double> floor_cycles_per_second;
    std::optional<double> ratio_to_floor;  ///< median of the rounds' ratios of cycles_per_second
    double client_cpu_us_per_cycle = 0;
    std::optional<double> floor_cpu_us_per_cycle;
    std::optional<double> server_cpu_us_per_cycle;  ///< of all nodes
    double allocations_per_cycle = 0;
    double bytes_per_cycle = 0;     ///< allocated
    double commands_per_cycle = 0;  ///< commands for locks on all nodes
    double writes_per_cycle = 0;    ///< read system calls of the servers
    percentiles acquire_us;         ///< from the call, or the intended start, to the lock
    percentiles cycle_us;           ///< from the same start to the end of the release
    percentiles wait_us;            ///< like acquire_us, with failed acquisitions
    std::optional<percentiles> floor_cycle_us;
    std::map<std::string, std::uint64_t> failures;  ///< error message and count, over all rounds
    std::uint64_t violations = 0;                   ///< violations of mutual exclusion, over all rounds
    std::uint64_t peak_heap_bytes = 0;
    std::size_t rounds = 0;
    std::size_t disturbed = 0;  ///< rounds in which other processes used the processors
    double spread = 0;          ///< of ratio_to_floor, else of cycles_per_second: (max - min) / median
    std::vector<std::pair<double, double>> curve;  ///< share of cycles (0 to 1), their longest time (us)
    std::vector<std::pair<double, double>> floor_curve;
    std::optional<timeline> time;  ///< of one round
    /// Further figures of a scenario: "cpu_percent_of_a_core", "bytes_per_held_lock", "votes_again_after_ms", …
    std::map<std::string, double> more;
};

/// All results of one call of the program.
struct run {
    /// "processor", "cores", "kernel", "server", "compiler", "date", "command"
    std::map<std::string, std::string> machine;
    std::vector<result> results;
};

}  // namespace redlock::bench
