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

// How the server deletes a key if it holds a value: newer ones can do so without a script.
enum class deletion { script, delifeq, delex };

/// How the server comes to tell of changes to what denies an operation.
enum class tracked : std::uint8_t {
    nothing,
    script,  ///< it remembers what the script reads
    keys,  ///< of several keys: it remembers what `EXISTS` reads before the script. Up to Redis 7.0 a script would take
           ///< n² steps for n keys
};

/// How an operation is put to one server.
struct manner {
    deletion by = deletion::script;
    bool load_script = false;  ///< the server does not know the script: send it along
    bool tombstone = false;    ///< of a release: leave one
    bool checks_type = false;  ///< the server knows `SET … NX … GET`, which fails where the key is no string
    tracked tracks = tracked::nothing;

    friend bool operator==(manner, manner) = default;
};

/// The script that @p c is carried out with, or null if it is none.
script const* script_for(node_command const& c, manner);

/// How many commands of the server carry out @p c, apart from those that prepare it, and so how many replies are its
/// answer.
std::size_t commands_for(node_command const& c);

/// Turns commands into those of the server. One that goes to several servers in the same manner is encoded once.
class encoder {
public:
    /// Known again by its address: it stays, and stays as it is, until it is forgotten or another is encoded.
    redis::request const& encode(node_command const&, manner);

    /// The last command may go.
    void forget() noexcept { encoded_ = nullptr; }

private:
    void track(node_command const&, tracked);
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
    node_command const* encoded_ = nullptr;  ///< comparing all of its fields would take longer than what is done with
                                             ///< most of them
    manner how_;
    std::string fence_key_, tombstone_key_, wanted_key_, handovers_key_, readers_key_;  // kept for their memory
    script_call call_;
};

}  // namespace redlock::stores::redis
