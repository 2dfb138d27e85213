#include "locks/look/list_place.hpp"

#include <charconv>

namespace redlock::inline v1::locks {

namespace {

std::string_view take_word(std::string_view& text, char end)
{
    auto const at = text.find(end);
    auto const word = text.substr(0, at);
    text.remove_prefix(at == text.npos ? text.size() : at + 1);
    return word;
}

template <class Number>
std::optional<Number> read_number(std::string_view digits, int base)
{
    Number n = 0;
    auto const* const end = digits.data() + digits.size();
    auto const read = std::from_chars(digits.data(), end, n, base);
    return read.ec == std::errc() && read.ptr == end ? std::optional(n) : std::nullopt;
}

}  // namespace

std::string list_place::text() const
{
    auto text = std::to_string(node) + '-';
    for (auto const i : failed)
        text.append(i == *failed.begin() ? "" : ".").append(std::to_string(i));
    text += '-';
    for (unsigned char const c : on_node) {
        text += "0123456789abcdef"[c >> 4];
        text += "0123456789abcdef"[c & 15];
    }
    return text;
}

std::optional<list_place> list_place::read(std::string_view text, std::size_t nodes)
{
    list_place place;
    if (text.empty())
        return place;
    auto const node = read_number<std::size_t>(take_word(text, '-'), 10);
    auto failed = take_word(text, '-');
    if (!node || *node >= nodes || text.size() % 2 != 0)
        return std::nullopt;
    place.node = *node;
    while (!failed.empty()) {
        auto const i = read_number<std::size_t>(take_word(failed, '.'), 10);
        if (!i || *i >= nodes)
            return std::nullopt;
        place.failed.insert(*i);
    }
    for (; !text.empty(); text.remove_prefix(2)) {
        auto const byte = read_number<unsigned char>(text.substr(0, 2), 16);
        if (!byte)
            return std::nullopt;
        place.on_node += static_cast<char>(*byte);
    }
    return place;
}

}  // namespace redlock::locks
