#pragma once

#include "stores/memory/readers.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::memory {

/// The keys of one lock server, and the operations on them. They behave as on a Redis server. Time is an argument.
/// There is a function for each command and each script of the Redis node.
class lock_table {
public:
    struct entry {
        std::string value;
        clock::time_point expires;  ///< max: never
    };

    /// @param tombstone a release leaves a tombstone
    /// @param who the client, which gets no notification about its own changes
    node_reply carry_out(node_command const&, clock::time_point now, bool tombstone = false, void const* who = nullptr);

    /// The longest life of a key without an extension, like in a store whose locks end with a session. Grants report
    /// it.
    std::chrono::milliseconds session = std::chrono::milliseconds::max();

    /// Null if the key is missing or expired.
    entry* find(std::string_view key, clock::time_point now);

    std::map<std::string, entry, std::less<>> entries;
    std::map<std::string, std::uint64_t, std::less<>> counters;                   ///< by the lock's key
    std::map<std::pair<std::string, std::string>, clock::time_point> tombstones;  ///< by key and value: its end

    /// The wish of a client that was denied lately.
    struct wish {
        bool to_share = false;
        std::string note{};
        clock::time_point since = clock::time_point::max();  ///< of one in line; max: it is not in line
        clock::time_point until = clock::time_point::max();  ///< it is believed until then
    };
    /// By key: the wishes, by client, and the end of the list.
    std::map<std::string, std::pair<std::map<std::string, wish, std::less<>>, clock::time_point>, std::less<>> wanted;

    /// By key: the readers of a lock. Valid only if the key's value is `core::shared_word`.
    std::map<std::string, memory::readers, std::less<>> readers;

    /// By the lock's key: until when a process hands the lock over to its own waiters.
    std::map<std::string, clock::time_point, std::less<>> handovers;

    /// By its key: the place of a client that stands by, and its end.
    std::map<std::string, clock::time_point, std::less<>> places;

    /// Calls @p changed once, at the next change of @p key. The key is that of a lock, of its hand-overs, of its denied
    /// clients, of the place of one of them, or of its readers. A second call for the same @p who replaces the first
    /// one.
    void watch(std::string key, void const* who, std::function<void(std::string const&)> changed);
    void tell(std::string_view key, void const* except = nullptr);

    /// Watches all keys that a denied acquisition waits for, or the keys that an inspection reads.
    void watch_taken(node_command const&, node_reply const&, void const* who,
                     std::function<void(std::string const&)> changed);
    std::map<std::string, std::vector<std::pair<void const*, std::function<void(std::string const&)>>>, std::less<>>
        watchers;

private:
    node_reply apply(node_command const&, clock::time_point now, bool tombstone, void const* who);
    node_reply acquire(node_command const&, clock::time_point now, void const* who);
    node_reply acquire_one(node_command const&, clock::time_point now, void const* who);
    node_reply acquire_any(node_command const&, clock::time_point now, void const* who);
    node_reply raise(node_command const&);
    node_reply inspect(std::string const& key, clock::time_point now);
    node_reply scan(node_command const&, clock::time_point now);
    node_reply extend(node_command const&, clock::time_point now);
    node_reply replace(node_command const&, clock::time_point now);
    node_reply release(node_command const&, clock::time_point now, void const* who);
    node_reply share(node_command const&, clock::time_point now, void const* who);
    node_reply extend_shared(node_command const&, clock::time_point now);
    node_reply replace_reader(node_command const&, clock::time_point now);
    node_reply release_shared(node_command const&, clock::time_point now, void const* who);
    node_reply upgrade(node_command const&, clock::time_point now, void const* who);
    node_reply make_exclusive(node_command const&, clock::time_point now, void const* who);
    node_reply downgrade(node_command const&, clock::time_point now);
    void enter(node_command const&, clock::time_point now);
    bool is_reader(node_command const&, clock::time_point now);
    bool other_writer_waits(node_command const&, clock::time_point now) const;
    taken_key taken_key_of(node_command const&, std::size_t key, entry const&, clock::time_point now) const;
    void raise_ttl_or_set(std::string const& key, node_command const&, clock::time_point now);
    void forget_wanted(std::string const& key, std::string_view contender, void const* who);
    void note_denied(std::string const& key, node_command const&, clock::time_point now);
    std::uint32_t queue(node_command const&, clock::time_point now);
    std::vector<std::string> first_in_line(std::string const& key, clock::time_point now);
    void call_first(std::string const& key, clock::time_point now);
    bool note_granted(std::string const& key, node_command const&, clock::time_point now, void const* who);
    void begin_handovers(std::string const& key, node_command const&, clock::time_point now, void const* who);
    void end_handovers(std::string_view key, void const* who);
    bool has_tombstone(node_command const&, clock::time_point now) const;
    bool raise_counters(node_command const&);
};

}  // namespace redlock::stores::memory
