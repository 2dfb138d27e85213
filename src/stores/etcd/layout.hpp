#pragma once

#include "stores/etcd/json.hpp"
#include "stores/kit/content.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

// The keys of the lock `lock:stock` in etcd. All but the counter are under the lease of the node that wrote them.
// - `lock:stock`: the lock's value, a line feed, and the ttl in milliseconds. If nobody extends the lock, its node
//   deletes the key after this ttl.
// - `lock:stock:=fence:{lock:stock}`: the counter, in 20 digits.
// - `lock:stock:=wanted:{lock:stock}/contender`: the contender was denied the lock lately.
// - `lock:stock:=turn:{lock:stock}`: a manager hands the lock over to its own waiters.
namespace redlock::stores::etcd {

/// The names of keys; all begin with @ref prefix.
struct layout {
    std::string prefix{};

    std::string lock(std::string_view key) const;
    /// The key whose name in etcd is @p name.
    std::string key_of(std::string_view name) const { return std::string(name.substr(prefix.size())); }
    std::string counter(std::string_view key) const;
    std::string all_wanted(std::string_view key) const;  ///< the prefix of all wanted keys
    std::string wanted(std::string_view key, std::string_view contender) const;
    std::string turn(std::string_view key) const;
};

/// The value of a lock's key.
using kit::content;

std::string to_text(content const&);
content to_content(std::string_view text);

/// Adds two conditions: @p key holds @p value, with any ttl.
void add_holds(std::vector<std::string>& conditions, std::string_view key, std::string_view value);

/// The order of these texts is the order of the numbers.
std::string to_text(std::uint64_t counter);
using kit::to_counter;

/// A step: raises the number at @p key to @p number if it is lower or missing.
std::string raise_to(std::string const& key, std::uint64_t number, std::string_view lease = {});
bool was_raised(json::object const& step);

}  // namespace redlock::stores::etcd
