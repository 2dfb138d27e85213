#include "tools/exit_status.hpp"

#include "tools/lasting_cause.hpp"

#include <redlock/error.hpp>

namespace redlock::tools {

exit_status status_of(error_code ec)
{
    if (!ec)
        return done;
    if (ec == errc::contended)
        return busy;
    if (ec == errc::no_quorum || ec == errc::quarantined || ec == errc::validity_exhausted)
        return no_quorum;
    if (ec == errc::lost)
        return lock_lost;
    if (ec == errc::not_held)
        return no;
    if (ec == errc::invalid_argument)
        return wrong_usage;
    return ec == errc::unsupported ? wrong_configuration : failed;
}

// The caller should not try again if time does not mend it.
exit_status status_of(attempt_report const& r)
{
    auto const status = status_of(r.outcome);
    return status == no_quorum ? lasting_status_of(r.nodes).value_or(no_quorum) : status;
}

}  // namespace redlock::tools
