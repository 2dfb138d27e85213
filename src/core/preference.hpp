#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace redlock::core {

/** In which order a manager asks for some resources of which it wants any.

    What it had last comes first. So managers keep to resources of their own as long as there are enough of them, and
    nodes that hear of two at the same moment do not give each of them a part of the votes. At first it begins at a
    place of its own.

    Nodes that differ in what is free choose different ones. Then the first that any of them has chosen comes last: so
    what is free on a quorum has less before it with each round, until all choose it.
*/
class preference {
public:
    preference(std::size_t count, std::uint64_t begin) : order_(count)
    {
        std::iota(order_.begin(), order_.end(), std::uint32_t(0));
        std::rotate(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(begin % count), order_.end());
    }

    /// The numbers from 0 on, each once.
    std::span<std::uint32_t const> order() const noexcept { return order_; }

    void had(std::uint32_t number)
    {
        auto const at = std::find(order_.begin(), order_.end(), number);
        std::rotate(order_.begin(), at, at + 1);
    }

    void chosen_in_vain(std::uint32_t number)
    {
        auto const at = std::find(order_.begin(), order_.end(), number);
        std::rotate(at, at + 1, order_.end());
    }

private:
    std::vector<std::uint32_t> order_;
};

}  // namespace redlock::core
