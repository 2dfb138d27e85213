#pragma once

#include "result.hpp"

#include <string_view>

// How figures and names are written for people; the table, the comparison and the plot share it.

namespace redlock::bench {

/// At most @p digits significant ones, for programs: "24812", "0.0123". Empty unless finite.
std::string plain(double value, int digits = 5);

/// About three significant digits: "24,812", "41.0", "0.795". "-" unless finite.
std::string figure(double value);

/// As @ref figure, but whole numbers without decimals: "3".
std::string figure_or_whole(double value);

/// "812 us", "1.24 ms", "2.1 s".
std::string duration(double us);

/// Of a share: "3.1 %".
std::string percent(double share);

/// "+2.1 %"; "from 0" where no percentage exists.
std::string change(double before, double after);

/// Half the range of the rounds, as "±1.6 %": the spread is the whole range.
std::string plus_minus(double spread);

/// "1 node", "5 nodes".
std::string counted(std::uint64_t count, std::string_view noun);

/// "5 nodes, 16 clients, rtt 1 ms".
std::string label(result const& r);

/// Percentiles of nothing are all zero.
bool measured(percentiles const& p);

/// Absent without a floor to divide by.
std::optional<double> times_floor(double us, std::optional<double> floor_us);

std::uint64_t failure_count(result const& r);

/// "12 no quorum, 3 contended"; empty without failures.
std::string failures_text(result const& r);

/// "1 of 5 rounds disturbed by other processes"; empty if none was.
std::string disturbed_text(result const& r);

/// "held_bytes" as "held bytes".
std::string spaced(std::string_view name);

/// Characters, not bytes: what a terminal shows.
std::size_t width(std::string_view text);

struct scenario {
    std::string name;
    std::vector<result const*> results;  ///< belong to the run
};

/// The result of the same measurement: scenario, variant, nodes and clients are the same. Null if there is none.
result const* find_like(run const& in, result const& r);

/// By what two results of the same measurement are compared first.
struct rate_change {
    std::string_view what;  ///< "ratio to floor" or, where one of them has none, "cycles/s"
    double before, after;
    double spread;  ///< the larger one: a change that is smaller says nothing
};

rate_change change_of(result const& before, result const& after);

/// In the order of their first results.
std::vector<scenario> scenarios_of(run const& r);

}  // namespace redlock::bench
