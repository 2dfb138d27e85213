#pragma once

#include "cli/doctor/finding.hpp"
#include "cli/settings.hpp"

#include <cstddef>

namespace redlock::cli::doctor {

/** Prints the findings and a summary at the end.

    The table begins with the worst, has findings with the same words in one line, and counts the checks that are fine;
    with `settings::verbose` it lists them. JSON has an entry for each node and check. `settings::quiet` leaves out OK.
*/
void print_report(findings const&, std::size_t nodes, settings const&);

}  // namespace redlock::cli::doctor
