#include "tools/redlock/commands/screen.hpp"

#include "tools/redlock/args/output.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <string>
#include <string_view>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>

namespace redlock::cli {

namespace {

constexpr std::string_view other_screen = "\033[?1049h\033[?25l", own_screen = "\033[?25h\033[?1049l";
constexpr std::string_view home = "\033[H", rest_of_line = "\033[K", rest_of_screen = "\033[J", bold = "\033[1m",
                           plain = "\033[0m";

// The part of @p text that fits into @p columns.
std::string_view begin_of(std::string_view text, std::size_t columns)
{
    std::size_t end = 0;
    for (; end < text.size(); ++end) {
        bool const begins = (text[end] & 0xc0) != 0x80;
        if (begins && columns-- == 0)
            break;
    }
    return text.substr(0, end);
}

winsize size_of_terminal()
{
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row == 0 || size.ws_col == 0)
        size = {24, 80, 0, 0};
    return size;
}

}  // namespace

screen::screen(bool has_color) : has_color_(has_color) { enter(); }

screen::~screen() { leave(); }

void screen::enter()
{
    has_keys_ = ::tcgetattr(STDIN_FILENO, &before_) == 0;
    if (has_keys_) {
        auto raw = before_;
        raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);
        ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
    }
    print(std::string(other_screen));
}

// The destructor calls it, so write errors are ignored.
void screen::leave() const
{
    std::fwrite(own_screen.data(), 1, own_screen.size(), stdout);
    std::fflush(stdout);
    if (has_keys_)
        ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void screen::show(std::vector<screen_line> lines)
{
    lines_ = std::move(lines);
    redraw();
}

// One write replaces the old text without clearing the screen first, so the screen does not flicker.
void screen::redraw() const
{
    auto const size = size_of_terminal();
    std::string text(home);
    for (std::size_t i = 0; i < std::min<std::size_t>(lines_.size(), size.ws_row); ++i) {
        auto const& l = lines_[i];
        text += i > 0 ? "\r\n" : "";
        text += has_color_ && l.bold ? bold : "";
        text += begin_of(l.text, size.ws_col);
        text += has_color_ && l.bold ? plain : "";
        text += rest_of_line;
    }
    print(text.append(rest_of_screen));
}

void screen::suspend()
{
    leave();
    ::raise(SIGSTOP);
    enter();
    redraw();
}

}  // namespace redlock::cli
