#include "stores/etcd/refusal.hpp"

#include "net/secrets.hpp"

#include <redlock/error.hpp>

#include <array>
#include <string>
#include <string_view>

namespace redlock::stores::etcd {

namespace {

// Codes of gRPC. With all of them but `unavailable`, the server has done nothing.
constexpr std::int64_t invalid_argument = 3, not_found = 5, permission_denied = 7, resource_exhausted = 8,
                       failed_precondition = 9, unimplemented = 12, unavailable = 14, unauthenticated = 16;

bool says(std::string_view words, std::string_view part) { return words.find(part) != words.npos; }

bool names_token(std::string_view words)
{
    return says(words, "invalid auth token") || says(words, "revision of auth store is old");
}

errc reason_of(std::int64_t code, std::string_view words)
{
    if (says(words, "user name is empty") || says(words, "authentication failed") || code == unauthenticated
        || names_token(words))
        return errc::authentication_failed;
    if (code == permission_denied || says(words, "permission denied"))
        return errc::permission_denied;
    if (says(words, "database space exceeded"))
        return errc::node_refuses_writes;
    if (says(words, "too many requests"))
        return errc::node_busy;
    if (code == unavailable || says(words, "timed out") || says(words, "no leader"))
        return errc::node_loading;
    return errc::server_error;
}

std::string_view advice_for(errc reason, std::string_view words)
{
    if (says(words, "user name is empty"))
        return "; name a user in its URL: etcd://user:password@host";
    if (reason == errc::permission_denied)
        return "; let an administrator say: etcdctl role grant-permission ROLE --prefix=true readwrite PREFIX, "
               "where PREFIX is lock: by default";
    if (reason == errc::node_refuses_writes)
        return "; compact and defragment it, then disarm the alarm (etcdctl alarm disarm)";
    return {};
}

missing missing_in(std::string_view words)
{
    return says(words, "requested lease not found")       ? missing::lease
           : says(words, "key not found")                 ? missing::key
           : names_token(words)                           ? missing::token
           : says(words, "authentication is not enabled") ? missing::authentication
                                                          : missing::nothing;
}

}  // namespace

answer refusal(json::object const& said, std::string_view secret)
{
    auto const& stream = object_in(said, "error");  // an object in a stream
    auto const& what = stream.empty() ? said : stream;
    auto const code = what.contains("grpc_code") ? number_in(what, "grpc_code") : number_in(what, "code");
    // Since etcd 3.5, "error" may be missing.
    auto const words = text_in(what, what.contains("message") ? "message" : "error");
    auto const reason = reason_of(code, words);
    constexpr std::array certain{invalid_argument,    not_found,     permission_denied, resource_exhausted,
                                 failed_precondition, unimplemented, unauthenticated};
    bool const untouched = std::find(certain.begin(), certain.end(), code) != certain.end();
    return {.why = {.untouched = untouched,
                    .error = reason,
                    .text = net::without(words, {secret}).append(advice_for(reason, words))},
            .missing = missing_in(words)};
}

}  // namespace redlock::stores::etcd
