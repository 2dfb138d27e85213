#include "core/key.hpp"

#include <algorithm>

namespace redlock::core {

namespace {

constexpr std::size_t random_digits = 32;

constexpr bool is_digit(char c) noexcept
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
}

void append_hex(std::string& to, std::uint64_t bits)
{
    char digits[16];
    for (int i = 15; i >= 0; --i, bits >>= 4)
        digits[i] = "0123456789abcdef"[bits & 15];
    to.append(digits, sizeof digits);
}

}  // namespace

std::string make_token(std::uint64_t high, std::uint64_t low, std::string_view owner)
{
    std::string token;
    token.reserve(random_digits + 1 + owner.size());
    append_hex(token, high);
    append_hex(token, low);
    token += ':';
    token += owner;
    return token;
}

std::string_view owner_in(std::string_view token) noexcept
{
    if (token.size() <= random_digits || token[random_digits] != ':')
        return {};
    auto const digits = token.substr(0, random_digits);
    return std::all_of(digits.begin(), digits.end(), is_digit) ? token.substr(random_digits + 1) : std::string_view{};
}

}  // namespace redlock::core
