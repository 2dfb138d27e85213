#pragma once

#include <redlock/quarantine_reason.hpp>
#include <redlock/stats.hpp>

#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace redlock::serve {

/// Whether enough nodes vote to grant a lock, and if not, why.
class readiness {
public:
    explicit readiness(std::vector<node_stats> const&);

    std::size_t nodes() const noexcept { return nodes_; }
    std::size_t connected() const noexcept { return connected_; }
    std::size_t voting() const noexcept { return voting_; }

    bool is_connected() const noexcept { return connected_ >= quorum(); }
    bool is_ready() const noexcept { return voting_ >= quorum(); }

    /// Why no lock can be granted, with the way out if there is one, in one line. It has no addresses, because
    /// everybody may read it.
    std::string why_not() const;

private:
    std::size_t quorum() const noexcept { return nodes_ / 2 + 1; }

    std::size_t nodes_, connected_ = 0, voting_ = 0;
    std::map<quarantine_reason, std::size_t> waiting_;  ///< how many nodes do not vote yet
    std::chrono::milliseconds wait_{0};                 ///< until a majority votes, if no further node fails
};

}  // namespace redlock::serve
