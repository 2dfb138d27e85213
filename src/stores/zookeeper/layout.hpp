#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

// What stands where below the folder `redlock`, for a lock with the key `lock:stock`; a node of its own for each,
// ephemeral but for the last two. In a name other bytes than letters, digits and `_-:` are written as `%` and two
// hexadecimal digits.
//
// | node | what it holds |
// |---|---|
// | `locks/lock:stock` | the lock's ttl in milliseconds, a line feed, and its value: it lasts no longer than that if
// nobody extends it | | `locks/lock:stock=VALUE` | nothing. It comes and goes with the one above, and is how a
// transaction compares values | | `turns/lock:stock` | nothing: a manager hands the lock on to its own waiters | |
// `wanted/lock:stock/CONTENDER` | nothing: somebody has been denied it lately | | `sessions/NUMBER` | nothing. Its
// version is the connection that counts | | `counters/lock:stock` | the counter, in decimal | | `id` | 128 random bits,
// by which servers of one ensemble know each other |
namespace redlock::stores::zookeeper {

/// Paths, all below one folder.
struct layout {
    std::string folder{};

    std::string locks() const { return folder + "/locks"; }
    std::string lock(std::string_view key) const;
    std::string holder(std::string_view key, std::string_view value) const;
    std::string turn(std::string_view key) const;
    std::string wishes(std::string_view key) const;
    std::string wish(std::string_view key, std::string_view contender) const;
    std::string counter(std::string_view key) const;
    std::string session(std::int64_t number) const;
    std::string id() const { return folder + "/id"; }
};

/// @p bytes as a node's name.
std::string to_name(std::string_view bytes);

/// What a lock's node holds.
struct content {
    std::string value{};
    std::optional<std::chrono::milliseconds> ttl{};  ///< nothing: somebody else wrote it
};

std::string to_text(content const&);
content to_content(std::string_view text);

std::uint64_t to_counter(std::string_view text);

}  // namespace redlock::stores::zookeeper
