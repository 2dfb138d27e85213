#include "locks/statistics.hpp"

#include <boost/asio/error.hpp>

namespace redlock::detail {

void counters::outcome(error_code ec)
{
    if (ec == errc::contended)
        bump(contended);
    else if (ec == errc::no_quorum)
        bump(no_quorum);
    else if (ec == errc::validity_exhausted)
        bump(validity_exhausted);
    else if (ec == errc::quarantined)
        bump(quarantined);
    else if (ec == boost::asio::error::operation_aborted)
        bump(cancelled);
}

}  // namespace redlock::detail
