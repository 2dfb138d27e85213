#pragma once

#include "net/url.hpp"
#include "stores/redis/transport.hpp"
#include "stores/redis/resp.hpp"

#include <redlock/manager_options.hpp>

#include <memory>

namespace redlock::stores::redis {

/// Makes a transport over TCP, TLS or a Unix socket.
/// @throws std::invalid_argument if the TLS files cannot be used
std::shared_ptr<transport> make_socket_transport(net::url const&, manager_options const&, resp::limits = {});

}  // namespace redlock::stores::redis
