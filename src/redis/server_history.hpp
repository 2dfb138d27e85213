#pragma once

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <chrono>
#include <span>
#include <string>
#include <string_view>

namespace redlock::redis {

/// What a server says of its append-only log.
struct log_state {
    /// It holds every key: it is on, and no rewrite is under way or due. Until the first rewrite after it was switched on has
    /// ended, a server that is killed comes back empty; later ones look the same.
    bool complete = false;
    bool synced = false;      ///< Each write is on the disk before it is answered.
    bool from_start = false;  ///< It was never rewritten in this life of the server, so it was on when that began.
};

/// @p persistence is the answer to `INFO persistence`, @p policy that to `CONFIG GET *appendfsync*`. What is not said is not so.
log_state read_log_state(std::string_view persistence, std::span<std::string const> policy);

/// As what a server has been made the master by others, who may make another one.
struct tenure {
    std::string id;                    ///< empty: it is not known
    std::chrono::milliseconds age{0};  ///< so long ago a client first met it as that, or longer
};

/** What one client has seen of the lives of a server.

    A restart is without loss only if the log was durable at the last sign of the life before, and was read when the new one
    began. What a server says of its log later cannot bring back what it has forgotten.
*/
class server_history {
public:
    /// @param max_ttl the longest life of a lock
    explicit server_history(std::chrono::milliseconds max_ttl) : max_ttl_(max_ttl) {}

    /// A new connection. @p run_id is empty if the server does not tell it: then it may have restarted, until it does.
    void greeted(std::string_view run_id, std::chrono::seconds uptime, log_state, clock::time_point now);

    /// The same of a server that others have made the master: what its predecessor had granted it may not know, whatever its log is like.
    void greeted(std::string_view run_id, tenure const&, clock::time_point now);

    /// It was asked again on the same connection.
    void looked(log_state, clock::time_point now);

    server_identity const& identity() const noexcept { return identity_; }

    /// Whether the latest connection met the same life of the server as the one before.
    bool same_server() const noexcept { return same_server_; }

private:
    std::chrono::milliseconds max_ttl_;
    std::string run_id_;        // the last that was told
    server_identity known_;     // the one of that name
    std::string tenure_;        // the last
    server_identity identity_;
    bool same_server_ = false;
    bool durable_now_ = false;            // it would remember all, were it killed at our last look
    clock::time_point synced_since_{};    // what was written before may be missing on the disk
};

}  // namespace redlock::redis
