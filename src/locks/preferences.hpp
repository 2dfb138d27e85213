#pragma once

#include "core/preference.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>

namespace redlock::inline v1::locks {

/// The order in which a manager asks for resources when any of several is wanted. On the strand.
class preferences {
public:
    /// @param own a text of this manager, so that different managers begin at different places
    explicit preferences(std::string_view own) : own_(own) {}

    /// Remembers only one of the sets with the same first name.
    core::preference& among(std::span<std::string const> resources)
    {
        if (known_.size() >= known_max)
            known_.clear();  // each set begins again with its first order
        auto const known = known_.find(resources.front());
        if (known != known_.end() && known->second.order().size() == resources.size())
            return known->second;
        core::preference fresh(resources.size(), std::hash<std::string>()(own_ + resources.front()));
        return known_.insert_or_assign(resources.front(), std::move(fresh)).first->second;
    }

    void had(std::span<std::string const> resources, std::string_view name)
    {
        among(resources).had(number_of(resources, name));
    }
    void chosen_in_vain(std::span<std::string const> resources, std::string_view name)
    {
        among(resources).chosen_in_vain(number_of(resources, name));
    }

private:
    static std::uint32_t number_of(std::span<std::string const> resources, std::string_view name)
    {
        return static_cast<std::uint32_t>(std::lower_bound(resources.begin(), resources.end(), name)
                                          - resources.begin());
    }

    static constexpr std::size_t known_max = 1024;

    std::string const own_;
    std::unordered_map<std::string, core::preference> known_;
};

}  // namespace redlock::locks
