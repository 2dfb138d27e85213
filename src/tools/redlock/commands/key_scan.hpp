#pragma once

#include "tools/redlock/server/servers.hpp"

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
    std::string trouble{};    ///< why the scan of the server failed; empty if it did not
    bool is_refused = false;  ///< it failed because the server refuses the password or a command

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

}  // namespace redlock::cli
