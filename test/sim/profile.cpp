#include "profile.hpp"

#include <algorithm>

namespace redlock::sim {

namespace {

// One entry a profile. Where exclusion is promised, clocks stay within the drift that is allowed for, and no server that
// forgets is trusted.
constexpr profile all[] = {
    {.name = "quiet",
     .about = "a fast network and no faults",
     .stall_chance = 0.0005,
     .stall_max = 200ms,
     .leftover_bound = 50ms,
     .progress_min = 250},
    {.name = "slow",
     .about = "heavy tails, servers and clients that stand still",
     .delay_max = 5ms,
     .tail_chance = 0.05,
     .tail_max = 2s,
     .pause_every = 4s,
     .pause_max = 1s,
     .stall_chance = 0.002,
     .stall_max = 4s,
     .leftover_bound = 5s},
    {.name = "lossy",
     .about = "connections break; requests and replies get lost, and some requests are carried out late",
     .break_chance = 0.02,
     .refusal_every = 5s,
     .refusal_max = 1s,
     .flush_every = 1s,
     .stall_chance = 0.001,
     .stall_max = 3s,
     .death_every = 10s},
    {.name = "late replies",
     .about = "servers hear at once and are heard late; what a broken connection leaves is carried out later still",
     .reply_tail_chance = 0.2,
     .reply_tail_max = 600ms,
     .break_chance = 0.02,
     .leftover_bound = 2500ms,  // nothing is sent before the answers to what was have come, each later than the one before
     .progress_min = 50},
    {.name = "partitions",
     .about = "processes and servers lose sight of each other",
     .tail_chance = 0.01,
     .tail_max = 100ms,
     .partition_every = 2s,
     .partition_max = 5s,
     .stall_chance = 0.001,
     .stall_max = 3s,
     .death_every = 15s,
     .leftover_bound = 2s},
    {.name = "crashes",
     .about = "servers crash and come back with their memory, clients die",
     .break_chance = 0.002,
     .crash_every = 3s,
     .crash_max = 3s,
     .pause_every = 8s,
     .pause_max = 1s,
     .refusal_every = 8s,
     .refusal_max = 2s,
     .stall_chance = 0.001,
     .stall_max = 3s,
     .death_every = 5s,
     .leftover_bound = 2s},
    {.name = "restarts",
     .about = "a minority of the servers comes back without its memory",
     .tail_chance = 0.01,
     .tail_max = 100ms,
     .break_chance = 0.002,
     .crash_every = 2s,
     .crash_max = 1s,
     .amnesia = true,
     .stall_chance = 0.001,
     .stall_max = 3s,
     .death_every = 10s,
     .wall_clock_error = 500ms,
     .leftover_bound = 2s},
    {.name = "power cuts",
     .about = "any servers come back without their memory; no young one is trusted",
     .break_chance = 0.002,
     .crash_every = 6s,
     .crash_max = 1s,
     .amnesia = true,
     .guard = restart_guard::strict,
     .stall_chance = 0.001,
     .stall_max = 3s,
     .death_every = 10s,
     .wall_clock_error = 500ms,
     .leftover_bound = 2s,
     .progress_min = 30},
    {.name = "sessions",
     .about = "some servers keep a key for a session only, and promise no more",
     .tail_chance = 0.01,
     .tail_max = 100ms,
     .break_chance = 0.002,
     .session = 800ms,
     .stall_chance = 0.002,
     .stall_max = 3s,
     .death_every = 15s,
     .leftover_bound = 2s},
    {.name = "amnesia",
     .about = "the same without a guard; and servers evict keys",
     .exclusive = false,
     .crash_every = 3s,
     .crash_max = 1s,
     .amnesia = true,
     .guard = restart_guard::off,
     .eviction_every = 5s,
     .stall_chance = 0.001,
     .stall_max = 3s,
     .death_every = 10s},
    {.name = "clocks",
     .about = "the servers' clocks jump, and run faster than the drift that is allowed for",
     .exclusive = false,
     .tail_chance = 0.01,
     .tail_max = 100ms,
     .stall_chance = 0.002,
     .stall_max = 3s,
     .rate_error = 0.05,
     .jump_every = 3s,
     .jump_max = 5s,
     .leftover_bound = 15s},  // a clock that is set back keeps keys beyond their ttl
};

}  // namespace

std::span<profile const> profiles()
{
    return all;
}

profile const* find_profile(std::string_view name)
{
    auto const found = std::find_if(std::begin(all), std::end(all), [&](auto& p) { return p.name == name; });
    return found == std::end(all) ? nullptr : found;
}

}  // namespace redlock::sim
