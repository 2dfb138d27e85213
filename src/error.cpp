#include <redlock/config.hpp>
#include <redlock/elect.hpp>
#include <redlock/error.hpp>
#include <redlock/observer.hpp>
#include <redlock/quarantine_reason.hpp>
#include <redlock/report.hpp>

#include <string>

namespace redlock::inline v0 {

namespace {

// There is no default case, so that the compiler warns about an enumerator without a text.
char const* text_of(errc e) noexcept
{
    switch (e) {
    case errc::contended:
        return "somebody else holds the lock";
    case errc::no_quorum:
        return "too few nodes answered for a majority";
    case errc::validity_exhausted:
        return "the majority came so late that the lock was hardly valid any more";
    case errc::lost:
        return "the lock was lost";
    case errc::not_held:
        return "the lock is not held";
    case errc::quarantined:
        return "new or restarted nodes do not vote yet, and without them there is no majority";
    case errc::invalid_argument:
        return "an argument is out of range";
    case errc::unsupported:
        return "a node cannot do what is asked for";
    case errc::overloaded:
        return "too many calls were under way, so no node was asked in time";
    case errc::keys_left:
        return "the shutdown could not release all keys; they expire by themselves";
    case errc::node_timeout:
        return "no answer in time";
    case errc::node_unreachable:
        return "no connection to the node";
    case errc::connection_lost:
        return "the connection broke before the answer came";
    case errc::node_closed:
        return "the manager was shut down";
    case errc::authentication_failed:
        return "the server refused user or password";
    case errc::permission_denied:
        return "the user has too few rights on the server";
    case errc::node_loading:
        return "the server is starting up or shutting down";
    case errc::node_read_only:
        return "the server is a replica, or read-only";
    case errc::node_busy:
        return "the server is busy";
    case errc::node_out_of_memory:
        return "the server is at its memory limit";
    case errc::node_refuses_writes:
        return "the server refuses writes";
    case errc::wrong_cluster_node:
        return "the key belongs to another node of the server's cluster";
    case errc::wrong_type:
        return "the key holds something that is no lock";
    case errc::script_missing:
        return "the server keeps forgetting a script";
    case errc::unsupported_server:
        return "the server cannot do what locks need";
    case errc::unexpected_reply:
        return "the server's answer is not understood";
    case errc::duplicate_node:
        return "the node is the same server as another node";
    case errc::server_error:
        return "the server reported an error";
    case errc::node_may_evict:
        return "the server could evict a lock when its memory is full";
    }
    return "unknown error";
}

class category final : public boost::system::error_category {
public:
    char const* name() const noexcept override { return "redlock"; }
    std::string message(int value) const override { return text_of(static_cast<errc>(value)); }
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
