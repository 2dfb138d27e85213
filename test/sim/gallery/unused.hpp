#pragma once

#include <string>
#include <vector>

namespace redlock::sim::gallery {

/// Extracts from a history without faults the longest time in which nobody had the lock: who had it last, and who gets
/// it next. If nobody ever gets it, the first attempt. Empty: it was never unused for long.
std::vector<std::string> longest_unused(std::string const& trace);

}  // namespace redlock::sim::gallery
