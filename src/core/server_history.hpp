#pragma once

#include <redlock/clock.hpp>
#include <redlock/server_identity.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace redlock::core {

/// The state of a server's append-only log, as the server reports it.
struct log_state {
    /// The log has every key: it is on, and no rewrite is under way or scheduled. Until the first rewrite after it was
    /// switched on has ended, a killed server restarts empty. Later rewrites cannot be distinguished from the first
    /// one.
    bool complete = false;
    bool synced = false;      ///< Each write is on the disk before it is answered.
    bool from_start = false;  ///< It was not rewritten in this life of the server, so it was on when that life began.
};

/// The state of a server's keys. It does not depend on the log.
struct key_state {
    bool forgot = false;  ///< The server has lost keys that the client may know.
    /// The keys are this old. It is unknown whether there were keys before.
    std::optional<std::chrono::milliseconds> age{};
};

/** The history of a server, as one client has seen it. A life lasts from one start of the server to the next, and has a
    name.

    A restart loses nothing only if two conditions are met. The log was durable when the client last looked at the
    earlier life, and the server has read the log at the restart. A log that is switched on later does not restore what
    the server has forgotten.
*/
class server_history {
public:
    /// @param max_ttl the longest ttl of a lock
    explicit server_history(std::chrono::milliseconds max_ttl) : max_ttl_(max_ttl) {}

    /// Call it for each new connection. @p life is empty if the server does not report it. If an earlier connection
    /// reported a life, the server then counts as restarted, until it reports that life again.
    /// @param uptime the server's own figure, which may be rounded up to whole seconds
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
            synced_since_ = named ? clock::time_point() : now;  // without a name it may be the same life
        looked(log, now);
        bool const is_durable = named && durable_now_ && log.from_start;
        // The locks that the earlier life had forgotten have expired max_ttl after it began. A life that the client has
        // not seen is unknown.
        bool const had_all = identity_.durable || now - identity_.began >= max_ttl_;
        // It remembers the same locks as the earlier life, no more and no less.
        bool const is_as_before = was_durable && is_durable && !had_all;
        if (!is_as_before) {
            identity_.restarted = !first;
            identity_.durable = is_durable && remembers && (first || (was_durable && had_all));
            // The uptime follows the server's wall clock, which may jump. So the client dates a restart that it saw by
            // its own clock.
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

    /// Call it when the server was asked again on the same connection.
    void looked(log_state log, clock::time_point now)
    {
        if (!log.synced)
            synced_since_ = now;
        bool const others_are_over = synced_since_ == clock::time_point() || now - synced_since_ >= max_ttl_;
        durable_now_ = log.complete && log.synced && others_are_over;
    }

    server_identity const& identity() const noexcept { return identity_; }

    /// Whether the latest connection reached the same life of the server as the one before.
    bool same_server() const noexcept { return same_server_; }

protected:
    static constexpr auto age_max = std::chrono::hours(10 * 365 * 24);

    bool is_of(std::string_view life) const noexcept { return !life.empty() && life == life_; }

    std::string life_;  // the latest life that the server reported
    server_identity identity_;
    bool same_server_ = false;

private:
    std::chrono::milliseconds max_ttl_;
    server_identity known_;             // the identity of that life
    bool durable_now_ = false;          // at the last look: the server would lose nothing if it were killed
    clock::time_point synced_since_{};  // earlier writes may be missing on the disk
};

}  // namespace redlock::core
