#pragma once

#include "runtime/inline_function.hpp"
#include "runtime/strand.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace redlock::inline v0::runtime {

/** Calls of functions of the user's that nobody waits for, in their order.

    They are made in a pass of the event loop of their own: such a function may throw, destroy the manager, or take a
    mutex that a caller of the library holds, and meets nothing that is half done. On the strand.
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
            auto slot = free_slot();
            *slot = std::forward<F>(call);
            put(std::move(slot));
        } catch (...) {  // out of memory, or the execution context has gone
            calls_.clear();
        }
    }

    /// Calls @p then when all calls have been made, which may be at once. None comes after it.
    void end(std::function<void()> then);
    /// The execution context goes.
    void abandon() noexcept;

private:
    // Large enough for an event and its owner. Slots are used again, so that an event needs no memory of its own.
    using slot = inline_function<void(), 192>;
    using slots = std::vector<std::unique_ptr<slot>>;

    std::unique_ptr<slot> free_slot();
    void put(std::unique_ptr<slot>);
    void make() noexcept;
    void recycle(std::unique_ptr<slot>) noexcept;

    static constexpr std::size_t free_max = 256;

    strand const strand_;
    slots calls_;
    slots free_;
    slots spare_;  // no slots: the memory of the previous pass
    bool ended_ = false;
    std::function<void()> then_;
};

}  // namespace redlock::runtime
