#include "log.hpp"

#include <boost/asio/dispatch.hpp>
#include <boost/asio/post.hpp>

#include <deque>
#include <memory>
#include <string>
#include <utility>

namespace redlock::detail {

namespace {

class log_lines : public std::enable_shared_from_this<log_lines> {
public:
    log_lines(strand const& on, log_function log) : strand_(on), log_(std::move(log)) {}

    void add(log_level level, std::string_view text) noexcept
    {
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

private:
    struct line {
        log_level level;
        std::string text;
    };

    void deliver() noexcept
    {
        for (auto const& l : std::exchange(lines_, {})) {
            try {
                log_(l.level, l.text);
            } catch (...) {  // it must not throw; nobody else shall suffer for it
            }
        }
    }

    strand const strand_;
    log_function const log_;
    std::deque<line> lines_;
};

}  // namespace

log_function log_on(strand const& s, log_function log)
{
    if (!log)
        return {};
    return [lines = std::make_shared<log_lines>(s, std::move(log))](log_level level, std::string_view text) { lines->add(level, text); };
}

}  // namespace redlock::detail
