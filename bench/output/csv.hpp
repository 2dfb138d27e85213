#pragma once

#include "result.hpp"

namespace redlock::bench {

/** Writes a header and one line per result, quoted according to RFC 4180, with plain line feeds.

    Absent figures are empty cells. Curves and timelines are in JSON only.
*/
std::string to_csv(run const& r);

}  // namespace redlock::bench
