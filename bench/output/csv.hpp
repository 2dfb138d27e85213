#pragma once

#include "result.hpp"

namespace redlock::bench {

/** A header and one line per result, quoted as RFC 4180 says, with plain line feeds.

    What is absent is empty. Curves and timelines are in JSON only.
*/
std::string to_csv(run const& r);

}  // namespace redlock::bench
