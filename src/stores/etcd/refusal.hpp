#pragma once

#include "stores/etcd/json.hpp"

#include <redlock/node.hpp>

namespace redlock::stores::etcd {

/// What @p said says, whose status was not 200, or that holds an "error": why a request was not carried out, or perhaps
/// was.
node_reply refusal(json::object const& said);

/// Whether @p why is that the lease is not there any more.
bool is_lease_gone(node_reply const& why);

/// Whether @p why is that a key is not there whose value was to stay as it is.
bool is_key_gone(node_reply const& why);

/// Whether @p why is that whoever we were is not known any more; it is so after a while, or when users change.
bool is_token_gone(node_reply const& why);

}  // namespace redlock::stores::etcd
