#include "stores/zookeeper/refusal.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <utility>
#include <zookeeper/zookeeper.h>

namespace redlock::stores::zookeeper {

namespace {

constexpr int quota_exceeded = -125;  // newer than the header

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
        return "not for this user: the URL names one, zookeeper://user:password@host, or the access list must let it "
               "in";
    default:
        return zerror(code);
    }
}

}  // namespace

// With one of its own codes the server says that it has done nothing; the client's say nothing of that.
node_reply refusal(int code, std::string_view words)
{
    bool const untouched = code < ZAPIERROR && code != ZCLOSING;
    auto text = words.empty() ? std::string(text_of(code)) : fmt::format("{}: {}", text_of(code), words);
    return {.untouched = untouched, .error = reason_of(code), .text = std::move(text)};
}

}  // namespace redlock::stores::zookeeper
