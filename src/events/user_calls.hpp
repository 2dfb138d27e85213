#pragma once

#include "runtime/inline_function.hpp"
#include "runtime/strand.hpp"

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>
#include <vector>

namespace redlock::inline v1::events {

/** The queue of calls of the user's functions, in their order. The library does not wait for these calls.

    The calls run in a pass of the event loop of their own, so they never find the library in the middle of a change.
    Such a function may throw, destroy the manager, or lock a mutex that a caller of the library holds. On the strand.
*/
class user_calls : public std::enable_shared_from_this<user_calls> {
public:
    explicit user_calls(runtime::strand const& on) : strand_(on) {}

    /// If there is no memory, drops the call and those that still wait.
    template <class F>
    void add(F&& call) noexcept
    {
        if (ended_)
            return;
        try {
            auto slot = free_slot();
            *slot = std::forward<F>(call);
            put(std::move(slot));
        } catch (...) {  // out of memory, or the execution context has ended
            calls_.clear();
        }
    }

    /// Calls @p then after all calls, perhaps immediately. No call follows it.
    void end(std::function<void()> then);
    /// The execution context ends.
    void abandon() noexcept;

private:
    // A slot is large enough for an event and its owner. Slots are reused, so that an event needs no allocation.
    using slot = runtime::inline_function<void(), 192>;
    using slots = std::vector<std::unique_ptr<slot>>;

    std::unique_ptr<slot> free_slot();
    void put(std::unique_ptr<slot>);
    void make() noexcept;
    void recycle(std::unique_ptr<slot>) noexcept;

    static constexpr std::size_t free_max = 256;

    runtime::strand const strand_;
    slots calls_;
    slots free_;
    slots spare_;  // empty: keeps the memory of the previous pass
    bool ended_ = false;
    std::function<void()> then_;
};

}  // namespace redlock::events
