#pragma once

#include <redlock/resource_set.hpp>

#include <concepts>
#include <utility>

namespace redlock::inline v1::detail {

/// The resources that an acquisition wants: all of several, or any one of them.
struct selection {
    selection() = default;

    /// Selects all resources.
    template <std::convertible_to<resource_set> Resources>
    selection(Resources&& names) : resources(std::forward<Resources>(names))
    {
    }

    static selection any_of(resource_set names)
    {
        selection s(std::move(names));
        s.any = true;
        return s;
    }

    /// Selects the same, for a call that tries once: with a `wait`, it is refused.
    selection tried_once() &&
    {
        once = true;
        return std::move(*this);
    }

    /// Whether any one of several resources suffices. If there is only one resource, the result is false.
    bool wants_one_of_several() const noexcept { return any && resources.size() > 1; }

    resource_set resources;
    bool any = false;
    bool once = false;
};

}  // namespace redlock::detail
