#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace redlock::core {

/// What a waiter knows of the nodes after a lost round: from when on a lock may be free on a quorum of them.
template <class TimePoint>
class estimate {
public:
    /// Nothing is known of any node: none is expected to grant.
    estimate(std::size_t nodes, std::size_t quorum) : free_at_(nodes, TimePoint::max()), quorum_(quorum) {}

    /// It is free on @p node then at the latest.
    void expect(std::size_t node, TimePoint at) { free_at_[node] = std::min(free_at_[node], at); }

    /// When it may be free on a quorum. The maximum: that is not known.
    TimePoint free_at() const
    {
        auto sorted = free_at_;
        auto const last = sorted.begin() + static_cast<std::ptrdiff_t>(quorum_ - 1);
        std::nth_element(sorted.begin(), last, sorted.end());
        return *last;
    }

private:
    std::vector<TimePoint> free_at_;
    std::size_t quorum_;
};

}  // namespace redlock::core
