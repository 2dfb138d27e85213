#include "tools/output.hpp"

#include <boost/json/serialize.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <poll.h>
#include <string_view>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace redlock::tools {

namespace {

// In columns of a terminal: of UTF-8, what begins a character.
std::size_t width_of(std::string_view text)
{
    return static_cast<std::size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xc0) != 0x80; }));
}

}  // namespace

table::table(std::vector<std::string> header)
{
    add(std::move(header));
}

void table::add(std::vector<std::string> line)
{
    lines_.push_back(std::move(line));
}

std::string table::text(bool bold) const
{
    std::vector<std::size_t> widths;
    for (auto const& line : lines_) {
        widths.resize(std::max(widths.size(), line.size()));
        for (std::size_t i = 0; i < line.size(); ++i)
            widths[i] = std::max(widths[i], width_of(line[i]));
    }
    std::string all;
    for (auto const& line : lines_) {
        std::string row;
        for (std::size_t i = 0; i < line.size(); ++i)
            row += fmt::format("{}{:{}}", line[i], "", i + 1 == line.size() ? 0 : widths[i] - width_of(line[i]) + 2);
        row.erase(row.find_last_not_of(' ') + 1);
        all += bold && &line == &lines_.front() ? fmt::format("\033[1m{}\033[0m\n", row) : row + '\n';
    }
    return all;
}

void print_json(boost::json::object const& fields)
{
    boost::json::object document{{"schema", 1}};
    document.insert(fields.begin(), fields.end());
    print(boost::json::serialize(document) + '\n');
}

std::string in_words(std::chrono::milliseconds t)
{
    auto const seconds = static_cast<double>(t.count()) / 1000;
    if (t < std::chrono::seconds(1))
        return fmt::format("{} ms", t.count());
    if (t < std::chrono::minutes(2))
        return fmt::format("{:.{}f} s", seconds, t < std::chrono::seconds(10) ? 1 : 0);
    return t < std::chrono::hours(2) ? fmt::format("{:.0f} min", seconds / 60) : fmt::format("{:.0f} h", seconds / 3600);
}

std::string printable(std::string_view text)
{
    std::string shown;
    for (char const c : text) {
        auto const byte = static_cast<unsigned char>(c);
        shown += byte < 0x20 || byte == 0x7f ? fmt::format("\\x{:02x}", byte) : std::string(1, c);
    }
    return shown;
}

void say(std::string_view line) noexcept
{
    std::array<char, PIPE_BUF> text;  // for which there is room in a pipe that has any
    auto const size = std::min(line.size(), text.size() - 1);
    *std::copy_n(line.data(), size, text.data()) = '\n';
    pollfd room{.fd = STDERR_FILENO, .events = POLLOUT, .revents = 0};
    if (::poll(&room, 1, 0) == 1 && (room.revents & POLLOUT) != 0)
        [[maybe_unused]] auto const written = ::write(STDERR_FILENO, text.data(), size + 1);
}

void print(std::string const& text)
{
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw std::system_error(errno, std::generic_category(), "what was found could not be written");
}

}  // namespace redlock::tools
