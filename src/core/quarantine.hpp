#pragma once

#include <redlock/clock.hpp>
#include <redlock/quarantine_reason.hpp>
#include <redlock/restart_guard.hpp>
#include <redlock/server_identity.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <string_view>
#include <vector>

namespace redlock::core {

/** Until when a server does not vote. If it has forgotten a lock, it would grant that lock again. The wait ends when
    every lock has expired that it may have forgotten. This is the "delayed restart" of the Redlock description, done by
    the client.

    @return the least time if the server votes
*/
inline clock::time_point quarantined_until(server_identity const& s, restart_guard guard,
                                           std::chrono::milliseconds max_ttl, clock::time_point now) noexcept
{
    constexpr auto votes = clock::time_point::min();
    if (guard == restart_guard::off || s.durable)
        return votes;
    auto const end = std::max(s.founded ? votes : s.began + max_ttl, s.waits_until);
    return end > now ? end : votes;
}

/// Whether the server is new to the prefix, and has never voted. A manager may found a set of such servers.
inline bool is_new(server_identity const& s, std::chrono::milliseconds max_ttl, clock::time_point now) noexcept
{
    return !s.durable && s.fresh && !s.restarted && s.began + max_ttl > now;
}

/// For so long after the beginning of a fresh record, another manager may be founding the set. Meanwhile clients look
/// again after @ref look_soon_after.
inline constexpr std::chrono::milliseconds founding_time{2000}, look_soon_after{50};

/** Finds out whether a set is old although some of its servers say that they are new. These may have lost their keys.
    Their records must change, because a manager would found the set if the other servers lose their keys, too.
*/
class old_set {
public:
    /// Whether the record must change if the set is old: it still says that a manager may found the server.
    static bool is_fresh(server_identity const& s, std::chrono::milliseconds max_ttl, clock::time_point now) noexcept
    {
        return !s.durable && s.fresh && s.began + max_ttl > now;
    }

    /** @param servers those that are known
        @return when the fresh servers must be told that the set is old. `time_point::max()`: never

        Another manager may be founding the set, and have founded only some of its servers. It founds no server that is
        older than `max_ttl`. So older servers prove that the set is old. Otherwise @ref founding_time shows it.
    */
    clock::time_point known_at(std::vector<server_identity> const& servers, std::chrono::milliseconds max_ttl,
                               clock::time_point now)
    {
        auto const may_be_founded_now = [&](auto& s) { return s.founded && s.began + max_ttl + founding_time > now; };
        bool is_mixed = false, is_old = false;
        for (auto const& s : servers) {
            bool const has_been_used = !s.durable && !is_new(s, max_ttl, now);
            is_mixed = is_mixed || has_been_used;
            is_old = is_old || (has_been_used && !may_be_founded_now(s));
        }
        is_mixed = is_mixed && std::ranges::any_of(servers, [&](auto& s) { return is_fresh(s, max_ttl, now); });
        mixed_since_ = is_mixed ? std::optional(mixed_since_.value_or(now)) : std::nullopt;
        return !is_mixed ? clock::time_point::max() : is_old ? now : *mixed_since_ + founding_time;
    }

private:
    std::optional<clock::time_point> mixed_since_;
};

/// Why a server does not vote that is in quarantine.
inline quarantine_reason reason_of(server_identity const& s, std::chrono::milliseconds max_ttl) noexcept
{
    bool const has_old_memory = s.founded || s.began + max_ttl < s.waits_until;
    if (has_old_memory)
        return quarantine_reason::log_off;
    if (s.promoted)
        return quarantine_reason::promoted;
    return s.restarted ? quarantine_reason::restarted : quarantine_reason::fresh;
}

/// Why a node does not vote yet, for people.
inline std::string_view in_words(quarantine_reason why) noexcept
{
    switch (why) {
    case quarantine_reason::fresh:
        return "it is new to this prefix, or has lost all its keys";
    case quarantine_reason::restarted:
        return "it has restarted or lost keys, so it may have forgotten locks";
    case quarantine_reason::promoted:
        return "it was promoted, so it may lack locks of the earlier primary";
    case quarantine_reason::log_off:
        return "its log was switched off, so a restart could lose locks unnoticed";
    }
    return "";
}

/// The way out for new nodes, for people. A server that has lost all its keys looks new, too.
inline constexpr std::string_view way_to_found = "if all servers are newly installed: redlock nodes init";

}  // namespace redlock::core
