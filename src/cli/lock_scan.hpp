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

/// Texts that were seen, each as 64 bits: @ref fingerprint_of. With a million different texts, two are taken for one in
/// one of 37 million runs.
using fingerprints = boost::unordered_flat_set<std::uint64_t>;

std::uint64_t fingerprint_of(std::string_view text);

/// How far the scan of one server is.
struct scan_place {
    std::string cursor = "0";
    bool is_scanned = false;
    std::string trouble{};  ///< why the server was not asked to the end; empty if it was

    /// The answer to SCAN.
    void take(reply const& page, std::vector<std::string>& keys);
};

/// Asks each server that has more keys for a page of them, all at the same time. @return the keys
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

/// Takes away some of @p found: as many as a question may be about.
std::vector<std::string> take_some(std::vector<std::string>& found);

/** All locks on the servers, a few at a time, each once and in no order.

    The nodes are scanned at the same time. When one node names a lock, all nodes are asked about it, so the lock is
    complete at once. Locks that come or go during the scan may be there or not, as SCAN has it.
*/
class lock_scan {
public:
    enum class tells : std::uint8_t { holders, waiting };

    /// @param glob  which names, without the prefix: "jobs/*", as of SCAN
    /// @param what  whether how many wait is asked, too
    lock_scan(servers&, std::string prefix, std::string_view glob, tells what = tells::holders);

    /// @return some locks; none: that was all
    asio::awaitable<std::vector<lock_view>> next();

    /// Why a server could not be asked to the end; empty if it could.
    std::string const& trouble(std::size_t server) const { return nodes_[server].trouble; }

    /// How many servers have been asked to the end.
    std::size_t complete() const;

private:
    asio::awaitable<std::vector<lock_view>> read_locks(std::vector<std::string> keys);
    lock_view view_of(std::string const& key, std::vector<answers> const& told, std::size_t at);
    bool is_lock(std::string_view key) const;

    servers& servers_;
    std::string const prefix_, pattern_;
    tells const what_;
    std::vector<scan_place> nodes_;
    std::vector<std::string> found_;  // and not looked at yet
    fingerprints met_;
};

}  // namespace redlock::cli
