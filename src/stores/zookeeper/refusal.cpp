#include "stores/zookeeper/refusal.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <utility>
#include <zookeeper/zookeeper.h>

namespace redlock::stores::zookeeper {

namespace {

constexpr int quota_exceeded = -125;  // the installed header may not have it yet

errc reason_of(int code)
{
    switch (code) {
    case ZNOAUTH:
        return errc::permission_denied;
    case ZAUTHFAILED:
    case ZSESSIONCLOSEDREQUIRESASLAUTH:
        return errc::authentication_failed;
    case quota_exceeded:
        return errc::node_refuses_writes;
    case ZTHROTTLEDOP:
        return errc::node_busy;
    case ZNOTREADONLY:
        return errc::node_read_only;
    case ZMARSHALLINGERROR:
    case ZRUNTIMEINCONSISTENCY:
        return errc::unexpected_reply;
    default:
        return code > ZAPIERROR || code == ZCLOSING || code == ZSESSIONEXPIRED || code == ZSESSIONMOVED
                   ? errc::connection_lost
                   : errc::server_error;
    }
}

std::string_view text_of(int code)
{
    switch (code) {
    case quota_exceeded:
        return "a quota is used up (zkCli.sh listquota)";
    case ZNOAUTH:
        return "not for this user: name a user in the URL, zookeeper://user:password@host, or add the user to the "
               "access list";
    default:
        return zerror(code);
    }
}

}  // namespace

// If the code comes from the server, the server has done nothing. If it comes from the C client, that is unknown.
node_reply refusal(int code, std::string_view words)
{
    bool const untouched = code < ZAPIERROR && code != ZCLOSING;
    auto text = words.empty() ? std::string(text_of(code)) : fmt::format("{}: {}", text_of(code), words);
    return {.untouched = untouched, .error = reason_of(code), .text = std::move(text)};
}

}  // namespace redlock::stores::zookeeper
