#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

namespace redlock::core {

/** The order in which a manager asks for several resources when any one of them suffices.

    The resource that the manager had last comes first, so each manager tends to use resources of its own, and managers
    rarely split the votes. Each manager begins at a place of its own.

    If different resources are free on the nodes, the nodes choose different ones. Then the first of the chosen ones
    moves to the end. Each round this leaves fewer resources in front of one that is free on a quorum, until all nodes
    choose it.
*/
class preference {
public:
    preference(std::size_t count, std::uint64_t begin) : order_(count)
    {
        std::iota(order_.begin(), order_.end(), std::uint32_t(0));
        std::rotate(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(begin % count), order_.end());
    }

    /// The indices from 0 on, each once.
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
