#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/error.hpp>

#include <cstdint>

namespace redlock::inline v1 {

struct lock_stats;

namespace detail {

/// The meaning of an error for its caller.
enum class outcome_kind : std::uint8_t {
    none,         ///< success
    busy,         ///< another client holds the lock
    unavailable,  ///< too few nodes answer or vote in time
    gone,         ///< the caller does not hold the lock, or not any more
    refused,      ///< the call or the settings are wrong: the same call never succeeds
    cancelled,    ///< by the caller, or by the manager's shutdown
    node,         ///< the error of one node: never the outcome of an operation
    other,        ///< such as no memory
};

/** All that the library, the lock service and the command line say about one error: a row of the table in
    src/error.cpp. A new error also needs its enumerator in error.hpp, and its row in docs/errors.md.
*/
struct outcome {
    /// A failed lock as an HTTP problem (RFC 9457).
    struct http_problem {
        unsigned status;
        char const* name;  ///< the last part of its type
        char const* title;
        char const* detail;
    };

    char const* name;                    ///< of the enumerator. Empty: there is no such error.
    char const* message;                 ///< for people
    outcome_kind kind;                   ///< what it means for the caller
    char const* metric;                  ///< the label `outcome` of `redlock_acquisitions_total`
    std::uint64_t lock_stats::*counter;  ///< the counter of that label. Null: no counter of failures.
    bool temporary;                      ///< whether waiting may help. False: it certainly cannot.
    bool after_stall;                    ///< whether a pause of this process may be the cause
    int exit_status;                     ///< of the command line; for a node: if it keeps a majority from voting
    http_problem http;                   ///< of the service and of `problem_response`, after a wait
    char const* code = "unavailable";    ///< of a node with this error, in the answers of the service
    char const* way_out = "";            ///< for users of the command line, if waiting cannot help
};

/// The row of an error, or of success. May be called from any thread.
REDLOCK_API outcome outcome_of(error_code) noexcept;

}  // namespace detail
}  // namespace redlock
