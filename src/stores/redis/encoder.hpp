#pragma once

#include "stores/redis/request.hpp"
#include "stores/redis/script_call.hpp"
#include "stores/redis/scripts.hpp"

#include <redlock/node.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::stores::redis {

// How the client deletes a key only if it holds a given value. Newer servers can do this without a script.
enum class deletion { script, delifeq, delex };

/// How an operation is encoded for one server.
struct manner {
    deletion by = deletion::script;
    bool load_script = false;  ///< the server does not know the script, so the request loads it
    bool tombstone = false;    ///< a release leaves a tombstone
    bool checks_type = false;  ///< the server knows `SET … NX … GET`, which fails if the key is not a string
    bool tracks = false;       ///< the server also tracks the key, and for an upgrade its readers: see @ref track

    friend bool operator==(manner, manner) = default;
};

/// The script that executes @p c. Null: native commands execute it.
script const* script_for(node_command const& c, manner);

/// The number of server commands that execute @p c, without those that prepare it. Each gives one reply.
std::size_t commands_for(node_command const& c);

/** Adds the commands that make the server track @p key: it sends a push when the key changes, or is deleted.

    The second answer is the key's time to live. If there is no such key, the server would remember it for ever, unless
    somebody sets it. So ask only about keys that exist.
*/
void track(redis::request&, std::string_view key);

/// The number of commands that @ref track adds.
inline constexpr std::size_t tracking_commands = 2;

/// Makes the server forget a tracked @p key that does not exist. It must not be that of a lock.
void untrack(redis::request&, std::string_view key);

/// Encodes node commands as server commands. A command that goes to several servers in the same manner is encoded once.
class encoder {
public:
    /// The encoder recognizes the last command by its address. The caller must not change or destroy it before the next
    /// call of @ref encode or @ref forget.
    redis::request const& encode(node_command const&, manner);

    /// Forgets the last command, which may then be destroyed.
    void forget() noexcept { encoded_ = nullptr; }

private:
    void withdraw(node_command const&);
    void call(script const&, node_command const&, manner);
    void call_to_acquire(node_command const&);
    void native(node_command const&, manner);
    void raise_counter(node_command const&);
    template <class PutKey>
    void add_keys(node_command const&, PutKey, std::string& key);
    void add_tombstone(node_command const&);
    template <class... Options>
    void propose(node_command const&, Options const&...);

    redis::request request_;
    node_command const* encoded_ = nullptr;  ///< compared by address: comparing all fields costs more than encoding
    manner how_;
    std::string fence_key_, tombstone_key_, wanted_key_, handovers_key_, readers_key_;  // reuse their memory
    script_call call_;
};

}  // namespace redlock::stores::redis
