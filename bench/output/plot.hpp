#pragma once

#include "result.hpp"

#include <string>

namespace redlock::bench {

/** A gnuplot script that draws a run as SVG on its standard output.

    The script needs no other file. Text of the run stays text, whatever is in it.

    @param before  if given, a panel shows by how much each result differs from the same one in this run
*/
std::string to_plot(run const& r, run const* before = nullptr);

/// @throws std::runtime_error if gnuplot is not installed, with the way out
void need_gnuplot();

/// Runs gnuplot on a script. @return what it draws
/// @throws std::runtime_error if gnuplot fails
std::string drawn(std::string const& script);

}  // namespace redlock::bench
