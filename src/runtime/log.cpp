#include "runtime/log.hpp"

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace redlock::inline v0 {

void log_to_stderr(log_level level, std::string_view line) noexcept
{
    if (level == log_level::debug)
        return;
    try {
        auto const text = fmt::format("redlock {}: {}\n", to_string(level), line);
        std::fwrite(text.data(), 1, text.size(), stderr);  // in one piece
    } catch (...) {  // out of memory: a line less
    }
}

namespace detail {

user_log::user_log(strand const& on, function log) : log_(std::move(log)), calls_(std::make_shared<user_calls>(on)) {}

user_log::function user_log::as_function()
{
    if (!log_)
        return {};
    return [self = shared_from_this()](log_level level, std::string_view text) { self->add(level, clock::now(), text); };
}

void user_log::add(log_level level, clock::time_point now, std::string_view text) noexcept
{
    if (!log_)
        return;
    try {
        auto& a = level == log_level::debug ? debug_ : others_;
        if (a.since == clock::time_point::min() || now - a.since >= std::chrono::seconds(1)) {
            if (auto const left_out = std::exchange(a, {.since = now}).left_out) {
                put(level, fmt::format("{} lines were left out", left_out));
                ++a.used;
            }
        }
        if (++a.used < lines_max)
            put(level, text);
        else if (a.left_out++ == 0)
            put(level, fmt::format("more than {} lines in a second: the others are left out until it is over", lines_max - 1));
    } catch (...) {  // out of memory: a line less
    }
}

void user_log::put(log_level level, std::string_view text)
{
    calls_->add([self = shared_from_this(), level, line = std::string(text)] { self->log_(level, line); });
}

void user_log::end(std::function<void()> then)
{
    for (auto const& [level, kind] : {std::pair(log_level::debug, &debug_), std::pair(log_level::warning, &others_)}) {
        if (kind->left_out > 0)
            put(level, fmt::format("{} lines were left out", std::exchange(kind->left_out, 0)));
    }
    calls_->end(std::move(then));
}

}  // namespace detail
}  // namespace redlock
