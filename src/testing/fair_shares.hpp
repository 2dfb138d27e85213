#pragma once

#include <redlock/config.hpp>

namespace redlock::inline v0::testing {

/** Two managers want one lock all the time, as two processes do. Each of them gets 40 to 60 % of the locks, at most 150
    in a row. Together they are at least half as fast as one of them alone, which is measured in the same run.

    @param settings  of each of the two
    @throws std::runtime_error with the figures
*/
void expect_fair_shares(config const& settings);

}  // namespace redlock::testing
