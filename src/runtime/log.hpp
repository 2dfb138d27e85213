#pragma once

#include "runtime/user_calls.hpp"

#include <redlock/clock.hpp>
#include <redlock/config.hpp>

#include <fmt/format.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::inline v0::detail {

/** A user's log function that can be used from anywhere on the strand.

    Whatever happens, its lines are not more than @ref lines_max each second, and as many of the level debug; how many were left out is
    told.
*/
class user_log : public std::enable_shared_from_this<user_log> {
public:
    using function = std::function<void(log_level, std::string_view)>;

    user_log(strand const&, function);

    static constexpr std::size_t lines_max = 100;

    void add(log_level, clock::time_point now, std::string_view line) noexcept;
    template <class Arg, class... Args>
    void add(log_level level, clock::time_point now, fmt::format_string<Arg, Args...> format, Arg&& arg, Args&&... args) noexcept
    {
        try {
            if (log_)
                add(level, now, fmt::format(format, std::forward<Arg>(arg), std::forward<Args>(args)...));
        } catch (...) {  // out of memory: a line less
        }
    }
    /// Tells how many lines were left out at last, and ends the calls.
    void end(std::function<void()> then);

    /// By which the lines reach it; for what is to come in one order with them.
    std::shared_ptr<user_calls> const& calls() const noexcept { return calls_; }

    /// The same as a function; empty if the user's is.
    function as_function();

private:
    // Of one kind of lines: how many there were since the second began, and how many were left out.
    struct allowance {
        clock::time_point since = clock::time_point::min();
        std::size_t used = 0;
        std::size_t left_out = 0;
    };

    void put(log_level, std::string_view);

    function const log_;
    std::shared_ptr<user_calls> const calls_;
    allowance debug_;
    allowance others_;
};

}  // namespace redlock::detail
