#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace redlock::core {

/// What a waiter knows of the nodes after a lost round: from when on what it wants may be free on a quorum of them.
template <class TimePoint>
class estimate {
public:
    /// Nothing is known of any node: none is expected to grant. @p any: of several keys one is enough, the same on all.
    estimate(std::size_t nodes, std::size_t quorum, bool any = false)
        : free_at_(nodes, TimePoint::max()), quorum_(quorum), any_(any)
    {
    }

    /// It is free on @p node then at the latest.
    void expect(std::size_t node, TimePoint at) { free_at_[node] = std::min(free_at_[node], at); }

    /// Of several keys number @p key is. A node is expected to grant when all are of which that was said; or when any
    /// is.
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

    /// When it may be free on a quorum. The maximum: that is not known.
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

    // Different keys on different nodes are of no use.
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
    std::vector<std::vector<taken>> taken_;  // by node; empty: it was never said
    std::size_t quorum_;
    bool any_;
};

}  // namespace redlock::core
