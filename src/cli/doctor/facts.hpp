#pragma once

#include "cli/doctor/call.hpp"
#include "cli/permissions.hpp"
#include "cli/reply.hpp"
#include "cli/server_certificate.hpp"
#include "cli/server_place.hpp"

#include <redlock/error.hpp>
#include <redlock/restart_guard.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli::doctor {

/// What locks on these nodes are to be like.
struct demands {
    std::chrono::milliseconds ttl{10'000};
    std::chrono::milliseconds max_ttl{60'000};
    std::chrono::milliseconds node_timeout{50};
    double drift_factor = 0.01;
    redlock::restart_guard restart_guard = redlock::restart_guard::strict;
    uses used{};
    std::string prefix = "lock:";
    std::string probe = "=doctor";   ///< the name of the lock that is tried
    std::size_t keys_max = 100'000;  ///< how many keys of a server are looked at
    std::chrono::sys_seconds now{};
    bool compares_clocks = true;  ///< which takes a second
    bool strict = false;          ///< a release that has ended is a warning
    doctor::call call{};          ///< for the lines that mend something
};

/// What a server's clock showed, and ours.
struct clock_reading {
    std::chrono::microseconds theirs{0};   ///< since 1970, by TIME
    std::chrono::microseconds ours{0};     ///< since 1970, halfway between question and answer
    std::chrono::microseconds running{0};  ///< the same moment, by a clock that never jumps
    std::chrono::microseconds error{0};    ///< half of the time between question and answer
};

/// Keys that begin with the prefix.
struct key_facts {
    static constexpr std::size_t named_max = 5;  ///< so many are named, the others counted

    struct named {
        std::size_t count = 0;
        std::vector<std::pair<std::string, std::string>> first{};  ///< keys, and their types

        void add(std::string key, std::string type);
    };

    reply refusal{};            ///< failed: why they could not be looked at
    std::string refused{};      ///< which command, as access lists name it
    std::size_t looked_at = 0;  ///< with this prefix and without it
    bool is_all = false;        ///< no others are there
    std::size_t found = 0;      ///< with this prefix
    named endless{};            ///< they are there for ever, and should not be
    named foreign{};            ///< another type than a lock's
    std::size_t counters = 0;   ///< of fencing tokens
    std::size_t measured = 0;   ///< counters whose memory is known
    std::uint64_t measured_bytes = 0;
    reply unmeasured{};  ///< failed: why none is
};

/// How the library gets on with the node.
struct probe_facts {
    std::vector<std::string> done{};  ///< "acquired", "extended", …
    std::string failed_at{};          ///< empty: nothing has failed
    error_code error{};
    std::string message{};
    bool is_taken = false;  ///< somebody else had the lock that is tried
};

/// The node as a manager of all nodes sees it, with the settings of the call.
struct vote_facts {
    bool is_connected = false;
    std::chrono::milliseconds quarantine{0};  ///< how long it does not vote yet
    std::string message{};                    ///< why it is not connected
};

/// What has been seen of one node. What a server has not answered is a reply that failed.
struct node_facts {
    std::string name{};     ///< for people
    bool is_server = true;  ///< one Redis or Valkey server; of others only @ref probe is known
    server_place place{};
    std::vector<std::string> addresses{};  ///< of its host
    std::optional<server_certificate> certificate{};
    bool is_other_transport = false;  ///< the port speaks TLS though the address names none, or the other way round

    reply hello{}, info{}, settings{}, slow_log{}, sentinels{}, time{}, clients{};
    reply services{};  ///< of a Sentinel: the services that it watches
    std::vector<std::chrono::microseconds> round_trips{};
    std::optional<clock_reading> first_time{}, last_time{};
    std::vector<std::pair<std::string, reply>> trials{};  ///< of permissions, by their names
    key_facts keys{};
    probe_facts probe{};
    vote_facts vote{};
    bool has_no_marker = false;  ///< before this call, no client had left a life marker with this prefix

    /// Whether `redlock run` gets the vote of this node.
    bool votes() const;

    /// A percentile of the round trips, by the nearest rank. There must be a round trip.
    std::chrono::microseconds round_trip(std::size_t percent) const;

    /// The number that INFO has for @p name; 0 if there is none.
    std::int64_t number(std::string_view name) const;

    /// The number that CONFIG GET has; nothing if it is not known.
    std::optional<std::int64_t> setting(std::string_view name) const;
};

/// Whether a server remembers its locks over a restart, as managers see it.
struct durability_state {
    enum class lack : std::uint8_t {
        nothing,
        log,                ///< appendonly
        written,            ///< the last write has failed
        synced,             ///< appendfsync always
        synced_on_rewrite,  ///< no-appendfsync-on-rewrite no
        complete,           ///< a rewrite is under way, or about to be
    };

    lack lacks = lack::nothing;
    bool from_start = false;  ///< the log was there when the server began, so that it does remember what was before

    bool is_durable() const noexcept { return lacks == lack::nothing && from_start; }
};

/// The server's INFO and settings must be known.
durability_state durability_of(node_facts const&);

}  // namespace redlock::cli::doctor
