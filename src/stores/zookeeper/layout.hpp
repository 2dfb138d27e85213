#pragma once

#include "stores/kit/content.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// The nodes of the lock `lock:stock`, below the folder `redlock`. All but the last two are ephemeral. In names, each
// byte that is not a letter, a digit or one of `_-:` becomes `%` and two hexadecimal digits.
// - `locks/lock:stock`: the ttl in milliseconds, a line feed, and the lock's value. If nobody extends the lock, its
//   client deletes the node after this ttl.
// - `locks/lock:stock=VALUE`: empty. It exists as long as the node above. Transactions check its existence to compare
//   values.
// - `turns/lock:stock`: empty. A manager hands the lock over to its own waiters.
// - `wanted/lock:stock/CONTENDER`: empty. The contender was denied the lock lately.
// - `sessions/NUMBER`: empty. Its version identifies the connection that counts.
// - `counters/lock:stock`: the counter, in decimal.
// - `id`: 128 random bits. Servers with the same bits belong to one ensemble.
namespace redlock::stores::zookeeper {

/// Paths, all below one folder.
struct layout {
    std::string folder{};

    std::string locks() const { return folder + "/locks"; }
    std::string lock(std::string_view key) const;
    std::string holder(std::string_view key, std::string_view value) const;
    std::string turn(std::string_view key) const;
    std::string all_wanted(std::string_view key) const;
    std::string wanted(std::string_view key, std::string_view contender) const;
    std::string counter(std::string_view key) const;
    std::string session(std::int64_t number) const;
    std::string id() const { return folder + "/id"; }
};

/// @p bytes as a node's name.
std::string to_name(std::string_view bytes);

/// The bytes of which @p name is the name. A name by another program stays as it is.
std::string from_name(std::string_view name);

/// The key of the lock whose node has @p name in the folder of the locks. Nothing: the node only repeats its value.
std::optional<std::string> key_of(std::string_view name);

/// The data of a lock's node.
using kit::content;

std::string to_text(content const&);
content to_content(std::string_view text);

using kit::to_counter;

}  // namespace redlock::stores::zookeeper
