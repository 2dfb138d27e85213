#include <redlock/detail/outcome.hpp>
#include <redlock/elect.hpp>
#include <redlock/error.hpp>
#include <redlock/manager_options.hpp>
#include <redlock/observer.hpp>
#include <redlock/quarantine_reason.hpp>
#include <redlock/report.hpp>
#include <redlock/stats.hpp>

#include <boost/asio/error.hpp>

#include <cstdint>
#include <string>

namespace redlock::inline v1 {

namespace detail {

namespace {

using kind = outcome_kind;

namespace problems {

constexpr outcome::http_problem fault{500, "fault", "The server is at fault", "The work could not be begun."};
constexpr outcome::http_problem no_answers{503, "unavailable", "Too few lock servers answer",
                                           "Too few lock servers answer in time."};
constexpr outcome::http_problem no_votes{503, "unavailable", "Too few lock servers vote",
                                         "Some lock servers do not vote yet."};
constexpr outcome::http_problem no_turn{503, "unavailable", "Too many requests for locks",
                                        "Too many requests ask for locks at once."};
constexpr outcome::http_problem held{503, "busy", "The lock is held",
                                     "Other requests work on the same thing, and the wait is over."};
constexpr outcome::http_problem lost{503, "lost", "The lock was lost",
                                     "The work was stopped, because its lock could not be kept."};
constexpr outcome::http_problem stopping{503, "stopping", "The server shuts down",
                                         "The work was stopped, because the server shuts down."};

}  // namespace problems

// Too few nodes answer or vote. The command line ends with EX_UNAVAILABLE of sysexits.h.
constexpr outcome unavailable(char const* name, char const* message, std::uint64_t lock_stats::*counter,
                              outcome::http_problem http, char const* metric, bool after_stall = true)
{
    return {.name = name,
            .message = message,
            .kind = kind::unavailable,
            .metric = metric,
            .counter = counter,
            .temporary = true,
            .after_stall = after_stall,
            .exit_status = 69,
            .http = http};
}

// Any other error of an operation, for which waiting cannot help.
constexpr outcome failed(char const* name, char const* message, kind what, int exit_status,
                         outcome::http_problem http = problems::fault)
{
    return {.name = name,
            .message = message,
            .kind = what,
            .metric = "failed",
            .counter = &lock_stats::failed,
            .temporary = false,
            .after_stall = false,
            .exit_status = exit_status,
            .http = http};
}

// The error of a node that may vote again.
constexpr outcome of_node(char const* name, char const* message)
{
    auto row = failed(name, message, kind::node, 69);
    row.temporary = true;
    return row;
}

// The error of a node that votes only after somebody has changed something.
constexpr outcome of_node(char const* name, char const* message, int exit_status, char const* way_out,
                          char const* code = "unavailable")
{
    auto row = failed(name, message, kind::node, exit_status);
    row.way_out = way_out;
    row.code = code;
    return row;
}

// There is no default case, so that the compiler warns about an enumerator without a row. The words and numbers are in
// interfaces: metrics, JSON, HTTP and exit statuses. docs/errors.md lists them.
outcome row_of(errc e) noexcept
{
    switch (e) {
    case errc::contended:
        return {.name = "contended",
                .message = "somebody else holds the lock",
                .kind = kind::busy,
                .metric = "contended",
                .counter = &lock_stats::contended,
                .temporary = true,
                .after_stall = false,
                .exit_status = 75,
                .http = problems::held};
    case errc::no_quorum:
        return unavailable("no_quorum", "too few nodes answered for a majority", &lock_stats::no_quorum,
                           problems::no_answers, "no_quorum");
    case errc::validity_exhausted:
        return unavailable("validity_exhausted", "the majority came so late that the lock was hardly valid any more",
                           &lock_stats::validity_exhausted, problems::no_answers, "validity_exhausted");
    case errc::lost: {
        auto row = failed("lost", "the lock was lost", kind::gone, 124, problems::lost);
        row.after_stall = true;
        return row;
    }
    case errc::not_held:
        return failed("not_held", "the lock is not held", kind::gone, 1, problems::lost);
    case errc::quarantined:
        return unavailable("quarantined",
                           "new or restarted nodes do not vote yet, and without them there is no majority",
                           &lock_stats::quarantined, problems::no_votes, "quarantined", false);
    case errc::invalid_argument:
        return failed("invalid_argument", "an argument is out of range", kind::refused, 64);
    case errc::unsupported: {
        auto row = failed("unsupported", "a node cannot do what is asked for", kind::refused, 78);
        row.code = "unsupported";
        return row;
    }
    case errc::overloaded:
        return unavailable("overloaded", "too many calls were under way, so no node was asked in time",
                           &lock_stats::failed, problems::no_turn, "failed");
    case errc::keys_left:
        return failed("keys_left", "the shutdown could not release all keys; they expire by themselves", kind::other,
                      125);
    case errc::node_timeout:
        return of_node("node_timeout", "no answer in time");
    case errc::node_unreachable:
        return of_node("node_unreachable", "no connection to the node");
    case errc::connection_lost:
        return of_node("connection_lost", "the connection broke before the answer came");
    case errc::node_closed:
        return of_node("node_closed", "the manager was shut down");
    case errc::authentication_failed:
        return of_node("authentication_failed", "the server refused user or password", 77,
                       "correct user and password in the URL (of Sentinels: sentinel_password), or --password-file",
                       "refused");
    case errc::permission_denied:
        return of_node("permission_denied", "the user has too few rights on the server", 77,
                       "\"redlock acl\" prints what the user must be allowed", "refused");
    case errc::node_loading:
        return of_node("node_loading", "the server is starting up or shutting down");
    case errc::node_read_only:
        return of_node("node_read_only", "the server is a replica, or read-only", 69, "name the primary");
    case errc::node_busy:
        return of_node("node_busy", "the server is busy");
    case errc::node_out_of_memory:
        return of_node("node_out_of_memory", "the server is at its memory limit");
    case errc::node_refuses_writes:
        return of_node("node_refuses_writes", "the server refuses writes");
    case errc::wrong_cluster_node:
        return of_node("wrong_cluster_node", "the key belongs to another node of the server's cluster");
    case errc::wrong_type:
        return of_node("wrong_type", "the key holds something that is no lock", 78,
                       "another kind of client may hold it: choose another --prefix, or stop that client",
                       "wrong-type");
    case errc::script_missing:
        return of_node("script_missing", "the server keeps forgetting a script");
    case errc::unsupported_server:
        return of_node("unsupported_server", "the server cannot do what locks need", 78,
                       "\"redlock doctor\" says what the server lacks");
    case errc::unexpected_reply:
        return of_node("unexpected_reply", "the server's answer is not understood");
    case errc::duplicate_node:
        return of_node("duplicate_node", "the node is the same server as another node", 78, "name each server once");
    case errc::server_error:
        return of_node("server_error", "the server reported an error");
    case errc::node_may_evict:
        return of_node("node_may_evict", "the server could evict a lock when its memory is full");
    }
    return failed("", "unknown error", kind::other, 125);
}

}  // namespace

outcome outcome_of(error_code ec) noexcept
{
    if (ec.failed() && ec.category() == error_category())
        return row_of(static_cast<errc>(ec.value()));
    if (!ec)
        return {.name = "success",
                .message = "success",
                .kind = kind::none,
                .metric = "acquired",
                .counter = nullptr,
                .temporary = true,
                .after_stall = false,
                .exit_status = 0,
                .http = {200, "", "", ""}};
    if (ec != boost::asio::error::operation_aborted)
        return failed("other", "another error", kind::other, 125);
    auto row = failed("operation_aborted", "cancelled, or the manager was shut down", kind::cancelled, 125,
                      problems::stopping);
    row.metric = "cancelled";
    row.counter = &lock_stats::cancelled;
    return row;
}

}  // namespace detail

namespace {

class category final : public boost::system::error_category {
public:
    char const* name() const noexcept override { return "redlock"; }
    std::string message(int value) const override { return detail::row_of(static_cast<errc>(value)).message; }
};

}  // namespace

boost::system::error_category const& error_category() noexcept
{
    static category const instance;
    return instance;
}

char const* to_string(election_event::kind what) noexcept
{
    switch (what) {
    case election_event::kind::standing:
        return "standing";
    case election_event::kind::waiting_for_nodes:
        return "waiting for nodes";
    case election_event::kind::elected:
        return "elected";
    case election_event::kind::stepped_down:
        return "stepped down";
    case election_event::kind::lost:
        return "lost";
    case election_event::kind::failed:
        return "failed";
    case election_event::kind::ended:
        return "ended";
    }
    return "";
}

char const* to_string(vote v) noexcept
{
    switch (v) {
    case vote::granted:
        return "granted";
    case vote::denied:
        return "denied";
    case vote::unknown:
        return "unknown";
    }
    return "";
}

char const* to_string(log_level level) noexcept
{
    switch (level) {
    case log_level::debug:
        return "debug";
    case log_level::info:
        return "info";
    case log_level::warning:
        return "warning";
    case log_level::error:
        return "error";
    }
    return "";
}

char const* to_string(loss why) noexcept
{
    switch (why) {
    case loss::expired:
        return "expired";
    case loss::refused:
        return "refused";
    case loss::max_hold:
        return "max_hold";
    }
    return "";
}

char const* to_string(quarantine_reason why) noexcept
{
    switch (why) {
    case quarantine_reason::fresh:
        return "new";
    case quarantine_reason::restarted:
        return "restarted";
    case quarantine_reason::promoted:
        return "promoted";
    case quarantine_reason::log_off:
        return "log_off";
    }
    return "";
}

}  // namespace redlock
