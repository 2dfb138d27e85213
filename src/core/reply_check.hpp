#pragma once

#include "core/fencing.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

// A server may answer anything. These are the bounds of the numbers in its reply.

/// Whether a counter of a server is a fencing token.
constexpr bool is_fencing_token(std::uint64_t counter) noexcept { return counter != 0 && counter < fence_end; }

/// The token that a node has raised its counter to, for a round that has proposed @p proposed. 0: the node did not
/// raise its counter for this round, because @p counter is lower, or is no token.
constexpr std::uint64_t token_raised_by(std::uint64_t proposed, std::uint64_t counter) noexcept
{
    return counter < proposed || counter >= fence_end ? 0 : counter;
}

/// The keys of a command. A reply names a key by its index, and may name only keys of its command.
class key_bounds {
public:
    constexpr explicit key_bounds(std::size_t keys) noexcept : keys_(keys) {}

    constexpr bool has(std::size_t index) const noexcept { return index < keys_; }

    /// A reply says that the first @p told keys have a property. Returns how many keys these can be.
    constexpr std::uint32_t first(std::uint32_t told) const noexcept
    {
        return static_cast<std::uint32_t>(std::min<std::size_t>(told, keys_));
    }

private:
    std::size_t keys_;
};

}  // namespace redlock::core
