#pragma once

#include "stores/etcd/json.hpp"

#include <redlock/node.hpp>

namespace redlock::stores::etcd {

/// The reply for the answer @p said, which had another status than 200, or contains an "error". The reply says whether
/// the server may have carried out the request.
node_reply refusal(json::object const& said);

/// Whether @p why says that the lease has ended.
bool is_lease_gone(node_reply const& why);

/// Whether @p why says that a key is missing whose value was to stay as it is.
bool is_key_gone(node_reply const& why);

/// Whether @p why says that the authentication token is not valid any more. Tokens expire, and end when users change.
bool is_token_gone(node_reply const& why);

}  // namespace redlock::stores::etcd
