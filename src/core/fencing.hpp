#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>

namespace redlock::core {

/// Tokens stay below: every number up to here is exact in the scripts' arithmetic, and in most languages'.
inline constexpr std::uint64_t fence_end = std::uint64_t(1) << 53;

/// For how long a tombstone stays: longer than a connection or a server that stands still keeps a request, usually.
inline constexpr std::chrono::milliseconds tombstone_life = std::chrono::minutes(10);

/** What the nodes' counters say, of those whose grants are in hand.

    The token is the highest. If a quorum has exactly that, every later acquisition meets a node that counts on from there;
    if not, a quorum of these nodes must be raised to it first.
*/
class fence_tally {
public:
    constexpr void add(std::uint64_t counter) noexcept
    {
        if (counter > token_) {
            token_ = counter;
            agreed_ = 0;
        }
        agreed_ += counter == token_;
    }

    constexpr std::uint64_t token() const noexcept { return token_; }
    constexpr std::size_t agreed() const noexcept { return agreed_; }

private:
    std::uint64_t token_ = 0;
    std::size_t agreed_ = 0;
};

/** From where a counter that has forgotten goes on: the wall clock, with who asks in the low bits, because two equal hints
    to nodes that forgot would be two equal tokens. Where no counter has forgotten it decides nothing, so it may be wrong.
*/
constexpr std::uint64_t fence_hint(std::uint64_t microseconds_since_1970, std::uint8_t who) noexcept
{
    auto const hint = ((microseconds_since_1970 & ~std::uint64_t(255)) | who) % fence_end;
    return hint == 0 ? 1 : hint;  // 0 would be no hint, and no fencing
}

}  // namespace redlock::core
