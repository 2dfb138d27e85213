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

namespace {

// What a cluster hashes: the text between the first braces, if there is any, or else all of it.
bool has_hash_tag(std::string_view key) noexcept
{
    auto const open = key.find('{');
    if (open == key.npos)
        return false;
    auto const close = key.find('}', open);
    return close != key.npos && close != open + 1;
}

}  // namespace

void put_fence_key(std::string& to, std::string_view key)
{
    to.clear();
    if (has_hash_tag(key))
        to.append(key);
    else
        to.append("{").append(key).append("}");
    to.append(":fence");
}

std::string fence_key(std::string_view key)
{
    std::string k;
    put_fence_key(k, key);
    return k;
}

void put_tombstone_key(std::string& to, std::string_view key, std::string_view token)
{
    to.assign(key).append(":gone:");
    if (!has_hash_tag(key))
        to.append("{").append(key).append("}:");
    to.append(token);
}

void put_wanted_key(std::string& to, std::string_view key)
{
    to.assign(key).append(":wanted");
    if (!has_hash_tag(key))
        to.append(":{").append(key).append("}");
}

void put_turn_key(std::string& to, std::string_view key)
{
    to.assign(key).append(":turn");
    if (!has_hash_tag(key))
        to.append(":{").append(key).append("}");
}

std::string turn_key(std::string_view key)
{
    std::string k;
    put_turn_key(k, key);
    return k;
}

std::string_view lock_of_turn_key(std::string_view key) noexcept
{
    using namespace std::string_view_literals;
    constexpr auto with_tag = ":turn"sv, without = ":turn:{"sv;
    if (key.ends_with(with_tag)) {
        auto const lock = key.substr(0, key.size() - with_tag.size());
        return has_hash_tag(lock) ? lock : std::string_view{};
    }
    auto const size = key.size() > without.size() ? (key.size() - without.size()) / 2 : 0;
    auto const lock = key.substr(0, size);
    bool const twice = key.size() == 2 * size + without.size() + 1 && key.substr(size, without.size()) == without
                       && key.substr(size + without.size(), size) == lock && key.back() == '}';
    return twice && !has_hash_tag(lock) ? lock : std::string_view{};
}

std::string tombstone_key(std::string_view key, std::string_view token)
{
    std::string k;
    put_tombstone_key(k, key, token);
    return k;
}

}  // namespace redlock::core
