#pragma once

#include "tools/redlock/commands/key_scan.hpp"
#include "tools/redlock/server/servers.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace redlock::cli {

/// A node of the old set of nodes, of the new one, or of both.
struct moving_node : scan_place {
    bool is_old = false, is_new = false;
    std::size_t raised = 0;  ///< number of raised counters; in a dry run, of counters to raise
};

/** Raises each fencing token counter on every node of the new set to its highest value in the old set.

    The old nodes are scanned at the same time, page by page. For each counter found, all nodes are asked for its value.
    New nodes with a lower value raise it with ZADD GT, which never lowers it, and are asked again. So the move
    can be repeated. It keeps a @ref fingerprint_of for each counter in memory.
*/
class counter_move {
public:
    /// @param nodes     one for each server
    /// @param dry_run   only read, and raise nothing
    counter_move(servers&, std::vector<moving_node> nodes, std::string prefix, bool dry_run);

    /// Asks each node for a counter that does not exist. @ref has_failed tells whether enough nodes have answered.
    asio::awaitable<void> greet();

    /// Moves some counters. @return false: there are no more, or it has failed
    asio::awaitable<bool> next();

    /// Whether too many nodes have failed. A majority of the old set and each node of the new set must answer every
    /// question.
    bool has_failed() const;

    std::vector<moving_node> const& nodes() const noexcept { return nodes_; }
    std::size_t counters() const noexcept { return counters_; }

    /// The key of a counter with another prefix; empty: none was found.
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
    std::vector<std::string> found_;  // keys of counters that are not moved yet
    fingerprints seen_;
    std::size_t counters_ = 0;
    std::string foreign_;
};

}  // namespace redlock::cli
