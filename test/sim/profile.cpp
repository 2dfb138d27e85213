#include "profile.hpp"

#include <algorithm>

namespace redlock::sim {

namespace {

// Each entry is a profile. If a profile promises exclusion, clocks stay within the allowed drift, and no server that
// forgets is trusted.
constexpr profile all[] = {
    {.name = "quiet",
     .about = "a fast network and no faults",
     .stall = {0.0005, 200ms},
     .leftover_bound = 50ms,
     .progress_min = 220},
    {.name = "slow",
     .about = "some messages take very long; servers and clients are paused",
     .delay_max = 5ms,
     .tail = {0.05, 2s},
     .pause = {4s, 1s},
     .row_lock = {2s, 500ms},
     .leader_change = {4s, 1s},
     .stall = {0.002, 4s},
     .leftover_bound = 5s},
    {.name = "lossy",
     .about = "connections break; requests and replies are lost, and some requests are carried out late",
     .break_chance = 0.02,
     .refusal = {5s, 1s},
     .flush_every = 1s,
     .row_lock = {2s, 3s},
     .leader_change = {4s, 3s},
     .stall = {0.001, 3s},
     .death_every = 10s},
    {.name = "late replies",
     .about = "servers get requests at once, but reply late; requests of broken connections are carried out even later",
     .reply_tail = {0.2, 600ms},
     .break_chance = 0.02,
     // A process sends nothing before it has the answers to its earlier requests, and each answer may be later than the
     // one before.
     .leftover_bound = 2500ms,
     .progress_min = 50},
    {.name = "partitions",
     .about = "processes and servers cannot reach each other",
     .tail = {0.01, 100ms},
     .partition = {2s, 5s},
     .leader_change = {3s, 3s},
     .stall = {0.001, 3s},
     .death_every = 15s,
     .leftover_bound = 2s},
    {.name = "crashes",
     .about = "servers crash and keep their memory; clients die",
     .break_chance = 0.002,
     .crash = {3s, 3s},
     .pause = {8s, 1s},
     .refusal = {8s, 2s},
     .stall = {0.001, 3s},
     .death_every = 5s,
     .leftover_bound = 2s},
    {.name = "restarts",
     .about = "servers crash and forget, but never all of them within max_ttl",
     .tail = {0.01, 100ms},
     .break_chance = 0.002,
     .crash = {2s, 1s},
     .amnesia = true,
     .rolls = true,
     .stall = {0.001, 3s},
     .death_every = 10s,
     .wall_clock_error = 500ms,
     .leftover_bound = 2s},
    {.name = "power cuts",
     .about = "any servers crash and forget; no young server is trusted",
     .break_chance = 0.002,
     .crash = {6s, 1s},
     .amnesia = true,
     .guard = restart_guard::strict,
     .stall = {0.001, 3s},
     .death_every = 10s,
     .wall_clock_error = 500ms,
     .leftover_bound = 2s,
     .progress_min = 30},
    {.name = "sessions",
     .about = "some servers keep a key only for a short session, and promise no more",
     .tail = {0.01, 100ms},
     .break_chance = 0.002,
     .session = 800ms,
     .stall = {0.002, 3s},
     .death_every = 15s,
     .leftover_bound = 2s},
    {.name = "amnesia",
     .about = "servers crash and forget without a guard, and evict keys",
     .exclusive = false,
     .crash = {3s, 1s},
     .amnesia = true,
     .guard = restart_guard::off,
     .eviction_every = 5s,
     .stall = {0.001, 3s},
     .death_every = 10s},
    {.name = "clocks",
     .about = "the servers' clocks jump, and run faster than the allowed drift",
     .exclusive = false,
     .tail = {0.01, 100ms},
     .stall = {0.002, 3s},
     .rate_error = 0.05,
     .jump = {3s, 5s},
     .leftover_bound = 15s},  // a server whose clock is set back keeps keys beyond their ttl
};

}  // namespace

std::span<profile const> profiles() { return all; }

profile const* find_profile(std::string_view name)
{
    auto const found = std::find_if(std::begin(all), std::end(all), [&](auto& p) { return p.name == name; });
    return found == std::end(all) ? nullptr : found;
}

}  // namespace redlock::sim
