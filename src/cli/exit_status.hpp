#pragma once

#include <redlock/error.hpp>

namespace redlock::cli {

/// What the statuses mean with which the tool ends: those of sysexits.h, timeout(1) and the shell where they fit.
enum exit_status : int {
    done = 0,
    no = 1,  ///< the answer to what was asked: it is free; it was not held
    wrong_usage = 64,
    no_quorum = 69,            ///< too few nodes have answered, or vote
    busy = 75,                 ///< somebody else has it, or had it for as long as was waited: try again later
    no_permission = 77,        ///< too few nodes answer, as the others refuse the password or a command
    wrong_configuration = 78,  ///< also too few nodes: a server is named twice, a host does not exist, a key is no lock
    lock_lost = 124,           ///< it was held, and could not be kept; what ran under it was stopped
    failed = 125,              ///< the tool itself
    cannot_execute = 126,
    not_found = 127,
    by_signal = 128,  ///< and the signal
};

/// The status for an operation that has ended like this.
exit_status status_of(error_code);

}  // namespace redlock::cli
