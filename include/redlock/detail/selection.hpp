#pragma once

#include <redlock/resource_set.hpp>

#include <concepts>
#include <utility>

namespace redlock::inline v0::detail {

/// What an acquisition is for: all of some resources, or any one of them.
struct selection {
    selection() = default;

    /// All of them.
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

    /// One of several is enough. Any of one is that one.
    bool wants_one_of_several() const noexcept { return any && resources.size() > 1; }

    resource_set resources;
    bool any = false;
};

}  // namespace redlock::detail
