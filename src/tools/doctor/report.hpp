#pragma once

#include "tools/doctor/finding.hpp"
#include "tools/settings.hpp"

#include <cstddef>

namespace redlock::tools::doctor {

/// Prints what was found, and a summary at the end. A quiet one leaves out what is well.
void print_report(findings const&, std::size_t nodes, settings const&);

}  // namespace redlock::tools::doctor
