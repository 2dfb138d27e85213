#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace redlock::core {

/// After a lost round: when a quorum of the nodes may grant what a waiter wants.
template <class TimePoint>
class estimate {
public:
    /// At first no node is expected to grant. @p any: any one of several keys suffices, if it is the same key on a
    /// quorum.
    estimate(std::size_t nodes, std::size_t quorum, bool any = false)
        : free_at_(nodes, TimePoint::max()), quorum_(quorum), any_(any)
    {
    }

    /// @p node is expected to grant at @p at or earlier.
    void expect(std::size_t node, TimePoint at) { free_at_[node] = std::min(free_at_[node], at); }

    /// Key number @p key will be free on @p node at @p at or earlier. The node is expected to grant when all its known
    /// keys are free, or with `any` when one of them is.
    void expect(std::size_t node, std::size_t key, TimePoint at)
    {
        taken_.resize(free_at_.size());
        auto& there = taken_[node];
        auto const known = std::find_if(there.begin(), there.end(), [key](auto& k) { return k.first == key; });
        if (known == there.end())
            there.emplace_back(key, at);
        else
            known->second = std::min(known->second, at);
    }

    /// When a quorum may grant. The maximum: that is unknown.
    TimePoint free_at() const { return any_ ? any_free_at() : all_free_at(); }

private:
    using taken = std::pair<std::size_t, TimePoint>;

    TimePoint all_free_at() const
    {
        auto each = free_at_;
        for (std::size_t i = 0; i < taken_.size(); ++i) {
            if (!taken_[i].empty())
                each[i] = std::min(each[i], std::ranges::max_element(taken_[i], {}, &taken::second)->second);
        }
        return on_a_quorum(std::move(each));
    }

    // A quorum must have the same key free.
    TimePoint any_free_at() const
    {
        std::map<std::size_t, std::vector<TimePoint>> by_key;
        for (std::size_t i = 0; i < taken_.size(); ++i) {
            for (auto const& [key, at] : taken_[i]) {
                auto& there = by_key.try_emplace(key, free_at_).first->second[i];
                there = std::min(there, at);
            }
        }
        auto first = on_a_quorum(free_at_);
        for (auto& [key, each] : by_key)
            first = std::min(first, on_a_quorum(std::move(each)));
        return first;
    }

    TimePoint on_a_quorum(std::vector<TimePoint> each) const
    {
        auto const last = each.begin() + static_cast<std::ptrdiff_t>(quorum_ - 1);
        std::nth_element(each.begin(), last, each.end());
        return *last;
    }

    std::vector<TimePoint> free_at_;
    std::vector<std::vector<taken>> taken_;  // by node; empty: no key is known
    std::size_t quorum_;
    bool any_;
};

}  // namespace redlock::core
