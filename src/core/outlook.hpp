#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <vector>

namespace redlock::core {

/// What a contender knows of the nodes after a lost round: from when on a quorum of them may be free.
template <class TimePoint>
class outlook {
public:
    /// Nothing is known of any node: none is expected to grant.
    outlook(std::size_t nodes, std::size_t quorum) : free_at_(nodes, TimePoint::max()), quorum_(quorum) {}

    /// The node is free then at the latest.
    void expect(std::size_t node, TimePoint free_at) { free_at_[node] = std::min(free_at_[node], free_at); }

    /// When a quorum may be free. The maximum: that is not known.
    TimePoint chance() const
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
