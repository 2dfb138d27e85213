#pragma once

#include "tools/redlock/doctor/call.hpp"
#include "tools/redlock/args/permissions.hpp"
#include "tools/redlock/server/reply.hpp"
#include "tools/redlock/server/server_certificate.hpp"
#include "tools/redlock/args/server_place.hpp"
#include "tools/redlock/locks/waits.hpp"

#include <redlock/error.hpp>
#include <redlock/quarantine_reason.hpp>
#include <redlock/restart_guard.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli::doctor {

/// The options of the doctor, and the settings of the locks that the nodes must support.
struct demands {
    std::chrono::milliseconds ttl{10'000};
    std::chrono::milliseconds max_ttl{60'000};
    std::chrono::milliseconds node_timeout{50};
    double drift_factor = 0.01;
    redlock::restart_guard restart_guard = redlock::restart_guard::strict;
    uses used{};
    std::string prefix = "lock:";
    std::string probe = "=doctor";   ///< the name of the lock that the doctor acquires
    std::size_t keys_max = 100'000;  ///< how many keys of a server to check
    std::chrono::sys_seconds now{};
    bool compares_clocks = true;  ///< takes a second
    bool strict = false;          ///< a server release after its end of life is a warning
    doctor::call call{};          ///< for the lines that fix problems
};

/// The clock of a server and the clock of this machine at the same time.
struct clock_reading {
    std::chrono::microseconds theirs{0};   ///< the server's TIME, since 1970
    std::chrono::microseconds ours{0};     ///< the time of this machine halfway between question and answer, since 1970
    std::chrono::microseconds running{0};  ///< the same time by a clock that never jumps
    std::chrono::microseconds error{0};    ///< half of the time between question and answer
};

/// The keys of a server that begin with the prefix.
struct key_facts {
    static constexpr std::size_t named_max = 5;  ///< how many keys a finding names; the others are only counted

    struct key {
        std::string name, type;
        std::optional<std::chrono::milliseconds> left{};  ///< nothing: it has no expiry
        /// How long nobody has used it. Nothing: unknown. The server counts whole seconds.
        std::optional<std::chrono::seconds> idle{};
    };

    struct named {
        std::size_t count = 0;
        std::vector<key> first{};

        void add(key k);
    };

    reply refusal{};            ///< failed: why the keys could not be read
    std::string refused{};      ///< the refused command, as access lists name it
    std::size_t looked_at = 0;  ///< keys with and without the prefix
    bool is_all = false;        ///< the server has no other keys
    std::size_t found = 0;      ///< keys with the prefix
    named endless{};            ///< keys that wrongly have no expiry
    named foreign{};            ///< keys with another type than a lock has
    std::size_t wanted = 0;     ///< lists of clients that were denied a lock lately
    std::size_t counters = 0;   ///< fencing token counters
    std::size_t measured = 0;   ///< counters whose memory is known
    std::uint64_t measured_bytes = 0;
    reply unmeasured{};  ///< failed: why no counter was measured
};

/// The result of locking on this node alone, with the library.
struct probe_facts {
    std::vector<std::string> done{};  ///< "acquired", "extended", …
    std::string failed_at{};          ///< empty: no step has failed
    error_code error{};
    std::string message{};
    bool is_taken = false;  ///< another client holds the probe's lock
};

/// The state of the node in a manager of all nodes, with the settings of the call.
struct vote_facts {
    bool is_connected = false;
    std::chrono::milliseconds quarantine{0};              ///< the time until it votes
    quarantine_reason reason = quarantine_reason::fresh;  ///< why it does not vote yet
    bool is_to_be_founded = false;                        ///< it votes from the first lock on, as all nodes are new
    error_code error{};                                   ///< why it is not connected
    std::string message{};                                ///< the same in words
};

/// The facts about one node. A missing answer is a reply with `failed()`.
struct node_facts {
    std::string name{};     ///< for people
    bool is_server = true;  ///< false: no Redis or Valkey server; only @ref probe is known
    server_place place{};
    std::vector<std::string> addresses{};  ///< of its host
    std::optional<server_certificate> certificate{};
    bool is_other_transport = false;  ///< the port speaks TLS and the address has none, or the reverse

    std::set<std::string> run_ids{};  ///< of all servers that have answered at the address

    reply hello{}, info{}, settings{}, slow_log{}, sentinels{}, time{}, clients{};
    std::vector<int> other_databases{};  ///< in which clients with this prefix have left their settings lately
    reply services{};                    ///< of a Sentinel: the services that it watches
    std::vector<std::chrono::microseconds> round_trips{};
    std::optional<clock_reading> first_time{}, last_time{};
    std::vector<std::pair<std::string, reply>> trials{};  ///< tested permissions, by their names
    key_facts keys{};
    probe_facts probe{};
    vote_facts vote{};

    /// Whether `redlock run` gets the vote of this node.
    bool votes() const;

    /// A percentile of the round trips, by the nearest rank. Needs at least one round trip.
    std::chrono::microseconds round_trip(std::size_t percent) const;

    /// The number that INFO has for @p name; 0 if it has none.
    std::int64_t number(std::string_view name) const;

    /// The number that CONFIG GET has for @p name; nothing if it is unknown.
    std::optional<std::int64_t> setting(std::string_view name) const;
};

/// The facts about all nodes.
struct set_facts : std::vector<node_facts> {
    using vector::vector;
    set_facts(std::vector<node_facts> nodes) : vector(std::move(nodes)) {}

    cli::waits waits{};  ///< which processes wait for which others
};

/// Whether a server keeps its locks over a restart, by the same rules as in managers.
struct durability_state {
    enum class lack : std::uint8_t {
        nothing,
        log,                ///< appendonly is off
        written,            ///< the last write has failed
        synced,             ///< appendfsync is not always
        synced_on_rewrite,  ///< no-appendfsync-on-rewrite is not no
        complete,           ///< a rewrite of the log is running or scheduled
    };

    lack lacks = lack::nothing;
    bool from_start = false;  ///< the server had the log when it started, so it has the locks from before

    bool is_durable() const noexcept { return lacks == lack::nothing && from_start; }
};

/// Needs the server's INFO and settings.
durability_state durability_of(node_facts const&);

}  // namespace redlock::cli::doctor
