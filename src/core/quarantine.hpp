#pragma once

#include <redlock/clock.hpp>
#include <redlock/quarantine_reason.hpp>
#include <redlock/restart_guard.hpp>
#include <redlock/server_identity.hpp>

#include <algorithm>
#include <chrono>
#include <string_view>

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
    auto const end = std::max(s.began == clock::time_point() ? votes : s.began + max_ttl, s.waits_until);
    return end > now ? end : votes;
}

/// Whether the server is new to the prefix, and has never voted. A manager may found a set of such servers.
inline bool is_new(server_identity const& s, std::chrono::milliseconds max_ttl, clock::time_point now) noexcept
{
    return !s.durable && !s.restarted && s.began != clock::time_point() && s.began + max_ttl > now;
}

/// Whether the server was founded.
inline bool is_founded(server_identity const& s) noexcept
{
    return !s.durable && !s.restarted && s.began == clock::time_point();
}

/// For so long after the beginning of a fresh record, another manager may be founding the set. Meanwhile clients look
/// again after @ref look_soon_after.
inline constexpr std::chrono::milliseconds founding_time{2000}, look_soon_after{50};

/// Why a server does not vote that is in quarantine.
inline quarantine_reason reason_of(server_identity const& s, std::chrono::milliseconds max_ttl) noexcept
{
    bool const has_old_memory = s.began == clock::time_point() || s.began + max_ttl < s.waits_until;
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
