#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::core {

inline constexpr std::size_t name_max = 512;   ///< bytes of a lock's name
inline constexpr std::size_t names_max = 256;  ///< names of a set

/// All 16 digits.
std::array<char, 16> in_hex(std::uint64_t bits) noexcept;

/// The holder of a lock, as its value on the servers tells.
struct holder {
    std::string_view owner{};  ///< the label of the manager
    std::string_view note{};   ///< the purpose of the hold
    std::uint64_t since = 0;   ///< by the holder's wall clock, in milliseconds since 1970; 0: unknown
};

/** A lock's value on the servers: 128 random bits, which make it unique, and a text for operators.

    The text is the label, and behind two unit separators (the control character 0x1f) the time and the note:
    `web-3:4121␟since=1764238452000␟nightly report`. Readers that do not know this form take all of it for the label. A
    note has no control characters, so the last two separators are these two, whatever the label contains.
*/
std::string make_token(std::uint64_t high, std::uint64_t low, holder const&);

/// Whether the text has the form of @ref make_token. If not, another kind of client wrote it.
bool is_token(std::string_view) noexcept;

/// The text in @p token. All empty if another kind of client wrote the token.
holder holder_in(std::string_view token) noexcept;

/// The label in @p token. Empty if another kind of client wrote the token.
std::string_view owner_in(std::string_view token) noexcept;

/// The name of a waiting client in the lists of the nodes: 16 random digits and its label. The label is cut to the size
/// that all stores can keep.
std::string make_contender(std::uint64_t id, std::string_view owner);

/// The label in the name of a waiting client. Empty if the client leaves no label.
std::string_view owner_of_contender(std::string_view contender) noexcept;

// A lock's other keys. Each begins with the lock's key, so an access list for the lock's key covers it, and is in the
// same slot of a cluster. Each contains a mark that no lock's key contains, so it is never the key of another lock.

/// The first mark in @p key; empty if there is none. A key with a mark cannot be a lock's key.
std::string_view mark_in(std::string_view key) noexcept;

/// The key of the counter for the fencing tokens of the lock at @p key.
std::string fence_key(std::string_view key);
void put_fence_key(std::string& to, std::string_view key);  ///< writes the key into an existing string

/// The key of the tombstone: while it exists, the node does not set @p key to @p token.
std::string tombstone_key(std::string_view key, std::string_view token);
void put_tombstone_key(std::string& to, std::string_view key, std::string_view token);

/// The key of the list of clients that were denied @p key lately.
std::string wanted_key(std::string_view key);
void put_wanted_key(std::string& to, std::string_view key);

/// The key of the place of a client that stands by: the node changes it to call the client.
std::string place_key(std::string_view key, std::string_view contender);

/// The key that exists while a process hands the lock at @p key over to its own waiters.
std::string handovers_key(std::string_view key);
void put_handovers_key(std::string& to, std::string_view key);

/// The key of the list of readers of the lock at @p key, and when each of them expires.
std::string readers_key(std::string_view key);
void put_readers_key(std::string& to, std::string_view key);

/// The key of the lock that gives the right to wait for an upgrade of the lock at @p key.
std::string upgrade_key(std::string_view key);

/// Returns the part before the mark of such a key: the name or key of the lock. Returns any other text unchanged.
std::string_view without_upgrade_mark(std::string_view name) noexcept;

/// The key of a client's session, in a store that has sessions. It begins with the prefix of all locks, and is no
/// lock's key.
std::string session_key(std::string_view prefix, std::string_view session);

/// The key of the record of a server's memory, which is lost together with the locks. It is no lock's key.
std::string record_key(std::string_view prefix);

/// The key of the settings that all clients of a server must share. It is no lock's key.
std::string settings_key(std::string_view prefix);

/// The value of a lock's key while readers share the lock. No token begins like this.
inline constexpr std::string_view shared_word = ":=shared";

/// The kinds of keys that nodes notify of: the lock, its hand-overs, the clients that want it, the place of one of
/// them, its readers.
enum class watched : std::uint8_t { lock, handovers, wanted, place, readers };

/// The kind of @p key, and the key of its lock.
std::pair<watched, std::string_view> what_changed(std::string_view key) noexcept;

}  // namespace redlock::core
