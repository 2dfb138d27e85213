#include "locks/counters.hpp"

#include <redlock/detail/outcome.hpp>

#include <algorithm>

namespace redlock::inline v1::locks {

void group_counters::outcome(error_code ec)
{
    if (ec)
        events::bump((*this)[counter::of(detail::outcome_of(ec).counter)]);
}

group_counters& counters::of(std::string_view group) noexcept
{
    if (group.empty())
        return ungrouped_;
    auto const known = count_.load(std::memory_order_relaxed);
    auto const find = [&](std::string_view name) {
        return std::find_if(groups_.begin(), groups_.begin() + known, [&](auto& g) { return g->name == name; });
    };
    auto found = find(group);
    if (found == groups_.begin() + known && known >= most)
        found = find(group = "other");
    if (found != groups_.begin() + known)
        return **found;
    try {
        groups_[known] = std::make_unique<group_counters>();
        groups_[known]->name = group;
    } catch (...) {  // out of memory
        return ungrouped_;
    }
    count_.store(known + 1, std::memory_order_release);
    return *groups_[known];
}

void counters::tell(stats& to) const
{
    member_counters::tell(to);
    ungrouped_.tell(to);
    auto const known = count_.load(std::memory_order_acquire);
    if (known > 0)
        to.groups.push_back({static_cast<lock_stats const&>(to), {}});
    for (std::size_t i = 0; i < known; ++i) {
        auto& group = to.groups.emplace_back();
        group.name = groups_[i]->name;
        groups_[i]->tell(group);
        to += group;
    }
}

}  // namespace redlock::locks
