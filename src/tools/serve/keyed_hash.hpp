#pragma once

#include <array>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

struct evp_md_ctx_st;

namespace redlock::serve {

/// HMAC-SHA-256 (RFC 2104): only somebody with the key can compute it. One thread at a time may use the object.
class keyed_hash {
public:
    using digest = std::array<unsigned char, 32>;

    explicit keyed_hash(std::string const& key);

    /// @param purpose hashes for different purposes are independent of each other; it has no byte 0
    digest operator()(std::string_view purpose, std::string_view text) const;

    /// The first 64 bits.
    std::uint64_t number(std::string_view purpose, std::string_view text) const;

    /// The first 64 bits as 16 hexadecimal digits.
    std::string digits(std::string_view purpose, std::string_view text) const;

private:
    struct freeing {
        void operator()(evp_md_ctx_st*) const noexcept;
    };
    using state = std::unique_ptr<evp_md_ctx_st, freeing>;

    static state made();
    static state after_block(std::string_view key, char pad);
    digest end_of(state const& begun, std::initializer_list<std::string_view> parts) const;

    // HMAC() looks the algorithm up and hashes the key at each call, which takes ten times as long.
    state inner_, outer_;  ///< after the first block, which depends on the key alone
    state now_;
};

/// Compares in a time that does not depend on where the texts differ.
bool is_same(std::string_view a, std::string_view b) noexcept;

}  // namespace redlock::serve
