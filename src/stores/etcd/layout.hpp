#pragma once

#include "stores/etcd/json.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What stands where in etcd, for a lock with the key `lock:stock`; all but counters under the lease of the node that
// has written it:
//
// | key | value |
// |---|---|
// | `lock:stock` | the lock's value, a line feed, and its ttl in milliseconds: it lasts no longer than that if nobody
// extends it | | `lock:stock:=fence:{lock:stock}` | the counter, in 20 digits | |
// `lock:stock:=wanted:{lock:stock}/contender` | that somebody has been denied it lately | |
// `lock:stock:=turn:{lock:stock}` | that a manager hands it on to its own waiters |
namespace redlock::stores::etcd {

/// Names, all behind one prefix.
struct layout {
    std::string prefix{};

    std::string lock(std::string_view key) const;
    std::string counter(std::string_view key) const;
    std::string wishes(std::string_view key) const;  ///< what they begin with
    std::string wish(std::string_view key, std::string_view contender) const;
    std::string turn(std::string_view key) const;
};

/// What a lock's key holds.
struct content {
    std::string value{};
    std::optional<std::chrono::milliseconds> ttl{};  ///< nothing: somebody else wrote it
};

std::string to_text(content const&);
content to_content(std::string_view text);

/// Whether @p key holds @p value, with whatever ttl: two conditions.
void add_holds(std::vector<std::string>& conditions, std::string_view key, std::string_view value);

/// As text whose order is that of the numbers.
std::string to_text(std::uint64_t counter);
std::uint64_t to_counter(std::string_view text);

/// Raises the number at @p key to @p number, if it is lower or missing: a step.
std::string raise_to(std::string const& key, std::uint64_t number, std::string_view lease = {});
bool was_raised(json::object const& step);

}  // namespace redlock::stores::etcd
