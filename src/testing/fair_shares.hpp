#pragma once

#include <redlock/manager_options.hpp>

namespace redlock::inline v1::testing {

/** Two managers contend for one lock all the time, like two processes. Each gets 40 to 60 % of the locks, and at most
    150 in a row. Together they are at least half as fast as one of them alone in the same run.

    @param settings  of each of the two
    @throws std::runtime_error with the measured numbers
*/
void expect_fair_shares(manager_options const& settings);

}  // namespace redlock::testing
