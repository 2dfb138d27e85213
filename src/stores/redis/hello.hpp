#pragma once

#include "net/url.hpp"
#include "stores/redis/request.hpp"

namespace redlock::stores::redis {

/// The first command on a connection: RESP3, who we are, and our password.
inline void say_hello(request& to, net::url const& server)
{
    if (server.password.empty())
        to.push("HELLO", "3", "SETNAME", "redlock");
    else
        to.push("HELLO", "3", "AUTH", server.user.empty() ? "default" : server.user, server.password, "SETNAME",
                "redlock");
}

}  // namespace redlock::stores::redis
