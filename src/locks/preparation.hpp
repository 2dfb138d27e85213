#pragma once

#include "quorum/node_set.hpp"

#include <redlock/clock.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace redlock::inline v1::locks {

/// The steps before an acquisition asks the nodes: the manager connects to them, and a new set of nodes is founded.
class preparation {
public:
    enum class step : std::uint8_t { none, connect, found, let_found };

    /// @param n must outlive this
    explicit preparation(quorum::node_set const& n) noexcept : nodes_(n) {}

    /// The next step. None: the nodes may be asked.
    step next(clock::time_point now) const
    {
        if (!connects_ && !nodes_.met())
            return step::connect;
        if (!founds_ && nodes_.may_found())
            return step::found;
        return nodes_.is_being_founded() && now < let_found_until_ ? step::let_found : step::none;
    }

    // Call these when the step begins.

    void connects() noexcept { connects_ = true; }
    void founds() noexcept { founds_ = true; }
    /// A node was not connected, or has not said again that it is new.
    void may_found_again() noexcept { founds_ = false; }

    /// Another manager founds the set. @return when to look again
    clock::time_point lets_found(clock::time_point now) noexcept
    {
        constexpr std::chrono::milliseconds founding_pause{20};
        let_found_until_ = std::min(let_found_until_, now + nodes_.longest_timeout());
        return std::min(now + founding_pause, let_found_until_);
    }

private:
    quorum::node_set const& nodes_;
    bool connects_ = false;  ///< it has waited for connections
    bool founds_ = false;    ///< it has tried to found the set
    clock::time_point let_found_until_ = clock::time_point::max();
};

}  // namespace redlock::locks
