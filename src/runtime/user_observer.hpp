#pragma once

#include "runtime/user_calls.hpp"

#include <redlock/observer.hpp>

#include <memory>
#include <type_traits>
#include <utility>

namespace redlock::inline v0::detail {

/// The observer of the config, if there is one. On the strand.
class user_observer {
public:
    user_observer(std::shared_ptr<user_calls> calls, std::shared_ptr<observer> to) noexcept : calls_(std::move(calls)), to_(std::move(to)) {}

    /// Whether anybody wants to know. If not, nothing is spent on events.
    explicit operator bool() const noexcept { return to_ != nullptr; }

    /// @param alive has what the event refers to
    template <class Event>
    void tell(void (observer::*what)(Event const&), std::type_identity_t<Event> const& e, std::shared_ptr<void const> alive) const noexcept
    {
        calls_->add([to = to_, what, e, alive = std::move(alive)] { (to.get()->*what)(e); });
    }

private:
    std::shared_ptr<user_calls> const calls_;
    std::shared_ptr<observer> const to_;
};

}  // namespace redlock::detail
