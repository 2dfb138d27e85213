#pragma once

#include "redis/link.hpp"
#include "redis/resp.hpp"
#include "redis/url.hpp"

#include <redlock/config.hpp>

#include <memory>

namespace redlock::redis {

/// Over TCP, TLS or a Unix socket.
/// @throws std::invalid_argument if the TLS files cannot be used
std::shared_ptr<link> make_socket_link(url const&, config const&, resp::limits = {});

}  // namespace redlock::redis
