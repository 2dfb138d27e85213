#pragma once

#include "cli/lock_view.hpp"
#include "cli/servers.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/unordered/unordered_flat_set.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli {

/// The hashes of texts that were seen: @ref fingerprint_of. With a million texts, the probability of a collision is one
/// in 37 million.
using fingerprints = boost::unordered_flat_set<std::uint64_t>;

std::uint64_t fingerprint_of(std::string_view text);

/// The progress of the scan of one server.
struct scan_place {
    std::string cursor = "0";
    bool is_scanned = false;
    std::string trouble{};  ///< why the scan of the server failed; empty if it did not

    /// Reads the answer to SCAN, and appends its keys to @p keys.
    void take(reply const& page, std::vector<std::string>& keys);
};

/// Asks each server whose scan is not complete for a page of keys, all servers at the same time. @return the keys
/// @param nodes  one for each server, derived from scan_place
template <class Node>
asio::awaitable<std::vector<std::string>> scan_on(servers& all, std::vector<Node>& nodes, std::string pattern)
{
    std::vector<questions> each(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!nodes[i].is_scanned)
            each[i].push_back({"SCAN", nodes[i].cursor, "MATCH", pattern, "COUNT", "1000"});
    }
    auto const pages = co_await all.ask(std::move(each));
    std::vector<std::string> keys;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
        if (!pages[i].replies.empty())
            nodes[i].take(pages[i].replies.front(), keys);
    }
    co_return keys;
}

/// Removes keys from @p found and returns them: at most as many as one question may name.
std::vector<std::string> take_some(std::vector<std::string>& found);

/** Finds all locks on the servers, a few at a time. Each lock comes once; the order is arbitrary.

    All nodes are scanned at the same time. If one node has a lock, all nodes are asked about it, so each
    @ref lock_view is complete. SCAN may miss locks that are set or deleted during the scan.
*/
class lock_scan {
public:
    enum class tells : std::uint8_t { holders, waiting };

    /// @param glob  a pattern of SCAN for the names without the prefix: "jobs/*"
    /// @param what  `waiting`: also count the processes that wait for each lock
    lock_scan(servers&, std::string prefix, std::string_view glob, tells what = tells::holders);

    /// @return some locks; none: the scan is complete
    asio::awaitable<std::vector<lock_view>> next();

    /// Why the scan of a server failed; empty if it did not.
    std::string const& trouble(std::size_t server) const { return nodes_[server].trouble; }

    /// How many servers were scanned completely.
    std::size_t complete() const;

private:
    asio::awaitable<std::vector<lock_view>> read_locks(std::vector<std::string> keys);
    lock_view view_of(std::string const& key, std::vector<answers> const& told, std::size_t at);
    bool is_lock(std::string_view key) const;

    servers& servers_;
    std::string const prefix_, pattern_;
    tells const what_;
    std::vector<scan_place> nodes_;
    std::vector<std::string> found_;  // keys that no question has named yet
    fingerprints seen_;
};

}  // namespace redlock::cli
