#pragma once

#include "runtime/strand.hpp"

#include <deque>
#include <functional>
#include <memory>
#include <utility>

namespace redlock::inline v0::detail {

/** Calls of functions of the user's that nobody waits for, in their order.

    They are made in a pass of the event loop of their own: such a function may throw, destroy the manager, or take a mutex that a caller
    of the library holds, and meets nothing that is half done. On the strand.
*/
class user_calls : public std::enable_shared_from_this<user_calls> {
public:
    explicit user_calls(strand const& on) : strand_(on) {}

    /// Out of memory: the call is not made.
    template <class F>
    void add(F&& call) noexcept
    {
        if (ended_)
            return;
        try {
            put(std::forward<F>(call));
        } catch (...) {  // out of memory, or the execution context has gone
            calls_.clear();
        }
    }

    /// Calls @p then when all calls have been made, which may be at once. None comes after it.
    void end(std::function<void()> then);
    /// The execution context goes.
    void abandon() noexcept;

private:
    void put(std::function<void()>);
    void make() noexcept;

    strand const strand_;
    std::deque<std::function<void()>> calls_;
    bool ended_ = false;
    std::function<void()> then_;
};

}  // namespace redlock::detail
