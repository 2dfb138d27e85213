#pragma once

#include "stores/redis/cluster_map.hpp"
#include "stores/redis/reply.hpp"
#include "stores/redis/request.hpp"

#include <redlock/clock.hpp>
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

/** From when on the slots of one master vote.

    A master that gets the slots of a dead one has never heard of the locks in them. So each master keeps a record of
    the slots that it has (@ref slots_script), for all managers. A slot that is new in the record is young, unless a
    manager vouches for it: the master that had it before is alive, and has handed it over.
*/
class slot_record {
public:
    static constexpr std::size_t questions = 2;

    /// Asks the master, which has a slot with the hash tag @p tag. @p vouched: slots that are not young, though they
    /// are new.
    static void ask(redis::request&, std::string_view prefix, std::string_view tag, slot_set const& vouched);

    /// Takes the answers to @ref ask.
    /// @param wait how long a young slot does not vote
    /// @return with an error: why nothing new is known
    node_reply read(std::span<reply const> answers, std::string_view tag, slot_set const& vouched, clock::duration wait,
                    clock::time_point now);

    /// Nothing: the master did not have it when it was asked last.
    std::optional<clock::time_point> votes_from(std::uint16_t slot) const;

    /// The master does not have it any more.
    void forget(std::uint16_t slot) { has_.reset(slot); }

    /// Whatever was known.
    void clear() { *this = {}; }

    /// When the last of its slots votes; the least time: all do.
    clock::time_point all_vote_from() const;

private:
    struct young {
        std::uint16_t first, last;
        std::chrono::milliseconds since;  ///< by the record
        clock::time_point votes_from;
    };

    bool take(std::string_view ranges, std::chrono::milliseconds age, clock::duration wait, clock::time_point now);
    void agree(slot_record const& earlier);
    void carry_over(slot_record const& earlier, slot_set const& vouched, clock::time_point votes_from);

    std::string tag_;  ///< empty: it has not been read
    slot_set has_;
    std::vector<young> young_;
    std::vector<young> kept_;  ///< of earlier records, under tags whose slots have left
};

}  // namespace redlock::stores::redis
