#include "cli/exit_status.hpp"

#include <redlock/error.hpp>

namespace redlock::cli {

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

}  // namespace redlock::cli
