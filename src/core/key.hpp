#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::core {

/// A lock's value on the servers: 128 random bits, which make it unique, and a label for operators.
std::string make_token(std::uint64_t high, std::uint64_t low, std::string_view owner);

/// The label in @p token, or nothing if a client of another kind wrote it.
std::string_view owner_in(std::string_view token) noexcept;

}  // namespace redlock::core
