#include "core/glob.hpp"

#include <algorithm>

namespace redlock::core {

namespace {

using byte = unsigned char;

// Takes one member of a set from @p pattern: a byte, or a range.
bool take_member(std::string_view& pattern, byte c) noexcept
{
    auto const take = [&] {
        if (pattern.size() > 1 && pattern.front() == '\\')
            pattern.remove_prefix(1);
        auto const taken = static_cast<byte>(pattern.front());
        pattern.remove_prefix(1);
        return taken;
    };
    auto const first = take();
    if (pattern.size() < 2 || pattern[0] != '-' || pattern[1] == ']')
        return c == first;
    pattern.remove_prefix(1);
    auto const last = take();
    return std::min(first, last) <= c && c <= std::max(first, last);
}

// Takes a set, which begins behind its bracket.
bool take_set(std::string_view& pattern, byte c) noexcept
{
    bool const others = pattern.starts_with('^');
    pattern.remove_prefix(others ? 1 : 0);
    bool is_in = false;
    while (!pattern.empty() && pattern.front() != ']')
        is_in = take_member(pattern, c) || is_in;
    pattern.remove_prefix(pattern.empty() ? 0 : 1);
    return is_in != others;
}

// Takes the part of @p pattern that stands for one byte. @return whether @p c is such a byte
bool take_one(std::string_view& pattern, byte c) noexcept
{
    auto const special = pattern.front();
    if (special == '\\' && pattern.size() > 1)
        pattern.remove_prefix(1);
    auto const literal = static_cast<byte>(pattern.front());
    pattern.remove_prefix(1);
    return special == '?' || (special == '[' ? take_set(pattern, c) : literal == c);
}

}  // namespace

bool matches(std::string_view pattern, std::string_view text) noexcept
{
    // After a mismatch, the last star takes one more byte. Earlier stars need not take more.
    std::string_view behind_star, left_for_star;
    bool has_star = false;
    while (!text.empty() || !pattern.empty()) {
        if (pattern.starts_with('*')) {
            pattern.remove_prefix(1);
            has_star = true;
            behind_star = pattern;
            left_for_star = text;
            continue;
        }
        if (!text.empty() && !pattern.empty() && take_one(pattern, static_cast<byte>(text.front()))) {
            text.remove_prefix(1);
            continue;
        }
        if (!has_star || left_for_star.empty())
            return false;
        left_for_star.remove_prefix(1);
        pattern = behind_star;
        text = left_for_star;
    }
    return true;
}

std::string_view literal_head(std::string_view pattern) noexcept
{
    return pattern.substr(0, pattern.find_first_of("*?[\\"));
}

}  // namespace redlock::core
