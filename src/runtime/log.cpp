#include "runtime/log.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <fmt/format.h>

#include <cstdio>
#include <utility>

namespace redlock {

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

user_log::user_log(strand const& on, function log) : strand_(on), log_(std::move(log)) {}

user_log::function user_log::as_function()
{
    if (!log_)
        return {};
    return [self = shared_from_this()](log_level level, std::string_view text) { self->add(level, clock::now(), text); };
}

void user_log::add(log_level level, clock::time_point now, std::string_view text) noexcept
{
    if (ended_ || !log_)
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
    } catch (...) {  // out of memory, or the execution context has gone
        lines_.clear();
    }
}

void user_log::put(log_level level, std::string_view text)
{
    lines_.push_back({level, std::string(text)});
    if (lines_.size() > 1)
        return;
    // On the inner executor first: a shift of the strand may be under way in a call of the user's.
    asio::post(strand_.inner(), [self = shared_from_this()] {
        asio::dispatch(self->strand_, [self] { self->deliver(); });
    });
}

void user_log::deliver() noexcept
{
    for (auto const& l : std::exchange(lines_, {})) {
        try {
            log_(l.level, l.text);
        } catch (...) {  // it must not throw; nobody else shall suffer for it
        }
    }
    if (auto const then = std::exchange(then_, nullptr))
        then();
}

void user_log::end(std::function<void()> then)
{
    for (auto const& [level, kind] : {std::pair(log_level::debug, &debug_), std::pair(log_level::warning, &others_)}) {
        if (kind->left_out > 0)
            put(level, fmt::format("{} lines were left out", std::exchange(kind->left_out, 0)));
    }
    ended_ = true;
    if (lines_.empty())
        then();
    else
        then_ = std::move(then);
}

void user_log::abandon() noexcept
{
    ended_ = true;
    lines_.clear();
    then_ = nullptr;
}

}  // namespace detail
}  // namespace redlock
