#pragma once

#include <redlock/clock.hpp>
#include <redlock/server_identity.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::core {

/// The state of a server's append-only log, as the server tells it.
struct log_state {
    /// It holds every key: it is on, and no rewrite is under way or due. Until the first rewrite after it was switched
    /// on has ended, a server that is killed comes back empty; later ones look the same.
    bool complete = false;
    bool synced = false;      ///< Each write is on the disk before it is answered.
    bool from_start = false;  ///< It was never rewritten in this life of the server, so it was on when that began.
};

/// The state of a server's keys. It does not depend on the log.
struct key_state {
    bool forgot = false;                             ///< Keys that the client could know are lost.
    std::optional<std::chrono::milliseconds> age{};  ///< So old are the keys; nobody knows whether there were others
                                                     ///< before.
};

/** What one client has seen of the lives of a server. A life lasts from a start of the server to the next one, and has
    a name.

    A restart is without loss only if the log was durable at the last look at the life before, and was read when the
    new one began. A log that is switched on later does not bring back what the server has forgotten.
*/
class server_history {
public:
    /// @param max_ttl the longest life of a lock
    explicit server_history(std::chrono::milliseconds max_ttl) : max_ttl_(max_ttl) {}

    /// A new connection. @p life is empty if the server does not tell it: then it may have restarted, until it does.
    /// @param uptime as the server counts it: seconds that have begun may be counted as whole ones
    void greeted(std::string_view life, std::chrono::milliseconds uptime, log_state log, clock::time_point now,
                 key_state const& keys = {})
    {
        same_server_ = is_of(life);
        bool const remembers = !keys.forgot && !keys.age;
        if (same_server_ && remembers) {
            identity_ = known_;
            return looked(log, now);
        }
        bool const first = !keys.forgot && (life_.empty() || (same_server_ && !known_.restarted));
        bool const named = !life.empty();
        bool const was_durable = durable_now_ && !first && remembers;
        if (!same_server_)
            synced_since_ = named ? clock::time_point() : now;  // without a name it may be the life before
        looked(log, now);
        bool const is_durable = named && durable_now_ && log.from_start;
        // Locks that the life before had forgotten are over a max_ttl after it began. The client knows nothing of a
        // life that it has not seen.
        bool const had_all = identity_.durable || now - identity_.began >= max_ttl_;
        bool const is_as_before = was_durable && is_durable && !had_all;  // it remembers what the life before did, no
                                                                          // more and no less
        if (!is_as_before) {
            identity_.restarted = !first;
            identity_.durable = is_durable && remembers && (first || (was_durable && had_all));
            // An uptime follows the server's wall clock, which may jump. A restart that the client saw is timed by its
            // own.
            auto age = std::clamp<std::chrono::milliseconds>(uptime - std::chrono::seconds(1), {}, age_max);
            if (keys.age)
                age = std::clamp(*keys.age, {}, age);
            identity_.began = identity_.restarted ? now : now - age;
        }
        if (named) {
            life_ = life;
            known_ = identity_;
        }
    }

    /// The server was asked again on the same connection.
    void looked(log_state log, clock::time_point now)
    {
        if (!log.synced)
            synced_since_ = now;
        bool const others_are_over = synced_since_ == clock::time_point() || now - synced_since_ >= max_ttl_;
        durable_now_ = log.complete && log.synced && others_are_over;
    }

    server_identity const& identity() const noexcept { return identity_; }

    /// Whether the latest connection met the same life of the server as the one before.
    bool same_server() const noexcept { return same_server_; }

protected:
    static constexpr auto age_max = std::chrono::hours(10 * 365 * 24);

    bool is_of(std::string_view life) const noexcept { return !life.empty() && life == life_; }

    std::string life_;  // the last that was told
    server_identity identity_;
    bool same_server_ = false;

private:
    std::chrono::milliseconds max_ttl_;
    server_identity known_;             // the one of that life
    bool durable_now_ = false;          // it would remember all, if it were killed at the last look
    clock::time_point synced_since_{};  // what was written before may be missing on the disk
};

}  // namespace redlock::core
