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

/** The times from which the slots of one master vote.

    If a master gets the slots of a failed master, it does not know the locks in them. So each master keeps a record of
    its slots (@ref slots_script), for all managers. A slot that is new in the record is "young", and does not vote for
    a while.

    A manager vouches for a slot if the previous master is alive and has handed it over. Then the slot is not young.
*/
class slot_record {
public:
    static constexpr std::size_t questions = 2;

    /// Asks the master for its record.
    /// @param tag a hash tag in one of its slots
    /// @param vouched new slots that are not young
    static void ask(redis::request&, std::string_view prefix, std::string_view tag, slot_set const& vouched);

    /// Reads the answers to @ref ask.
    /// @param wait for how long a young slot does not vote
    /// @return with an error: why the answers are of no use
    node_reply read(std::span<reply const> answers, std::string_view tag, slot_set const& vouched, clock::duration wait,
                    clock::time_point now);

    /// Nothing: the master did not own the slot at the last answer.
    std::optional<clock::time_point> votes_from(std::uint16_t slot) const;

    /// The master does not own the slot any more.
    void forget(std::uint16_t slot) { has_.reset(slot); }

    void clear() { *this = {}; }

    /// The time from which all slots vote. The least time: all slots vote already.
    clock::time_point all_vote_from() const;

private:
    struct young {
        std::uint16_t first, last;
        std::chrono::milliseconds since;  ///< age of the tenure when the slots came, from the record
        clock::time_point votes_from;
    };

    bool take(std::string_view ranges, std::chrono::milliseconds age, clock::duration wait, clock::time_point now);
    void agree(slot_record const& earlier);
    void carry_over(slot_record const& earlier, slot_set const& vouched, clock::time_point votes_from);

    std::string tag_;  ///< empty: nothing has been read
    slot_set has_;
    std::vector<young> young_;
    std::vector<young> kept_;  ///< young slots of earlier records, which were under tags of slots that have left
};

}  // namespace redlock::stores::redis
