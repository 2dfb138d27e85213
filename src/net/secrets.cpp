#include "net/secrets.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace redlock::net {

namespace {

constexpr std::size_t words_max = 160;
constexpr std::size_t short_secret = 4;
constexpr std::size_t searched_max = 2048;  // more than words_max, because hidden secrets shorten the text

constexpr std::size_t beginning_min = 4;  // a match of this length is hardly chance, if the quotation ends there
constexpr std::size_t long_piece = 8;

unsigned char lower(char c) noexcept { return static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

bool is_printable(char c) noexcept { return c >= 0x20 && c < 0x7f; }

struct character {
    char value;
    std::size_t length;  // of the encoded form
};

std::optional<character> hexadecimal(std::string_view text, std::size_t begin)
{
    auto const digits = text.substr(std::min(begin, text.size()), 2);
    unsigned value = 0;
    auto const [end, ec] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
    if (digits.size() != 2 || ec != std::errc() || end != digits.data() + 2)
        return std::nullopt;
    return character{static_cast<char>(value), begin + 2};
}

// The encoded character at the beginning of @p text, if there is one.
std::optional<character> decode(std::string_view text)
{
    if (text.front() == '%')
        return hexadecimal(text, 1);
    if (text.front() != '\\' || text.size() < 2)
        return std::nullopt;
    switch (text[1]) {
    case 'x':
        return hexadecimal(text, 2);
    case 'u':
        return text.substr(2, 2) == "00" ? hexadecimal(text, 4) : std::nullopt;
    case 'n':
        return character{'\n', 2};
    case 'r':
        return character{'\r', 2};
    case 't':
        return character{'\t', 2};
    case 'a':
        return character{'\a', 2};
    case 'b':
        return character{'\b', 2};
    default:
        return character{text[1], 2};
    }
}

bool ends_quotation(std::string_view rest)
{
    return rest.empty() || std::string_view("'\"`.\xe2").find(rest.front()) != std::string_view::npos;
}

// How many characters of @p text are the secret, or enough of its beginning. Each character may be encoded in several
// ways, and text that looks encoded may be literal. So the function follows all interpretations in parallel.
std::size_t matched(std::string_view text, std::string_view secret)
{
    std::vector<std::size_t> ends{0}, next;
    std::size_t piece = 0;
    for (std::size_t k = 0; k < secret.size(); ++k) {
        next.clear();
        for (auto const at : ends) {
            if (at == text.size())
                continue;
            if (lower(text[at]) == lower(secret[k]) || (text[at] == '?' && !is_printable(secret[k])))
                next.push_back(at + 1);
            if (auto const c = decode(text.substr(at)); c && lower(c->value) == lower(secret[k]))
                next.push_back(at + c->length);
        }
        if (next.empty())
            return piece;
        std::sort(next.begin(), next.end());
        next.erase(std::unique(next.begin(), next.end()), next.end());
        ends.swap(next);
        auto const read = k + 1;
        for (auto const at : ends) {
            if ((read >= beginning_min && ends_quotation(text.substr(at)))
                || (read >= long_piece && 2 * read >= secret.size()))
                piece = at;
        }
    }
    return ends.back();
}

}  // namespace

std::string without(std::string text, std::string_view secret)
{
    if (secret.empty())
        return text;
    std::string result;
    std::string_view rest = text;
    while (!rest.empty()) {
        if (auto const n = matched(rest, secret); n > 0) {
            result += "***";
            rest.remove_prefix(n);
        } else {
            result += rest.front();
            rest.remove_prefix(1);
        }
    }
    return result;
}

std::string presentable(std::string_view text, std::initializer_list<std::string_view> secrets)
{
    // "ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' …" would reveal the password.
    text = text.substr(0, text.find(", with args beginning with"));
    std::string words(text.substr(0, searched_max));
    for (auto const& s : secrets) {
        auto rest = without(words, s);
        if (rest != words && s.size() < short_secret)  // the gaps would reveal a short password
            return "(the server's message is hidden: the password is short and may be in it)";
        words = std::move(rest);
    }
    words.resize(std::min(words.size(), words_max));
    for (auto& c : words) {
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
            c = '?';
    }
    return words;
}

}  // namespace redlock::net
