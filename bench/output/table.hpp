#pragma once

#include "result.hpp"

namespace redlock::bench {

/// A run for a terminal of 100 columns.
std::string to_table(run const& r);

/** What changed between two runs, for a terminal of 100 columns.

    Results belong together when scenario, variant, nodes and clients are the same. A ratio that moved by less than the
    larger of the two spreads is marked so; between different machines only ratios can be compared, which is said first.
*/
std::string to_comparison(run const& before, run const& after);

}  // namespace redlock::bench
