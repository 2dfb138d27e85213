#pragma once

#include <redlock/error.hpp>

namespace redlock::cli {

/// The exit statuses of the tool. They are taken from sysexits.h, timeout(1) and the shell where these have one.
enum exit_status : int {
    done = 0,
    no = 1,  ///< a negative answer: the lock is free, or was not held
    wrong_usage = 64,
    no_quorum = 69,      ///< too few nodes have answered, or vote
    busy = 75,           ///< another client has the lock, or the wait timed out: try again later
    no_permission = 77,  ///< too few nodes vote, because the others refuse the password or a command
    /// A setting is invalid. Also: too few nodes vote because of a server named twice, an unknown host or a key of
    /// another type.
    wrong_configuration = 78,
    lock_lost = 124,  ///< the lock was held and could not be kept; the command was stopped
    failed = 125,     ///< the tool itself has failed
    cannot_execute = 126,
    not_found = 127,
    by_signal = 128,  ///< plus the number of the signal
};

/// The exit status for the result of an operation: src/error.cpp has it for each error.
exit_status status_of(error_code);

}  // namespace redlock::cli
