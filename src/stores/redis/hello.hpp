#pragma once

#include "net/url.hpp"
#include "stores/redis/request.hpp"

namespace redlock::stores::redis {

/// Adds the first command on a connection. It selects RESP3, and sends the client's name, the user and the password.
inline void say_hello(request& to, net::url const& server)
{
    if (server.password.empty())
        to.push("HELLO", "3", "SETNAME", "redlock");
    else
        to.push("HELLO", "3", "AUTH", server.user.empty() ? "default" : server.user, server.password, "SETNAME",
                "redlock");
}

}  // namespace redlock::stores::redis
