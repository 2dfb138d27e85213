#pragma once

#include "result.hpp"

namespace redlock::bench {

/// Formats a run as a table for a terminal of 100 columns.
std::string to_table(run const& r);

/** Compares two runs, for a terminal of 100 columns.

    It compares results with the same scenario, variant, nodes and clients. A change of a ratio within the larger of the
    two spreads is marked. If the machines differ, a warning says that only ratios can be compared.
*/
std::string to_comparison(run const& before, run const& after);

}  // namespace redlock::bench
