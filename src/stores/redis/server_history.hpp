#pragma once

#include "core/server_history.hpp"

#include <redlock/clock.hpp>

#include <chrono>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace redlock::stores::redis {

using core::log_state;

/** The longest time after a failover in which a manager may not know the new master, and extend locks on the old one.
    The new master grants nothing for `max_ttl` plus this time.

    The time allows for these delays:
    - A manager asks once a second. A Sentinel informs the others every two seconds, and two messages may be lost.
    - A master of a cluster that is cut off refuses writes at most half a `cluster-node-timeout` after a replica may be
      promoted. That is 7.5 s by default.
*/
inline constexpr std::chrono::seconds follow_time{10};

/// Reads the answers to `INFO persistence` and `CONFIG GET *appendfsync*`. A missing field counts as "not durable".
log_state read_log_state(std::string_view persistence, std::span<std::string const> policy);

/// The time as master of a server that Sentinels or a cluster promoted. It ends when they promote another server.
struct tenure {
    std::string id;                    ///< empty: unknown
    std::chrono::milliseconds age{0};  ///< the time since a client first saw the server as this master, at least
};

/// The life marker of a standalone server. It is a key, so it disappears when the server loses its keys.
struct life_mark {
    std::string text;                  ///< different for each marker that was ever written
    std::string run_id;                ///< of the server process that wrote the marker
    std::string before;                ///< the run id in the marker that it replaced; `-`: there was none
    std::chrono::milliseconds age{0};  ///< by the server's clock

    /// Whether it replaced the marker of an earlier process of the server. If not, earlier keys may be lost.
    bool continues_process() const { return before != "-" && before != run_id; }
};

/// The history of a Redis server. Each life of the server has a `run_id`.
class server_history : public core::server_history {
public:
    using core::server_history::server_history;

    /// A new connection. Without a @p mark, only the run id shows whether the server has restarted.
    void greeted(std::string_view run_id, std::chrono::milliseconds uptime, log_state log, clock::time_point now,
                 std::optional<life_mark> const& mark = {});

    /// The server is a replica, so its keys are those of another server.
    void met_replica() noexcept { was_replica_ = true; }

    /// The text of the latest life marker. Empty: no marker is known.
    std::string const& mark() const noexcept { return mark_; }

    /// A new connection to a promoted server. Even with a durable log, it may not know the locks that the previous
    /// master granted.
    void greeted(std::string_view run_id, tenure const&, clock::time_point now);

private:
    std::string tenure_;         // id of the latest tenure
    std::string mark_;           // text of the latest life marker
    std::string marked_run_id_;  // run id in that marker
    bool was_replica_ = false;   // since the last greeting as a master
};

}  // namespace redlock::stores::redis
