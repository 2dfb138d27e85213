#pragma once

#include "stores/etcd/json.hpp"

#include <redlock/node.hpp>

#include <cstdint>
#include <string_view>

namespace redlock::stores::etcd {

/// The thing that a refusal says is missing, if the client can do something about it.
enum class missing : std::uint8_t {
    nothing,
    lease,           ///< the lease has ended
    key,             ///< there is no key whose value was to stay as it is
    token,           ///< the authentication token is not valid any more: tokens expire, and end when users change
    authentication,  ///< authentication is not enabled
};

/// The outcome of a request.
struct answer {
    json::object content{};
    /// With an error: the server did not answer, or refused the request. `untouched`: the server did nothing.
    node_reply why{};
    etcd::missing missing = missing::nothing;
};

/// The outcome for the answer @p said, which had another status than 200, or contains an "error". It says whether the
/// server may have carried out the request. Its text does not contain @p secret.
answer refusal(json::object const& said, std::string_view secret = {});

}  // namespace redlock::stores::etcd
