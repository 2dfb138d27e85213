#pragma once

#include "cli/server.hpp"

#include <redlock/report.hpp>

#include <boost/json/object.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::cli {

/// What a lock is as far as the nodes tell, or what a node has at the key of one.
enum class lock_state : std::uint8_t {
    unknown,  ///< too few have answered to tell
    free,
    partial,  ///< some nodes have a value, and no majority the same one: it is being acquired, given back, or left
              ///< behind
    held,
    shared,
    foreign,  ///< by something else than this library: whoever it is leaves no label
};

/// "unknown", "free", …
std::string_view to_string(lock_state);

/// What one node has at the key of a lock.
struct node_view {
    std::string name{};
    lock_state state = lock_state::unknown;
    std::string owner{};
    std::string value{};                             ///< as far as it was asked for
    std::optional<std::chrono::milliseconds> ttl{};  ///< of what it has; nothing: it has no end
    std::string error{};  ///< why it is unknown; or, of a foreign one, why it has no value: it is no string
};

/// A lock, as all nodes together tell of it: old the moment it is made.
struct lock_view {
    std::string key{};
    lock_state state = lock_state::unknown;
    lock_state has = lock_state::free;  ///< what most of the nodes have that have anything: held, shared or foreign
    std::string owner{};                ///< of that; empty: it leaves no label
    std::string value{};
    std::size_t votes = 0;                           ///< how many nodes have that
    std::optional<std::chrono::milliseconds> ttl{};  ///< for how long a majority will, or of a partial one anybody;
                                                     ///< nothing: for ever
    std::vector<node_view> nodes{};
    std::size_t waiting = 0;  ///< processes that wait for it, where that was asked

    bool is_there() const noexcept { return votes > 0; }
};

/// What a server has answered to GET, or GETRANGE, and PTTL.
node_view view_of(std::string name, reply const& value, reply const& ttl);

/// What the nodes together tell.
lock_view lock_view_of(std::string key, std::vector<node_view> nodes);

/// The same, as the library has judged it.
lock_view view_of(lock_info const&);

/// Who has it, for people: "web-3:4121", "a client without a name"; nothing if nobody has. @param has  held, shared or
/// foreign
std::string holder_of(lock_state has, std::string_view owner);

/// "7.5 s", "for ever"; nothing if nobody has it.
std::string ttl_of(lock_state has, std::optional<std::chrono::milliseconds>);

/// key, state, owner, ttl_ms, votes, nodes: how many there are.
boost::json::object json_of(lock_view const&);
/// name, state, owner, ttl_ms, error
boost::json::object json_of(node_view const&);

}  // namespace redlock::cli
