#pragma once

#include "result.hpp"

#include <string>

namespace redlock::bench {

/** Returns a gnuplot script that writes a run as SVG to the standard output.

    The script needs no other file. Text of the run is quoted, so it cannot contain commands.

    @param before  if given, a panel shows how each result differs from the same measurement in this run
*/
std::string to_plot(run const& r, run const* before = nullptr);

/// @throws std::runtime_error if gnuplot is not installed; its message says how to install it
void need_gnuplot();

/// Runs gnuplot on a script. @return the picture
/// @throws std::runtime_error if gnuplot fails
std::string drawn(std::string const& script);

}  // namespace redlock::bench
