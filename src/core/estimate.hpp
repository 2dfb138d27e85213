#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

namespace redlock::core {

/// What a waiter knows of the nodes after a lost round: from when on what it wants may be free on a quorum of them.
template <class TimePoint>
class estimate {
public:
    /// Nothing is known of any node: none is expected to grant.
    estimate(std::size_t nodes, std::size_t quorum) : free_at_(nodes, TimePoint::max()), quorum_(quorum) {}

    /// It is free on @p node then at the latest.
    void expect(std::size_t node, TimePoint at) { free_at_[node] = std::min(free_at_[node], at); }

    /// Of several keys number @p key is. A node is expected to grant when all are of which that was said.
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
    TimePoint free_at() const
    {
        auto sorted = free_at_;
        for (std::size_t i = 0; i < taken_.size(); ++i) {
            if (!taken_[i].empty())
                sorted[i] = std::min(sorted[i], std::ranges::max_element(taken_[i], {}, &taken::second)->second);
        }
        auto const last = sorted.begin() + static_cast<std::ptrdiff_t>(quorum_ - 1);
        std::nth_element(sorted.begin(), last, sorted.end());
        return *last;
    }

private:
    using taken = std::pair<std::size_t, TimePoint>;

    std::vector<TimePoint> free_at_;
    std::vector<std::vector<taken>> taken_;  // by node; empty: it was never said
    std::size_t quorum_;
};

}  // namespace redlock::core
