#include "events/shown_name.hpp"

#include "core/key.hpp"

#include <algorithm>
#include <charconv>

namespace redlock::inline v1::events {

std::size_t printable_size(std::string_view text) noexcept
{
    auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    auto const first = byte(0);
    if (first < 0x80)
        return first >= 0x20 && first != 0x7f;
    std::size_t const size = first >= 0xc2 && first < 0xe0   ? 2
                             : first >= 0xe0 && first < 0xf0 ? 3
                             : first >= 0xf0 && first < 0xf5 ? 4
                                                             : 0;
    for (std::size_t i = 1; i < size; ++i) {
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
    }
    // The second byte excludes control characters, longer forms than necessary, surrogates, and numbers above U+10FFFF.
    auto const second = byte(1);
    bool const is_too_low = (first == 0xc2 && second < 0xa0) || (first == 0xe0 && second < 0xa0)
                            || (first == 0xf0 && second < 0x90);
    bool const is_too_high = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
    return is_too_low || is_too_high ? 0 : size;
}

std::string in_one_line(std::string_view text)
{
    std::string line;
    while (!text.empty()) {
        auto const size = printable_size(text);
        line += size > 0 ? text.substr(0, size) : std::string_view("?");
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return line;
}

shown_name::shown_name(resource_set const& resources, bool any) noexcept
{
    auto const first = resources.size() > 0 ? std::string_view(resources.names().front()) : std::string_view();
    auto const name = core::without_upgrade_mark(first);
    add(any && resources.size() > 1 ? "any of \"" : name != first ? "the right to upgrade \"" : "\"");
    add_name(name);
    add("\"");
    if (resources.size() < 2)
        return;
    char digits[20];
    add(" and ");
    add({digits, std::to_chars(digits, digits + sizeof digits, resources.size() - 1).ptr});
    add(" more");
}

void shown_name::add_name(std::string_view resource) noexcept
{
    auto const end = size_ + size_max;
    while (!resource.empty()) {
        auto const size = printable_size(resource);
        auto const piece = size > 0 ? resource.substr(0, size) : std::string_view("?");
        if (size_ + piece.size() > end) {
            add("…");
            return;
        }
        add(piece);
        resource.remove_prefix(std::max<std::size_t>(size, 1));
    }
}

void shown_name::add(std::string_view piece) noexcept
{
    std::copy(piece.begin(), piece.end(), text_ + size_);
    size_ += piece.size();
}

}  // namespace redlock::events
