#pragma once

#include <redlock/clock.hpp>
#include <redlock/config.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <span>
#include <string_view>

namespace redlock::sim {

using namespace std::chrono_literals;

/// What the workers of a world lock.
enum class lock_kind {
    single,   ///< one resource at a time
    sets,     ///< up to four at once, now and then one
    shared,   ///< one resource at a time, for oneself or together with others
    any,      ///< any one of some slots, now and then one by its name, or all
    tickets,  ///< one resource or several, and often it is left to another worker, by a ticket
    scopes,   ///< several, one after the other in scopes, and upgrades
};
inline constexpr std::array<std::string_view, 6> lock_kinds{"single", "sets", "shared", "any", "tickets", "scopes"};
constexpr std::string_view name_of(lock_kind k) { return lock_kinds[static_cast<std::size_t>(k)]; }

/// What the servers of a world are.
enum class store_kind {
    redis,
    table,    ///< databases: what is committed lasts
    session,  ///< etcd clusters: a lock ends with its owner's lease
    mixed,    ///< some of each, with one vote each
};
inline constexpr std::array<std::string_view, 4> store_kinds{"redis", "table", "session", "mixed"};
constexpr std::string_view name_of(store_kind k) { return store_kinds[static_cast<std::size_t>(k)]; }

/// A fault that may happen at each message or look at the clock.
struct occasional {
    double chance = 0;
    clock::duration longest{0};
};

/// A fault that happens again and again.
struct recurring {
    clock::duration every{0};
    clock::duration longest{0};  ///< until it is over
};

/** A kind of bad conditions. Each finds bugs that hide in the others.

    Times are means unless they say otherwise; a mean of zero: it does not happen. Each seed draws for itself which of
    its profile's faults it has, because a fault may hide the bug that another one shows.
*/
struct profile {
    std::string_view name;
    std::string_view about;
    lock_kind locks = lock_kind::single;
    store_kind stores = store_kind::redis;

    /// Whether mutual exclusion is promised. Where it is not, the checker must see violations, or it is blind.
    bool exclusive = true;

    // The network.
    clock::duration delay_min = 50us;  ///< of a message, one way
    clock::duration delay_max = 500us;
    occasional tail{};        ///< a message takes longer
    occasional reply_tail{};  ///< a reply takes longer than its request
    double break_chance = 0;  ///< that a connection breaks, for each message
    recurring partition{};    ///< between one process and one server

    // The servers.
    recurring crash{};
    bool amnesia = false;  ///< whether it has forgotten its keys then, and its counters
    bool rolls = false;    ///< some crashes are followed by those of others, and by a new process
    restart_guard guard = restart_guard::automatic;
    recurring pause{};                     ///< the server stands still
    recurring refusal{};                   ///< it answers everything with an error
    clock::duration flush_every = 0ms;     ///< its scripts are forgotten
    clock::duration eviction_every = 0ms;  ///< a key goes
    recurring row_lock{};                  ///< somebody else's transaction has a row of a database
    recurring leader_change{};             ///< of a cluster; it ends when all have heard of it
    clock::duration session = 0ms;  ///< some keep a key for so long at the most, unless it is extended, and say so;
                                    ///< zero: for its ttl

    // The clients.
    occasional stall{};                 ///< a process loses the processor, at each look at the clock
    clock::duration death_every = 0ms;  ///< a process or a manager ends, and another one begins

    // The clocks.
    double rate_error = 0.0048;              ///< of any clock, at most; drift_factor 0.01 covers twice that
    clock::duration wall_clock_error = 24h;  ///< of a client's time of day, at most
    recurring jump{};                        ///< of a server's clock

    /// Whether two holders are bound to be seen in many worlds. Leases follow no time of day, and what they promise
    /// leaves room for worse clocks than ours are allowed to be.
    constexpr bool shows_two_holders() const { return !exclusive && (stores != store_kind::session || amnesia); }

    /// Whether fencing tokens are promised to grow: as long as counters last, or the guard keeps those away that do
    /// not.
    constexpr bool tokens_grow() const { return !amnesia || guard != restart_guard::off; }

    /// Whether nothing goes wrong but that processes stand still.
    constexpr bool is_faultless() const
    {
        return tail.chance == 0 && reply_tail.chance == 0 && break_chance == 0 && partition.every == 0ms
               && crash.every == 0ms && pause.every == 0ms && refusal.every == 0ms && eviction_every == 0ms
               && row_lock.every == 0ms && leader_change.every == 0ms && jump.every == 0ms;
    }

    /// Once its owner is done with a key, it is gone from a server within this time of undisturbed contact.
    clock::duration leftover_bound = 1s;

    /// How many acquisitions a virtual minute must see at the least, on average over the seeds.
    double progress_min = 100;
};

std::span<profile const> profiles();
profile const* find_profile(std::string_view name);

}  // namespace redlock::sim
