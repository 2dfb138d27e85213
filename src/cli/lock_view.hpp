#pragma once

#include "cli/server.hpp"

#include <redlock/report.hpp>

#include <boost/json/object.hpp>
#include <boost/json/value.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// The state of a lock according to all nodes, or of the key of a lock on one node.
enum class lock_state : std::uint8_t {
    unknown,  ///< too few nodes have answered
    free,
    /// Some nodes have a value, but no value has a majority: a client acquires or releases it, or has left it behind.
    partial,
    held,
    shared,
    foreign,  ///< held by a client that does not use this library, and so leaves no label
};

/// "unknown", "free", …
std::string_view to_string(lock_state);

/// The parts of a lock's value for people.
struct hold_words {
    std::string owner{};  ///< the label; empty: none
    std::string note{};   ///< the purpose of the hold; empty: none
    /// When the hold began, by the holder's wall clock, in time since 1970. Nothing: unknown.
    std::optional<std::chrono::milliseconds> since{};
};

hold_words words_in(std::string_view value);

/// The state of a lock's key on one node.
struct node_view {
    std::string name{};
    lock_state state = lock_state::unknown;
    std::string owner{};
    std::string value{};                             ///< perhaps cut off: GETRANGE asks for a part
    std::optional<std::chrono::milliseconds> ttl{};  ///< nothing: the key does not expire
    std::string error{};  ///< unknown: why; foreign: why there is no value, if the key is no string
};

/// A lock according to all nodes. It may be outdated as soon as it is made.
struct lock_view {
    std::string key{};
    lock_state state = lock_state::unknown;
    lock_state has = lock_state::free;  ///< the most frequent state of the nodes: held, shared or foreign; else free
    std::string owner{};                ///< of the lock in that state; empty: it leaves no label
    std::string value{};
    hold_words about{};     ///< in @ref value
    std::size_t votes = 0;  ///< how many nodes have that owner and value
    /// How long a majority will have it; if the state is partial, how long any node will. Nothing: for ever.
    std::optional<std::chrono::milliseconds> ttl{};
    std::vector<node_view> nodes{};
    std::size_t waiting = 0;  ///< processes that wait for the lock, if the servers were asked for it

    bool is_there() const noexcept { return votes > 0; }
};

/// @param value  the server's answer to GET or GETRANGE
/// @param ttl    the server's answer to PTTL
node_view view_of(std::string name, reply const& value, reply const& ttl);

/// Combines the answers of all nodes.
lock_view lock_view_of(std::string key, std::vector<node_view> nodes);

/// Converts the result of `lock_manager::async_inspect`.
lock_view view_of(lock_info const&);

/// The holder, for people: "web-3:4121", "a client without a name"; empty if @p has is free.
std::string holder_of(lock_state has, std::string_view owner);

/// ` for "nightly report" since 10:04:12Z (3 min ago)`, or the part of it that is known.
std::string purpose_of(hold_words const&);

/// "10:04:12Z (3 min ago)", with the date if it was another day; empty if it is unknown.
std::string since_of(hold_words const&);

/// "7.5 s", "for ever"; empty if @p has is free.
std::string ttl_of(lock_state has, std::optional<std::chrono::milliseconds>);

/// A label or a note; null if the client leaves none.
boost::json::value json_of_text(std::string_view);

/// Adds the fields note, since and age_ms, which are null if they are unknown.
void add_words(boost::json::object& to, hold_words const&);

/// The fields key, state, owner, note, since, age_ms, ttl_ms, votes, and of: the number of nodes.
boost::json::object json_of(lock_view const&);
/// The fields name, state, owner, note, since, age_ms, ttl_ms, error.
boost::json::object json_of(node_view const&);

}  // namespace redlock::cli
