#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::serve {

/// HMAC-SHA-256 (RFC 2104): only somebody with the key can compute it.
class keyed_hash {
public:
    using digest = std::array<unsigned char, 32>;

    explicit keyed_hash(std::string key) : key_(std::move(key)) {}

    /// @param purpose hashes for different purposes are independent of each other; it has no byte 0
    digest operator()(std::string_view purpose, std::string_view text) const;

    /// The first 64 bits.
    std::uint64_t number(std::string_view purpose, std::string_view text) const;

    /// The first 64 bits as 16 hexadecimal digits.
    std::string digits(std::string_view purpose, std::string_view text) const;

private:
    std::string key_;
};

/// Compares in a time that does not depend on where the texts differ.
bool is_same(std::string_view a, std::string_view b) noexcept;

}  // namespace redlock::serve
