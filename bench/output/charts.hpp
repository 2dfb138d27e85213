#pragma once

#include "output/svg.hpp"
#include "output/text.hpp"

// Which charts the results of a run make.

namespace redlock::bench {

/// Of cycle_us, a few results to a chart, all with the same axes.
std::vector<chart> percentile_charts(scenario const& s);

/// Of each result that has a timeline.
std::vector<chart> throughput_charts(scenario const& s);

/// Of scenario "scale", by results that differ in one number only: cost and ratio against nodes, and against clients.
std::vector<chart> cost_charts(scenario const& s);

}  // namespace redlock::bench
