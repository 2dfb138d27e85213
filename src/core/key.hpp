#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::core {

/// All 16 digits.
std::array<char, 16> in_hex(std::uint64_t bits) noexcept;

/// A lock's value on the servers: 128 random bits, which make it unique, and a label for operators.
std::string make_token(std::uint64_t high, std::uint64_t low, std::string_view owner);

/// Whether it has the form of @ref make_token; otherwise a client of another kind wrote it.
bool is_token(std::string_view) noexcept;

/// The label in @p token, or nothing if a client of another kind wrote it.
std::string_view owner_in(std::string_view token) noexcept;

// A lock's other keys. Each begins with the lock's own, so that whoever may use that may use these, is in the same slot
// of a cluster, and holds a mark that no lock's key holds, so that none of them is ever the key of another lock.

/// The first of the marks that is in @p key; empty if there is none. With a mark it cannot be a lock's key.
std::string_view mark_in(std::string_view key) noexcept;

/// The key of the counter that fencing tokens for the lock at @p key are drawn from.
std::string fence_key(std::string_view key);
void put_fence_key(std::string& to, std::string_view key);  ///< the same, in memory that is there

/// The key that forbids to set @p key to @p token any more.
std::string tombstone_key(std::string_view key, std::string_view token);
void put_tombstone_key(std::string& to, std::string_view key, std::string_view token);

/// The key under which those are listed that have been denied @p key lately.
std::string wanted_key(std::string_view key);
void put_wanted_key(std::string& to, std::string_view key);

/// The key that is there while one process keeps the lock at @p key for its own waiters.
std::string handovers_key(std::string_view key);
void put_handovers_key(std::string& to, std::string_view key);

/// The key of the list of who shares the lock at @p key, and until when.
std::string readers_key(std::string_view key);
void put_readers_key(std::string& to, std::string_view key);

/// The key of the lock whose holder may wait until it has the lock at @p key alone.
std::string upgrade_key(std::string_view key);

/// Returns the part before the mark of such a key: the name or key of the lock. Returns any other text unchanged.
std::string_view without_upgrade_mark(std::string_view name) noexcept;

/// The key of a client's session in a store that has such: behind the prefix of all locks, and no lock's either.
std::string session_key(std::string_view prefix, std::string_view session);

/// The key that tells since when a server is known to be the master that others have made it: likewise.
std::string tenure_key(std::string_view prefix);

/// The key of a server's life marker, which is lost with the locks: likewise.
std::string life_key(std::string_view prefix);

/// The key of the settings that the clients of a server have: likewise.
std::string settings_key(std::string_view prefix);

/// What the lock's key holds while it is shared. No value of ours begins like this.
inline constexpr std::string_view shared_word = ":=shared";

/// What nodes notify of: the lock itself, the hand-overs of a process, who wants it, and who shares it.
enum class watched : std::uint8_t { lock, handovers, wishes, readers };

/// Which of them @p key is, and of which lock.
std::pair<watched, std::string_view> what_changed(std::string_view key) noexcept;

}  // namespace redlock::core
