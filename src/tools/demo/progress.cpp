#include "tools/demo/progress.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <sys/ioctl.h>
#include <system_error>
#include <unistd.h>

namespace redlock::demo {

namespace {

using namespace std::chrono_literals;

constexpr int width = 80;  // columns of the lines that are redrawn

bool is_set(char const* variable)
{
    auto const* value = std::getenv(variable);
    return value && *value;
}

/// Whether lines can be redrawn. On a narrower terminal they would wrap, and erase() would leave a part of them.
bool can_draw()
{
    auto const* terminal = std::getenv("TERM");
    if (!::isatty(STDOUT_FILENO) || !terminal || std::string_view(terminal) == "dumb")
        return false;
    winsize size{};
    // A terminal that does not know its width reports 0.
    return ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && (size.ws_col == 0 || size.ws_col >= width);
}

std::string bar(std::int64_t part, std::int64_t whole)
{
    constexpr std::int64_t cells = 30;
    auto const full = std::clamp<std::int64_t>((part * cells + whole - 1) / whole, 0, cells);
    std::string text;
    for (std::int64_t i = 0; i < cells; ++i)
        text += i < full ? "█" : "░";
    return text;
}

std::string plain_state(std::vector<servers::state> const& states)
{
    auto const up = std::count(states.begin(), states.end(), servers::state::up);
    return states.empty() ? std::string() : fmt::format(", {} of {} servers up", up, states.size());
}

}  // namespace

progress::progress() : drawing_(can_draw()), colours_(drawing_ && !is_set("NO_COLOR"))
{
    std::setvbuf(stdout, nullptr, _IOLBF, 0);
}

void progress::begin_act(std::string_view title, std::string_view explanation)
{
    erase();
    write(fmt::format("\n{}\n{}\n", paint("1", title), explanation));
    act_began_ = steady::now();
    next_ = act_began_ + (drawing_ ? 0s : 1s);
}

void progress::show(shop const& s, std::vector<servers::state> const& states)
{
    auto const now = steady::now();
    if (now < next_)
        return;
    next_ = now + (drawing_ ? 100ms : 1000ms);
    auto const seconds = std::chrono::duration<double>(now - act_began_).count();
    if (drawing_) {
        auto const lines = two_lines(s, states, seconds);
        erase();
        write(lines);
        drawn_ = true;
    } else {
        write(fmt::format("  {:4.1f} s  sold {}, left {}, waiting {}, sent away {}{}\n", seconds, s.sold(), s.stock(),
                          s.waiting.load(), s.sent_away.load(), plain_state(states)));
    }
}

std::string progress::two_lines(shop const& s, std::vector<servers::state> const& states, double seconds) const
{
    auto const left = s.stock();
    return fmt::format("  {} {:>6} left   servers {}   {:5.1f} s\n"
                       "  sold {:<6} waiting {:<6} sent away {:<6} no_quorum {}",
                       paint("36", bar(left, std::max(left, s.first_delivery))), left, dots(states), seconds, s.sold(),
                       s.waiting.load(), s.sent_away.load(), s.no_quorum.load());
}

std::string progress::dots(std::vector<servers::state> const& states) const
{
    std::string text;
    for (auto const state : states) {
        switch (state) {
        case servers::state::up:
            text += paint("32", "●");
            break;
        case servers::state::paused:
            text += paint("33", "◐");
            break;
        case servers::state::killed:
            text += paint("31", "○");
            break;
        }
    }
    return text;
}

void progress::event(std::string_view text)
{
    erase();
    auto const seconds = std::chrono::duration<double>(steady::now() - act_began_).count();
    write(fmt::format("  {:4.1f} s  {}\n", seconds, text));
}

void progress::claim(bool held, std::string_view text)
{
    erase();
    ++claims_;
    failed_ += held ? 0 : 1;
    if (drawing_)
        write(fmt::format("  {} {}\n", held ? paint("32", "✔") : paint("1;31", "✘"), text));
    else
        write(fmt::format("  {:<7} {}\n", held ? "ok" : "FAILED", text));
}

void progress::summary(std::vector<act_result> const& results)
{
    erase();
    auto const head = fmt::format("{:<14}{:>7}{:>7}{:>7}{:>9}{:>10}{:>10}{:>8}{:>8}", "", "buyers", "stock", "sold",
                                  "oversold", "sent away", "no_quorum", "seconds", "sales/s");
    write(fmt::format("\n{}\n", paint("1", head)));
    for (auto const& r : results)
        write(fmt::format("{:<14}{:>7}{:>7}{:>7}{}{:>10}{:>10}{:>8.1f}{:>8.0f}\n", r.name, r.buyers, r.delivered,
                          r.sold, paint(r.oversold ? "31" : "32", fmt::format("{:>9}", r.oversold)), r.sent_away,
                          r.no_quorum, r.seconds, static_cast<double>(r.sold) / r.seconds));
    conclude();
}

void progress::print(std::string_view line)
{
    erase();
    write(fmt::format("{}\n", line));
}

void progress::conclude()
{
    if (failed_)
        write(fmt::format("\n{} of {} claims did not hold.\n", failed_, claims_));
    else
        write(fmt::format("\nAll {} claims held.\n", claims_));
}

void progress::erase()
{
    if (drawn_)
        write("\r\033[1A\033[J");  // the cursor is at the end of the second line
    drawn_ = false;
}

std::string progress::paint(std::string_view code, std::string_view text) const
{
    return colours_ ? fmt::format("\033[{}m{}\033[0m", code, text) : std::string(text);
}

void progress::write(std::string const& text)
{
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size() || std::fflush(stdout) != 0)
        throw std::system_error(errno, std::generic_category(), "cannot write to the standard output");
}

}  // namespace redlock::demo
