#pragma once

#include "net/log_in.hpp"
#include "net/secrets.hpp"
#include "net/url.hpp"
#include "stores/redis/request.hpp"

#include <string>
#include <string_view>
#include <utility>

namespace redlock::stores::redis {

/// The first command on a connection to one server.
class hello_command {
public:
    hello_command(net::url const& server, credentials_function source, bool to_sentinel = false)
        : source_(std::move(source)),
          name_(server.name()),
          to_sentinel_(to_sentinel),
          in_address_{server.user, server.password},
          latest_(in_address_)
    {
    }

    /// Adds the command. It selects RESP3, and sends the client's name, the user and the password. A user may have no
    /// password (`nopass`). @throws std::runtime_error if `manager_options::credentials` throws
    void say(request& to)
    {
        latest_ = net::log_in(source_, {.node = name_, .is_sentinel = to_sentinel_, .in_address = in_address_});
        if (latest_.user.empty() && latest_.password.empty())
            to.push("HELLO", "3", "SETNAME", "redlock");
        else
            to.push("HELLO", "3", "AUTH", latest_.user.empty() ? "default" : latest_.user, latest_.password, "SETNAME",
                    "redlock");
    }

    /// The latest password, which must not be shown.
    std::string_view secret() const { return net::secret_of(latest_.password, latest_.user); }

private:
    credentials_function source_;
    std::string name_;
    bool to_sentinel_;
    credentials in_address_, latest_;
};

}  // namespace redlock::stores::redis
