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

/// The keys of one lock server and what the operations do to them, as a Redis server does it. Time is an argument.
/// It has a function for each command and each script of the Redis node.
class lock_table {
public:
    struct entry {
        std::string value;
        clock::time_point expires;  ///< max: never
    };

    /// @p tombstone: of a release: leave one. @p who changes something is not told of it.
    node_reply carry_out(node_command const&, clock::time_point now, bool tombstone = false, void const* who = nullptr);

    /// Keeps keys for no longer unless they are extended, and says so: as a store does whose locks end with a session.
    std::chrono::milliseconds session = std::chrono::milliseconds::max();

    /// Null if the key is not there or its time is over.
    entry* find(std::string_view key, clock::time_point now);

    std::map<std::string, entry, std::less<>> entries;
    std::map<std::string, std::uint64_t, std::less<>> counters;                   ///< by the lock's key
    std::map<std::pair<std::string, std::string>, clock::time_point> tombstones;  ///< by key and value: until when

    /// Who has been denied lately, by key, and whether they want to share it: until when that is remembered.
    std::map<std::string, std::pair<std::map<std::string, bool>, clock::time_point>, std::less<>> wanted;

    /// Who shares a lock, by key: until when. Means nothing unless the key holds `core::shared_word`.
    std::map<std::string, memory::readers, std::less<>> readers;

    /// Until when a process keeps a lock for its own waiters, by the lock's key.
    std::map<std::string, clock::time_point, std::less<>> handovers;

    /// Calls @p changed with @p key, of a lock, of its hand-overs, of who wants it or of who shares it, when it changes
    /// next, once, however often @p who has asked.
    void watch(std::string key, void const* who, std::function<void(std::string const&)> changed);
    void tell(std::string_view key, void const* except = nullptr);

    /// The same with what an acquisition that was denied waits for.
    void watch_taken(node_command const&, node_reply const&, void const* who,
                     std::function<void(std::string const&)> changed);
    std::map<std::string, std::vector<std::pair<void const*, std::function<void(std::string const&)>>>, std::less<>>
        watchers;

private:
    node_reply apply(node_command const&, clock::time_point now, bool tombstone, void const* who);
    node_reply acquire(node_command const&, clock::time_point now, void const* who);
    node_reply acquire_any(node_command const&, clock::time_point now, void const* who);
    node_reply raise(node_command const&);
    node_reply extend(node_command const&, clock::time_point now);
    node_reply release(node_command const&, clock::time_point now, void const* who);
    node_reply share(node_command const&, clock::time_point now, void const* who);
    node_reply extend_shared(node_command const&, clock::time_point now);
    node_reply release_shared(node_command const&, clock::time_point now, void const* who);
    node_reply upgrade(node_command const&, clock::time_point now, void const* who);
    node_reply have_alone(node_command const&, clock::time_point now, void const* who);
    node_reply downgrade(node_command const&, clock::time_point now);
    void enter(node_command const&, clock::time_point now);
    bool is_reader(node_command const&, clock::time_point now);
    bool others_want_it_alone(node_command const&, clock::time_point now) const;
    taken_key taken_key_of(node_command const&, std::size_t key, entry const&, clock::time_point now) const;
    void raise_ttl_or_set(std::string const& key, node_command const&, clock::time_point now);
    void forget_wish(std::string const& key, std::string_view contender, void const* who);
    void note_denied(std::string const& key, node_command const&, clock::time_point now);
    bool note_granted(std::string const& key, node_command const&, clock::time_point now, void const* who);
    void begin_handovers(std::string const& key, node_command const&, clock::time_point now, void const* who);
    void end_handovers(std::string_view key, void const* who);
    bool is_dead(node_command const&, clock::time_point now) const;
    bool raise_counters(node_command const&);
};

}  // namespace redlock::stores::memory
