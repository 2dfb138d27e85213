#pragma once

#include "core/server_memory.hpp"
#include "net/url.hpp"
#include "stores/redis/cluster_map.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"

#include <redlock/clock.hpp>
#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>

#include <bitset>
#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace redlock::stores::redis {

using slot_set = std::bitset<slot_count>;

/// The answer to `CONFIG GET *appendfsync*`: whether each write is on the disk before it is answered.
enum class log_policy : std::uint8_t { unknown, synced, not_synced };

log_policy read_log_policy(reply const&);

/// A server's answer about its record. scripts/record.lua writes it.
struct server_record {
    core::memory_record memory{};
    /// A range of slots of a master, and the age of the word when they came.
    struct range {
        std::uint16_t first, last;
        std::chrono::milliseconds since;

        friend bool operator==(range const&, range const&) = default;
    };
    std::vector<range> slots{};
    std::vector<std::string> other_settings{};  ///< of other clients: see shared_settings
};

/// The question for a server's record. The server signs it: it notes which process of the server has the data, and
/// whether its log is durable.
class record_question {
public:
    record_question(net::url const& server, manager_options const&);

    struct details {
        std::string_view word{};  ///< different in each call
        log_policy policy = log_policy::unknown;
        std::string_view verdict{};  ///< on a fresh record: see core::server_memory::verdict
        /// Slots that a living master has handed over: they are not young.
        slot_set const* vouched = nullptr;
    };

    void ask(redis::request&, details const&) const;

    /// @return with an error: why there is no record
    node_reply read(reply const&, std::string_view secret, server_record&) const;

    /// The key of the record. In a cluster it is in one of the master's slots.
    std::string const& key() const noexcept { return key_; }

    /// The master has lost the slot of the key.
    void move_to(std::string_view tag);

private:
    bool const is_member_;
    std::string const prefix_, holds_, settings_;
    std::string key_, settings_key_;
};

/// The times from which the slots of a master vote.
class slot_times {
public:
    /// The master has told its record.
    /// @param wait for how long a young slot does not vote
    void told(server_record const&, clock::duration wait, clock::time_point now);

    /// Nothing: the master did not own the slot at the last answer.
    std::optional<clock::time_point> votes_from(std::uint16_t slot) const;

    /// The master does not own the slot any more.
    void forget(std::uint16_t slot) { has_.reset(slot); }

    /// The time from which all slots vote. The least time: all slots vote already.
    clock::time_point all_vote_from() const;

private:
    struct young {
        std::uint16_t first, last;
        std::chrono::milliseconds since;
        clock::time_point votes_from;
    };

    slot_set has_;
    std::vector<young> young_;
};

}  // namespace redlock::stores::redis
