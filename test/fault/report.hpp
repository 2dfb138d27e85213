#pragma once

#include "fault/arbiter.hpp"
#include "fault/bank.hpp"
#include "fault/faults.hpp"
#include "fault/options.hpp"
#include "fault/system_under_test.hpp"
#include "fault/transfers.hpp"
#include "fault/worker.hpp"

namespace redlock::test {

// These functions print what was done, and what went wrong. @p failed: how many processes failed.
// @return the exit status

int report_counter(system_under_test const&, faults const&, shared_counter const&, int failed);

int report_fencing(soak_options const&, faults const&, shared_counter const&, int failed, arbiter::record const& with,
                   arbiter::record const& without);

int report_transfers(system_under_test const&, faults const&, shared_transfers const&, int failed, bank::record const&);

}  // namespace redlock::test
