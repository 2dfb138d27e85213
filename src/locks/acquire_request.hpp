#pragma once

#include "locks/manager_state.hpp"
#include "quorum/round.hpp"

#include <redlock/detail/call_options.hpp>
#include <redlock/detail/selection.hpp>

#include <algorithm>
#include <iterator>
#include <span>
#include <string>
#include <string_view>

namespace redlock::inline v1::locks {

/// The arguments of one call of `lock_manager::async_acquire`, or of `async_acquire_any`.
struct acquire_request {
    manager_state& manager;
    detail::selection wanted;
    detail::call_options options;
    bool explains = false;         ///< true: an error carries an `attempt_report`
    std::string holds_up_to = {};  ///< see @ref waiter::holds_up_to

    resource_set const& resources() const noexcept { return wanted.resources; }
    std::span<std::string const> names() const noexcept { return wanted.resources.names(); }
    bool wants_any() const noexcept { return wanted.wants_one_of_several(); }
    bool wants_several() const noexcept { return !wanted.any && resources().size() > 1; }
    bool shares() const noexcept { return options.mode != mode::exclusive; }
    redlock::mode mode_on_nodes() const noexcept { return shares() ? mode::shared : mode::exclusive; }

    std::string key_of(std::string const& resource) const { return manager.settings.prefix + resource; }
    std::string_view name_of(std::string_view key) const { return key.substr(manager.settings.prefix.size()); }

    quorum::key_list keys() const
    {
        quorum::key_list all;
        all.reserve(resources().size());
        std::ranges::transform(resources(), std::back_inserter(all), [this](auto& name) { return key_of(name); });
        return all;
    }

    /// Whether the round @p asked requests @p resource.
    bool is_asked(quorum::round const& asked, std::string_view resource) const
    {
        return std::ranges::any_of(asked.command.keys, [&](auto& key) { return name_of(key) == resource; });
    }
};

}  // namespace redlock::locks
