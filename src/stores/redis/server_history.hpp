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

/** For how long after a promotion a manager that has not heard of it may prolong locks at the old master. Nothing is
    granted at the new one for so long beyond `max_ttl`.

    A manager asks once a second. A Sentinel tells the others every other second, and two of its messages may be lost.
    A master of a cluster that is cut off refuses writes at most half a `cluster-node-timeout` after a replica of it may
    be promoted. That is 7.5 s by default.
*/
inline constexpr std::chrono::seconds follow_time{10};

/// @p persistence is the answer to `INFO persistence`, @p policy that to `CONFIG GET *appendfsync*`. What is not said
/// is not so.
log_state read_log_state(std::string_view persistence, std::span<std::string const> policy);

/// As what a server has been made the master by others, who may make another one.
struct tenure {
    std::string id;                    ///< empty: it is not known
    std::chrono::milliseconds age{0};  ///< so long ago a client first met it as that, or longer
};

/// The life marker of a server that stands alone: a key that is lost when the server loses its keys.
struct life_mark {
    std::string text;                  ///< different for each that was ever written
    std::string run_id;                ///< of the process that it was written in
    std::string before;                ///< the run id in the marker that it replaced; `-`: there was none
    std::chrono::milliseconds age{0};  ///< by the server's clock

    /// Whether it continues the marker of an earlier process of the server. Otherwise the keys that were there before
    /// it may be lost.
    bool continues_process() const { return before != "-" && before != run_id; }
};

/// The history of a Redis server. The name of a life is its `run_id`.
class server_history : public core::server_history {
public:
    using core::server_history::server_history;

    /// A new connection. A server without a @p mark is judged by its run id alone.
    void greeted(std::string_view run_id, std::chrono::milliseconds uptime, log_state log, clock::time_point now,
                 std::optional<life_mark> const& mark = {});

    /// It is a replica, and so its keys are those of another server.
    void met_replica() noexcept { was_replica_ = true; }

    /// The text of the latest life marker; empty: none is known.
    std::string const& mark() const noexcept { return mark_; }

    /// A new connection to a server that others have made the master. It may not know what its predecessor had granted,
    /// even with a durable log.
    void greeted(std::string_view run_id, tenure const&, clock::time_point now);

private:
    std::string tenure_;         // the last
    std::string mark_;           // the last
    std::string marked_run_id_;  // in it
    bool was_replica_ = false;   // since it was greeted as a master
};

}  // namespace redlock::stores::redis
