#include "tools/serve/target.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <utility>

namespace redlock::serve {

namespace {

std::optional<std::string> decoded(std::string_view text, bool is_query)
{
    if (text.find_first_of("%+") == text.npos)
        return std::string(text);
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (text[i] == '+' && is_query) {
            bytes += ' ';
        } else if (text[i] != '%') {
            bytes += text[i];
        } else {
            unsigned char byte = 0;
            auto const digits = text.substr(i + 1, 2);
            auto const read = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
            if (digits.size() != 2 || read.ptr != digits.data() + 2)
                return std::nullopt;
            bytes += static_cast<char>(byte);
            i += 2;
        }
    }
    return bytes;
}

std::string_view take_part(std::string_view& from, char mark)
{
    auto const at = from.find(mark);
    auto const part = from.substr(0, at);
    from.remove_prefix(at == from.npos ? from.size() : at + 1);
    return part;
}

}  // namespace

std::optional<target> target::read(std::string_view text)
{
    for (std::string_view const scheme : {"http://", "https://"}) {  // the absolute form, which proxies send
        if (text.starts_with(scheme))
            text.remove_prefix(std::min(text.find('/', scheme.size()), text.size()));
    }
    if (!text.starts_with('/'))
        return std::nullopt;
    target t;
    t.path.reserve(4);
    auto path = take_part(text, '?');
    path.remove_prefix(1);
    while (!path.empty()) {
        auto part = decoded(take_part(path, '/'), false);
        if (!part)
            return std::nullopt;
        t.path.push_back(std::move(*part));
    }
    while (!text.empty()) {
        auto pair = take_part(text, '&');
        auto name = decoded(take_part(pair, '='), true), value = decoded(pair, true);
        if (!name || !value)
            return std::nullopt;
        t.query.insert_or_assign(std::move(*name), std::move(*value));
    }
    return t;
}

}  // namespace redlock::serve
