#include "tools/exit_status.hpp"

#include <redlock/error.hpp>

#include <algorithm>

namespace redlock::tools {

namespace {

bool refuses_user(node_report const& n)
{
    return n.error == errc::authentication_failed || n.error == errc::permission_denied;
}

}  // namespace

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

// Who may not ask must not try again: it is the configuration that is to be mended.
exit_status status_of(attempt_report const& r)
{
    auto const status = status_of(r.outcome);
    return status == no_quorum && std::ranges::any_of(r.nodes, refuses_user) ? no_permission : status;
}

}  // namespace redlock::tools
