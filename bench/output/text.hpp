#pragma once

#include "result.hpp"

#include <string>
#include <string_view>

// Formats figures and names for people. The table, the comparison and the plot use these functions.

namespace redlock::bench {

/// A figure for programs with at most @p digits significant digits: "24812", "0.0123". Empty unless finite.
std::string plain(double value, int digits = 5);

/// A figure with about three significant digits: "24,812", "41.0", "0.795". "-" unless finite.
std::string figure(double value);

/// Like @ref figure, but whole numbers have no decimals: "3".
std::string figure_or_whole(double value);

/// "812 us", "1.24 ms", "2.1 s".
std::string duration(double us);

/// A share as a percentage: "3.1 %".
std::string percent(double share);

/// "+2.1 %"; "from 0" where no percentage exists.
std::string change(double before, double after);

/// Half the spread, because the spread is the whole range of the rounds: "±1.6 %".
std::string plus_minus(double spread);

/// "1 node", "5 nodes".
std::string counted(std::uint64_t count, std::string_view noun);

/// "5 nodes, 16 clients, rtt 1 ms". In `versus`, whose scenarios name nodes and clients: "redis-semaphore".
std::string label(result const& r);

/// Whether the floor is this library. In `versus`, it is the floor of all other libraries.
bool floor_is_redlock(result const& r);

/// Whether the percentiles are of measured values; without values, all are zero.
bool measured(percentiles const& p);

/// The ratio to the floor; absent without a floor.
std::optional<double> times_floor(double us, std::optional<double> floor_us);

/// A property of the machine: "processor". If the run has none, "unknown processor".
std::string machine_entry(run const& r, std::string const& name);

std::uint64_t failure_count(result const& r);

/// "12 no quorum, 3 contended"; empty without failures.
std::string failures_text(result const& r);

/// "1 of 5 rounds disturbed by other processes"; empty if none was.
std::string disturbed_text(result const& r);

/// "held_bytes" as "held bytes".
std::string spaced(std::string_view name);

/// The number of characters, not bytes: the columns in a terminal.
std::size_t width(std::string_view text);

struct scenario {
    std::string name;
    std::vector<result const*> results;  ///< pointers into the run
};

/// The result in @p in with the scenario, variant, nodes and clients of @p r; null if there is none.
result const* find_like(run const& in, result const& r);

/// The main figure by which two results of the same measurement are compared.
struct rate_change {
    std::string_view what;  ///< "ratio to floor"; if a result has none, "cycles/s"
    double before, after;
    double spread;  ///< the larger spread; a smaller change is not significant
};

rate_change change_of(result const& before, result const& after);

/// The scenarios of a run, in the order of their first results.
std::vector<scenario> scenarios_of(run const& r);

}  // namespace redlock::bench
