#pragma once

#include <redlock/node.hpp>

#include <charconv>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::stores::kit {

/// The content of a lock's key in a store that has no ttl for each key.
struct content {
    std::string value{};
    std::optional<std::chrono::milliseconds> ttl{};  ///< nothing: another program wrote the key
};

/// Reads a counter. @return 0 if @p text does not begin with a number
inline std::uint64_t to_counter(std::string_view text)
{
    std::uint64_t counter = 0;
    std::from_chars(text.data(), text.data() + text.size(), counter);
    return counter;
}

/// A command with one key was denied: the reply tells of the key in its own members, not in @ref node_reply::taken.
inline void tell_of_only_key(node_reply& r, std::string value)
{
    r.text = std::move(value);
    r.remaining = r.taken.front().remaining;
    r.handed_on = r.taken.front().handed_on;
    r.taken.clear();
}

}  // namespace redlock::stores::kit
