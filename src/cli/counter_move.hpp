#pragma once

#include "cli/lock_scan.hpp"
#include "cli/servers.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::cli {

/// A node of the old set of nodes, of the new one, or of both.
struct moving_node : scan_place {
    bool is_old = false, is_new = false;
    std::size_t raised = 0;  ///< counters; of a dry run, those that would be
};

/** Raises the counters of fencing tokens on every node of a new set to the highest that the old set has.

    The old nodes are scanned at the same time, a page of each at once. A counter that one of them has is asked of all
    nodes. The new nodes whose counter is lower raise it by comparison, and are asked again. A counter is never lowered,
    so all of it can be repeated. This remembers @ref fingerprint_of for each counter.
*/
class counter_move {
public:
    /// @param nodes     one for each server
    /// @param dry_run   only reads
    counter_move(servers&, std::vector<moving_node> nodes, std::string prefix, bool dry_run);

    /// Asks each node for a counter that nobody has. @ref has_failed tells whether enough have answered.
    asio::awaitable<void> greet();

    /// Moves some counters. @return false: there are no more, or it has failed
    asio::awaitable<bool> next();

    /// Whether no majority of the old set, or not every node of the new set, has answered everything.
    bool has_failed() const;

    std::vector<moving_node> const& nodes() const noexcept { return nodes_; }
    std::size_t counters() const noexcept { return counters_; }

    /// A key of a counter that has another prefix. Empty: there is none.
    std::string const& foreign() const noexcept { return foreign_; }

private:
    asio::awaitable<void> find_more();
    asio::awaitable<void> move(std::vector<std::string> keys);
    asio::awaitable<void> raise(std::vector<std::string> const& keys, std::vector<std::uint64_t> const& highest,
                                std::vector<std::vector<std::uint64_t>> const& before);
    std::uint64_t counter_of(moving_node&, std::string const& key, reply const&);

    servers& servers_;
    std::string const prefix_;
    bool const dry_run_;
    std::vector<moving_node> nodes_;
    std::vector<std::string> found_;  // and not moved yet
    fingerprints met_;
    std::size_t counters_ = 0;
    std::string foreign_;
};

}  // namespace redlock::cli
