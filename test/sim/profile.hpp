#pragma once

#include <redlock/clock.hpp>
#include <redlock/manager_options.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>

namespace redlock::sim {

using namespace std::chrono_literals;

/// The locks that the workers of a world take.
enum class lock_kind {
    single,   ///< one resource at a time
    sets,     ///< up to four at once, sometimes one
    shared,   ///< one resource at a time, exclusive or shared
    any,      ///< any one of some slots; sometimes a slot by its name, or all
    tickets,  ///< one resource or several, often left to another worker by a ticket
    scopes,   ///< several, one after the other in scopes, and upgrades
};
inline constexpr std::array<std::string_view, 6> lock_kinds{"single", "sets", "shared", "any", "tickets", "scopes"};
constexpr std::string_view name_of(lock_kind k) { return lock_kinds[static_cast<std::size_t>(k)]; }

/// The kinds of servers in a world.
enum class store_kind {
    redis,
    table,    ///< databases, which keep what was committed
    session,  ///< etcd clusters: a lock ends with its owner's lease
    mixed,    ///< some of each, with one vote each
};
inline constexpr std::array<std::string_view, 4> store_kinds{"redis", "table", "session", "mixed"};
constexpr std::string_view name_of(store_kind k) { return store_kinds[static_cast<std::size_t>(k)]; }

/// A fault that may happen at each message, or whenever the clock is read.
struct occasional {
    double chance = 0;
    clock::duration longest{0};
};

/// A fault that happens repeatedly.
struct recurring {
    clock::duration every{0};
    clock::duration longest{0};  ///< the longest time until it is over
};

/** A set of bad conditions. Each profile finds bugs that the others hide.

    Times are means unless stated otherwise; a mean of zero: it does not happen. Each seed leaves out some faults of its
    profile, because one fault may hide a bug that another one shows.
*/
struct profile {
    std::string_view name;
    std::string_view about;
    lock_kind locks = lock_kind::single;
    store_kind stores = store_kind::redis;

    /// Whether mutual exclusion is promised. If it is not, the checker must see violations; otherwise it is blind.
    bool exclusive = true;

    // The network.
    clock::duration delay_min = 50us;  ///< of a message, one way
    clock::duration delay_max = 500us;
    occasional tail{};        ///< a message takes longer
    occasional reply_tail{};  ///< a reply takes longer than its request
    double break_chance = 0;  ///< the chance for each message that its connection breaks
    recurring partition{};    ///< between one process and one server

    // The servers.
    recurring crash{};
    bool amnesia = false;  ///< a server that crashes forgets its keys and counters
    bool rolls = false;    ///< some crashes lead to crashes of the others, and to a new process
    restart_guard guard = restart_guard::automatic;
    recurring pause{};                     ///< the server is paused
    recurring refusal{};                   ///< it answers everything with an error
    clock::duration flush_every = 0ms;     ///< the server forgets its scripts
    clock::duration eviction_every = 0ms;  ///< the server deletes a key
    recurring row_lock{};                  ///< another transaction locks a row of a database
    recurring leader_change{};             ///< of a cluster; over when all processes have heard of it

    /// Some servers keep a key for at most this time, unless it is extended, and say so. Zero: they keep it for its
    /// ttl.
    clock::duration session = 0ms;

    // The clients.
    occasional stall{};                 ///< a process is paused, whenever it reads the clock
    clock::duration death_every = 0ms;  ///< a process or a manager ends, and another one begins

    // The clocks.
    double rate_error = 0.0048;              ///< of any clock, at most; drift_factor 0.01 covers twice that
    clock::duration wall_clock_error = 24h;  ///< of a client's wall clock, at most
    recurring jump{};                        ///< of a server's clock

    /// Whether two holders must be seen in many worlds. Leases do not depend on wall clocks, and tolerate worse clocks
    /// than the simulation has.
    constexpr bool shows_two_holders() const { return !exclusive && (stores != store_kind::session || amnesia); }

    /// Whether fencing tokens are promised to grow: if counters last, or if the guard keeps away servers that forget.
    constexpr bool tokens_grow() const { return !amnesia || guard != restart_guard::off; }

    /// Whether pauses of processes are the only faults.
    constexpr bool is_faultless() const
    {
        return tail.chance == 0 && reply_tail.chance == 0 && break_chance == 0 && partition.every == 0ms
               && crash.every == 0ms && pause.every == 0ms && refusal.every == 0ms && eviction_every == 0ms
               && row_lock.every == 0ms && leader_change.every == 0ms && jump.every == 0ms;
    }

    /// When its owner is done with a key, the key must be gone from a server after this time of undisturbed contact.
    clock::duration leftover_bound = 1s;

    /// The least number of acquisitions in a virtual minute, on average over the seeds.
    double progress_min = 100;
};

std::span<profile const> profiles();
profile const* find_profile(std::string_view name);

}  // namespace redlock::sim
