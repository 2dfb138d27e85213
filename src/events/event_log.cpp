#include "events/event_log.hpp"

#include "events/shown_name.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <exception>

namespace redlock::inline v1 {

void log_to_stderr(log_level level, std::string_view line) noexcept
{
    if (level == log_level::debug)
        return;
    try {
        auto const text = fmt::format("redlock {}: {}\n", to_string(level), line);
        std::fwrite(text.data(), 1, text.size(), stderr);  // one call, so that lines do not mix
    } catch (...) {                                        // out of memory: the line is left out
    }
}

namespace events {

namespace {

// The log has a line about stalls of this length or more that have ended within the latest seconds.
constexpr std::chrono::milliseconds stall_before_warning{50};
constexpr std::chrono::seconds latest{5};

}  // namespace

event_log::event_log(std::shared_ptr<runtime::runtime> const& r, log_function log, std::shared_ptr<observer> to)
    : runtime_(r), log_(std::move(log)), observer_(std::move(to)), calls_(std::make_shared<user_calls>(r->strand()))
{
}

log_function event_log::as_function()
{
    if (!log_ && !observer_)
        return {};
    return
        [self = shared_from_this()](log_level level, std::string_view text) { self->add(level, clock::now(), text); };
}

void event_log::add(log_level level, clock::time_point now, std::string_view line) noexcept
{
    tell_stall_before(level);
    try {
        if (observer_) {
            auto const text = std::make_shared<std::string const>(line);
            tell(&observer::log_line, {.when = now, .level = level, .text = *text}, text);
        }
        if (log_)
            put(level, now, line);
    } catch (...) {  // out of memory: the line is left out
    }
}

void event_log::tell_stall_before(log_level level) noexcept
{
    if (level >= log_level::warning)
        tell_stall(stall_before_warning);
}

void event_log::tell_stall(clock::duration at_least) noexcept
{
    auto const r = runtime_.lock();
    if (!r)
        return;
    auto const now = r->now();
    auto const stall = r->stalled_since(now - latest, told_stalls_until_);
    if (stall < at_least)
        return;
    told_stalls_until_ = now;
    try {
        add(log_level::warning, now, runtime::about_stall(stall));
    } catch (...) {  // out of memory: the line is left out
    }
}

void event_log::put(log_level level, clock::time_point now, std::string_view line)
{
    auto& a = level == log_level::debug ? debug_ : others_;
    if (a.since == clock::time_point::min() || now - a.since >= std::chrono::seconds(1)) {
        if (auto const left_out = std::exchange(a, {.since = now}).left_out) {
            put_unlimited(level, fmt::format("{} lines were left out", left_out));
            ++a.used;
        }
    }
    if (++a.used < lines_max)
        put_unlimited(level, line);
    else if (a.left_out++ == 0)
        put_unlimited(level, fmt::format("more than {} lines in a second: the others are left out until it is over",
                                         lines_max - 1));
}

void event_log::put_unlimited(log_level level, std::string_view line)
{
    calls_->add([self = shared_from_this(), level, text = in_one_line(line)] { self->log_(level, text); });
}

// Logs only the first exception, because an observer that throws may throw at each event. Calls the log function
// directly: after the manager's last event, the queue takes no more calls.
void event_log::observer_threw(clock::time_point now) noexcept
try {
    if (std::exchange(observer_threw_, true))
        return;
    std::string what = "an exception that is no std::exception";
    try {
        throw;
    } catch (std::exception const& e) {
        what = e.what();
    } catch (...) {
    }
    auto const line = std::make_shared<std::string const>(in_one_line(
        fmt::format("manager_options::observer has thrown: {}. Its later exceptions are not logged", what)));
    if (observer_)
        tell(&observer::log_line, {.when = now, .level = log_level::error, .text = *line}, line);
    if (log_)
        log_(log_level::error, *line);
} catch (...) {  // out of memory, or the log function has thrown: the line is left out
}

void event_log::end(std::function<void()> then)
{
    for (auto const& [level, kind] : {std::pair(log_level::debug, &debug_), std::pair(log_level::warning, &others_)}) {
        if (kind->left_out > 0)
            put_unlimited(level, fmt::format("{} lines were left out", std::exchange(kind->left_out, 0)));
    }
    calls_->end(std::move(then));
}

}  // namespace events
}  // namespace redlock
