#include "log.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <utility>

namespace redlock::detail {

user_log::user_log(strand const& on, function log) : strand_(on), log_(std::move(log)) {}

user_log::function user_log::as_function()
{
    if (!log_)
        return {};
    return [self = shared_from_this()](log_level level, std::string_view text) { self->add(level, text); };
}

void user_log::add(log_level level, std::string_view text) noexcept
{
    if (ended_)
        return;
    try {
        lines_.push_back({level, std::string(text)});
        if (lines_.size() > 1)
            return;
        // On the inner executor first: a turn of the strand may be under way in a call of the user's.
        asio::post(strand_.inner(), [self = shared_from_this()] {
            asio::dispatch(self->strand_, [self] { self->deliver(); });
        });
    } catch (...) {  // out of memory, or the execution context has gone
        lines_.clear();
    }
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
    ended_ = true;
    if (lines_.empty())
        then();
    else
        then_ = std::move(then);
}

void user_log::drop() noexcept
{
    ended_ = true;
    lines_.clear();
    then_ = nullptr;
}

}  // namespace redlock::detail
