#pragma once

#include <redlock/stats.hpp>

namespace redlock::test {

/// Whether the counters of an idle manager agree: each acquisition has an outcome, and each lock has ended or is held.
inline bool is_balanced(stats const& s)
{
    auto const failed = s.contended + s.no_quorum + s.validity_exhausted + s.quarantined + s.cancelled + s.failed;
    return s.begun == s.acquired + s.joined + failed && s.acquired == s.released + s.detached + s.lost + s.held
           && s.time_to_acquire.count() == s.acquired + s.joined && s.time_waited.count() == s.acquired + s.joined
           && s.time_to_fail.count() == failed && s.time_held.count() == s.released + s.detached + s.lost
           && s.lost == s.lost_expired + s.lost_refused + s.lost_max_hold && s.validity_left.count() == s.released
           && s.renewal_slack.count() == s.renewals && s.renewals_late <= s.renewals;
}

}  // namespace redlock::test
