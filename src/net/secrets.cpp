#include "net/secrets.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <vector>

namespace redlock::net {

namespace {

constexpr std::size_t words_max = 160;
constexpr std::size_t strong_min = 8;
constexpr std::size_t searched_max = 2048;  // more than words_max, because hidden secrets shorten the text

constexpr std::size_t beginning_min = 4;  // a match of this length is hardly chance, if the quotation ends there
constexpr std::size_t long_piece = 8;

unsigned char lower(char c) noexcept { return static_cast<unsigned char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c); }

bool is_printable(char c) noexcept { return c >= 0x20 && c < 0x7f; }

bool is_letter(char c) noexcept { return lower(c) >= 'a' && lower(c) <= 'z'; }

bool is_of_a_word(char c) noexcept { return is_letter(c) || (c >= '0' && c <= '9'); }

// A server's message may contain a weak secret by chance. Then a gap in well-known words would reveal the secret.
bool is_weak(std::string_view secret)
{
    return secret.size() < strong_min || std::all_of(secret.begin(), secret.end(), is_letter);
}

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

struct match {
    std::size_t length;  // 0: the text does not begin with the secret
    bool is_whole;       // false: only with the beginning of the secret
};

// How many characters at the beginning of @p text are the secret, or enough of its beginning. Each character may be
// encoded in several ways, and text that looks encoded may be literal. So the function follows all interpretations in
// parallel.
match matched(std::string_view text, std::string_view secret)
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
            return {piece, false};
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
    return {ends.back(), true};
}

// Whether a match at @p at, of @p length, begins and ends with a word. Encoded characters separate words.
bool is_word(std::string_view text, std::size_t at, std::size_t length)
{
    auto const is_after = [&](std::string_view mark) {  // and two digits
        return at >= mark.size() + 2 && text.substr(at - mark.size() - 2, mark.size()) == mark
               && hexadecimal(text, at - 2);
    };
    bool const is_encoded = is_after("%") || is_after("\\x") || is_after("\\u00");
    bool const begins = at == 0 || is_encoded || !is_of_a_word(text[at - 1]) || !is_of_a_word(text[at]);
    auto const end = at + length;
    return begins && (end == text.size() || !is_of_a_word(text[end]) || !is_of_a_word(text[end - 1]));
}

// Nothing: the gap would reveal the secret.
std::optional<std::string> masked(std::string_view text, std::string_view secret)
{
    std::string result;
    for (std::size_t at = 0; at < text.size();) {
        auto const found = secret.empty() ? match{} : matched(text.substr(at), secret);
        if (found.length == 0 || (is_weak(secret) && !is_word(text, at, found.length))) {
            result += text[at++];
            continue;
        }
        if (is_weak(secret) || !found.is_whole)
            return std::nullopt;
        result += "***";
        at += found.length;
    }
    return result;
}

}  // namespace

std::string without(std::string_view text, std::initializer_list<std::string_view> secrets)
{
    std::string words(text);
    for (auto const& s : secrets) {
        auto rest = masked(words, s);
        if (!rest)
            return "(the server's message is hidden, because it may contain the password; see the server's log)";
        words = std::move(*rest);
    }
    return words;
}

std::string presentable(std::string_view text, std::initializer_list<std::string_view> secrets)
{
    // "ERR unknown command 'HELLO', with args beginning with: '3' 'AUTH' …" would reveal the password.
    text = text.substr(0, text.find(", with args beginning with"));
    auto words = without(text.substr(0, searched_max), secrets);
    words.resize(std::min(words.size(), words_max));
    for (auto& c : words) {
        if (static_cast<unsigned char>(c) < 0x20 || static_cast<unsigned char>(c) >= 0x7f)
            c = '?';
    }
    return words;
}

std::string_view secret_of(std::string_view password, std::string_view user, std::string_view database)
{
    return password == user || password == database ? std::string_view() : password;
}

}  // namespace redlock::net
