#pragma once

#include "core/server_history.hpp"

#include <redlock/clock.hpp>

#include <chrono>
#include <span>
#include <string>
#include <string_view>

namespace redlock::redis {

using core::log_state;

/// @p persistence is the answer to `INFO persistence`, @p policy that to `CONFIG GET *appendfsync*`. What is not said is not so.
log_state read_log_state(std::string_view persistence, std::span<std::string const> policy);

/// As what a server has been made the master by others, who may make another one.
struct tenure {
    std::string id;                    ///< empty: it is not known
    std::chrono::milliseconds age{0};  ///< so long ago a client first met it as that, or longer
};

/// The history of a Redis server. The name of a life is its `run_id`.
class server_history : public core::server_history {
public:
    using core::server_history::server_history;
    using core::server_history::greeted;

    /// A new connection to a server that others have made the master. It may not know what its predecessor had granted,
    /// even with a durable log.
    void greeted(std::string_view run_id, tenure const&, clock::time_point now);

private:
    std::string tenure_;  // the last
};

}  // namespace redlock::redis
