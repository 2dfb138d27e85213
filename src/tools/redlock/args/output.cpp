#include "tools/redlock/args/output.hpp"

#include "tools/redlock/args/node_urls.hpp"

#include <boost/json/serialize.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstdio>
#include <poll.h>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace redlock::cli {

namespace {

struct character {
    std::size_t size;  // in bytes; 0: invalid UTF-8
    char32_t code;
};

// The first character of @p text, which must not be empty.
character character_at(std::string_view text)
{
    auto const first = static_cast<unsigned char>(text.front());
    std::size_t const size = first < 0x80   ? 1
                             : first < 0xc2 ? 0
                             : first < 0xe0 ? 2
                             : first < 0xf0 ? 3
                             : first < 0xf5 ? 4
                                            : 0;
    if (size == 0 || size > text.size())
        return {};
    char32_t code = size == 1 ? first : first & (0x7fu >> size);
    for (char const c : text.substr(1, size - 1)) {
        if ((c & 0xc0) != 0x80)
            return {};
        code = code << 6 | (static_cast<unsigned char>(c) & 0x3f);
    }
    // UTF-8 permits only the shortest form of a character.
    bool const is_short = (size == 3 && code < 0x800) || (size == 4 && code < 0x10000);
    bool const is_none = (code >= 0xd800 && code < 0xe000) || code > 0x10ffff;
    return is_short || is_none ? character() : character{size, code};
}

// Control characters, and characters that change the direction of the text that follows.
bool acts_on_a_terminal(char32_t c)
{
    return c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
}

}  // namespace

table::table(std::vector<std::string> header) { add(std::move(header)); }

void table::add(std::vector<std::string> line) { lines_.push_back(std::move(line)); }

std::string table::text(bool bold) const { return table(*this).take_text(bold); }

std::string table::take_text(bool bold)
{
    for (auto const& line : lines_) {
        widths_.resize(std::max(widths_.size(), line.size()));
        for (std::size_t i = 0; i < line.size(); ++i)
            widths_[i] = std::max(widths_[i], width_of(line[i]));
    }
    std::string all;
    for (auto const& line : lines_) {
        std::string row;
        for (std::size_t i = 0; i < line.size(); ++i)
            row += fmt::format("{}{:{}}", line[i], "", i + 1 == line.size() ? 0 : widths_[i] - width_of(line[i]) + 2);
        row.erase(row.find_last_not_of(' ') + 1);
        all += bold && std::exchange(has_header_, false) ? fmt::format("\033[1m{}\033[0m\n", row) : row + '\n';
    }
    lines_.clear();
    has_header_ = false;
    return all;
}

// JSON itself demands escapes only up to U+001F.
std::string json_text(boost::json::value const& v)
{
    auto const valid = valid_utf8(boost::json::serialize(v));
    std::string shown;
    for (std::string_view text = valid; !text.empty();) {
        auto const [size, code] = character_at(text);
        if (acts_on_a_terminal(code))
            shown += fmt::format("\\u{:04x}", static_cast<std::uint32_t>(code));
        else
            shown += text.substr(0, size);
        text.remove_prefix(size);
    }
    return shown;
}

std::string json_line(boost::json::object const& fields)
{
    boost::json::object document{{"schema", 1}};
    document.insert(fields.begin(), fields.end());
    return json_text(document) + '\n';
}

void print_json(boost::json::object const& fields) { print(json_line(fields)); }

std::string in_words(std::chrono::milliseconds t)
{
    auto const seconds = static_cast<double>(t.count()) / 1000;
    if (t < std::chrono::seconds(1))
        return fmt::format("{} ms", t.count());
    if (t < std::chrono::minutes(2))
        return fmt::format("{:.{}f} s", seconds, t < std::chrono::seconds(10) ? 1 : 0);
    return t < std::chrono::hours(2) ? fmt::format("{:.0f} min", seconds / 60)
                                     : fmt::format("{:.0f} h", seconds / 3600);
}

std::string printable(std::string_view text)
{
    std::string shown;
    while (!text.empty()) {
        auto const [size, code] = character_at(text);
        auto const bytes = text.substr(0, std::max<std::size_t>(size, 1));
        if (size > 0 && !acts_on_a_terminal(code))
            shown += bytes;
        else
            for (unsigned char const byte : bytes)
                shown += fmt::format("\\x{:02x}", byte);
        text.remove_prefix(bytes.size());
    }
    return shown;
}

void say(std::string_view line) noexcept
{
    std::array<char, PIPE_BUF> text;  // a pipe that poll reports as writable has room for PIPE_BUF bytes
    auto const size = std::min(line.size(), text.size() - 1);
    *std::copy_n(line.data(), size, text.data()) = '\n';
    pollfd room{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (::poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0) [[maybe_unused]]
        auto const written = ::write(STDERR_FILENO, text.data(), size + 1);
}

bool write_within(int file, std::string_view text, std::chrono::milliseconds limit) noexcept
{
    using std::chrono::steady_clock;
    auto const end = steady_clock::now() + limit;
    while (!text.empty()) {
        auto const left = std::chrono::ceil<std::chrono::milliseconds>(end - steady_clock::now());
        if (left.count() < 0)
            return false;
        pollfd room{.fd = file, .events = POLLOUT, .revents = 0};
        if (::poll(&room, 1, static_cast<int>(left.count())) != 1)
            continue;
        auto const written = ::write(file, text.data(), std::min<std::size_t>(text.size(), PIPE_BUF));
        if (written < 0 && errno != EINTR && errno != EAGAIN)
            return true;
        text.remove_prefix(written > 0 ? static_cast<std::size_t>(written) : 0);
    }
    return true;
}

void remark(std::string_view text) noexcept { std::fwrite(text.data(), 1, text.size(), stderr); }

std::string valid_utf8(std::string_view text)
{
    std::string valid;
    while (!text.empty()) {
        auto const size = character_at(text).size;
        valid += size > 0 ? text.substr(0, size) : "\xef\xbf\xbd";
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return valid;
}

std::string escaped(std::string_view text, std::string_view special)
{
    std::string all;
    for (char const c : text) {
        if (special.find(c) != special.npos)
            all += '\\';
        all += c;
    }
    return all;
}

void print(std::string const& text)
{
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw std::system_error(errno, std::generic_category(), "the result could not be written");
}

}  // namespace redlock::cli
