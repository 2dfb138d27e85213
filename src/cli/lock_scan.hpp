#pragma once

#include "cli/lock_view.hpp"
#include "cli/servers.hpp"

#include <boost/asio/awaitable.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::cli {

/** Which texts have been there, by 64 bits of each: 16 to 32 bytes for one, whatever its length.

    Of a million different ones two are taken for one in one of 37 million runs.
*/
class fingerprints {
public:
    /// @return whether it is new
    bool add(std::string_view text);
    bool has(std::string_view text) const noexcept;
    std::size_t size() const noexcept { return size_; }

private:
    std::size_t place_of(std::uint64_t bits) const noexcept;

    std::vector<std::uint64_t> places_ = std::vector<std::uint64_t>(64);  // 0: nothing is there
    std::size_t size_ = 0;
};

/** All locks on the servers, a few at a time, each once and in no order.

    The nodes are scanned at the same time. What one of them tells of is asked of all, so a lock is seen as a whole when it is first met; that it
    has been met is all that is remembered. Locks that come or go meanwhile may be there or not, as SCAN has it.
*/
class lock_scan {
public:
    enum class tells : std::uint8_t { holders, waiting };

    /// @param glob  which names, without the prefix: "jobs/*", as of SCAN
    /// @param what  whether how many wait is asked, too
    lock_scan(servers&, std::string prefix, std::string_view glob, tells what = tells::holders);

    /// @return some locks; none: that was all
    asio::awaitable<std::vector<lock_view>> next();

    /// Of a server: why it could not be asked to the end; empty if it could.
    std::string const& trouble(std::size_t server) const { return nodes_[server].trouble; }

    /// How many servers have been asked to the end.
    std::size_t complete() const;

private:
    struct node {
        std::string cursor = "0";
        bool is_scanned = false;
        std::string trouble{};
    };

    asio::awaitable<void> scan_on();
    asio::awaitable<std::vector<lock_view>> look_at(std::vector<std::string> keys);
    lock_view view_of(std::string const& key, std::vector<answers> const& told, std::size_t at);
    void take(node&, reply const& page);
    bool is_lock(std::string_view key) const;

    servers& servers_;
    std::string const prefix_, pattern_;
    tells const what_;
    std::vector<node> nodes_;
    std::vector<std::string> found_;  // and not looked at yet
    fingerprints met_;
};

}  // namespace redlock::cli
