#pragma once

#include <redlock/inspect.hpp>

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

/// A lock according to all nodes. It may be outdated as soon as it is made.
struct lock_view {
    lock_info info{};
    lock_state state = lock_state::unknown;
    lock_state has = lock_state::free;  ///< the most frequent state of the nodes: held, shared or foreign; else free
    std::string value{};                ///< of the lock in that state, perhaps cut off
    hold_words about{};                 ///< in @ref value
    std::size_t votes = 0;              ///< how many nodes have that value
    /// How long a majority will have it; if the state is partial, how long any node will. Nothing: for ever.
    std::optional<std::chrono::milliseconds> ttl{};
    std::string etag{};  ///< of the holders, if a service has told of them

    bool is_there() const noexcept { return votes > 0; }
};

/// Combines the answers of all nodes: the result of `lock_manager::async_inspect`.
lock_view view_of(lock_info);

lock_state state_of(node_lock_info const&);

/// Nothing: the key does not expire.
std::optional<std::chrono::milliseconds> ttl_of(node_lock_info const&);

/// Whether a server refuses the password or a command. If so, the user must correct the configuration.
bool is_refused(error_code);

/// Whether a node whose state is unknown refuses.
bool is_refused(lock_info const&);

/// The error of a node, in the server's own words if it has said any. Empty: there is no error.
template <class Node>
std::string trouble_of(Node const& n)
{
    return n.error && n.message.empty() ? n.error.message() : n.message;
}

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
boost::json::object json_of(node_lock_info const&);

}  // namespace redlock::cli
