#include "runtime/event_log.hpp"

#include <cstdio>
#include <exception>

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

event_log::event_log(strand const& on, log_function log, std::shared_ptr<observer> to)
    : log_(std::move(log)), observer_(std::move(to)), calls_(std::make_shared<user_calls>(on))
{
}

log_function event_log::as_function()
{
    if (!log_ && !observer_)
        return {};
    return [self = shared_from_this()](log_level level, std::string_view text) { self->add(level, clock::now(), text); };
}

void event_log::add(log_level level, clock::time_point now, std::string_view line) noexcept
{
    if (log_ || observer_)
        limit(level, now, line, true);
}

void event_log::limit(log_level level, clock::time_point now, std::string_view line, bool is_for_observer) noexcept
{
    try {
        auto& a = level == log_level::debug ? debug_ : others_;
        if (a.since == clock::time_point::min() || now - a.since >= std::chrono::seconds(1)) {
            if (auto const left_out = std::exchange(a, {.since = now}).left_out) {
                put(level, now, fmt::format("{} lines were left out", left_out), true);
                ++a.used;
            }
        }
        if (++a.used < lines_max)
            put(level, now, line, is_for_observer);
        else if (a.left_out++ == 0)
            put(level, now, fmt::format("more than {} lines in a second: the others are left out until it is over", lines_max - 1), true);
    } catch (...) {  // out of memory: a line less
    }
}

void event_log::put(log_level level, clock::time_point now, std::string_view line, bool is_for_observer)
{
    auto const text = std::make_shared<std::string const>(line);
    if (log_)
        calls_->add([self = shared_from_this(), level, text] { self->log_(level, *text); });
    if (observer_ && is_for_observer)
        tell(&observer::log_line, {.when = now, .level = level, .text = *text}, text);
}

// It is logged once: an observer that throws may throw at each event.
void event_log::observer_threw(clock::time_point now) noexcept
{
    if (std::exchange(observer_threw_, true))
        return;
    std::string what = "an exception that is no std::exception";
    try {
        throw;
    } catch (std::exception const& e) {
        what = e.what();
    } catch (...) {
    }
    add(log_level::error, now, "config::observer has thrown: {}. Its later exceptions are not logged", what);
}

void event_log::end(std::function<void()> then)
{
    for (auto const& [level, kind] : {std::pair(log_level::debug, &debug_), std::pair(log_level::warning, &others_)}) {
        if (kind->left_out > 0)
            put(level, kind->since, fmt::format("{} lines were left out", std::exchange(kind->left_out, 0)), true);
    }
    calls_->end(std::move(then));
}

}  // namespace detail
}  // namespace redlock
