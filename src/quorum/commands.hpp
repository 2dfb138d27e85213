#pragma once

#include "quorum/grant.hpp"
#include "quorum/quorum_state.hpp"

#include <redlock/mode.hpp>
#include <redlock/node.hpp>

#include <boost/container/small_vector.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::inline v1::quorum {

/// All that a round asks: a command about a grant, and the nodes that it skips.
class round_command {
public:
    struct known_vote {
        std::uint32_t node;
        redlock::vote vote;
    };

    /// A command about the keys and the value of @p about, for all nodes.
    round_command(commands::variant what, std::shared_ptr<grant> about, std::chrono::milliseconds ttl);

    /// A command about other keys, for all nodes.
    round_command(quorum_state const&, commands::variant what, key_list keys, std::string value,
                  std::chrono::milliseconds ttl, mode m = mode::exclusive);

    /// Does not ask node @p i; counts @p known as its vote.
    void skip(std::size_t i, vote known) { skipped.push_back({static_cast<std::uint32_t>(i), known}); }

    /// Asks only the nodes for whose index @p is_asked returns true; counts @p known as the vote of the others.
    template <class IsAsked>
    void ask_only(IsAsked is_asked, vote known = vote::denied)
    {
        for (std::size_t i = 0; i < about->nodes(); ++i) {
            if (!is_asked(i))
                skip(i, known);
        }
    }

    /// For an acquisition, an upgrade or a withdrawal: names this manager.
    void name_contender(contender_name);

    /// For an acquisition: asks whether other processes want the lock, and for how long it is denied. If it wins and
    /// @p more_follow in this process, the nodes notify denied clients only at the end of these hand-overs.
    void contend(contender_name, bool more_follow);

    /// For an acquisition of several keys that contends: keeps the keys that it gets, and adds them to those of earlier
    /// rounds.
    void grow();

    std::shared_ptr<grant> about;  ///< the grant that the command asks for, or is about
    node_command command;          ///< views the keys and the value of @ref about
    /// Viewed by the command, too: the contender, or the former value. Shared: a node may read the command when the
    /// manager no longer exists.
    std::shared_ptr<std::string const> viewed{};
    boost::container::small_vector<known_vote, 9> skipped{};
    bool trims = false;          ///< it is a release of some keys: see @ref to_trim
    bool waits_for_all = false;  ///< a majority does not decide the round
};

/// A command for the nodes that may have the keys of @p about. The others count as denied.
round_command to_holders(commands::variant what, std::shared_ptr<grant> about, std::chrono::milliseconds ttl);

/// Waits longer than other commands, because the first connections need more time than a vote. When the round is won
/// and no node is awaited any more, it calls `node_set::set_met`.
round_command to_connect(quorum_state const&);

/** Asks all nodes of a set again whether they are new: see `commands::found`. Use it when all of them have said so. The
    round waits for all nodes that it asks.

    The first answers have come one after the other. Between two of them, another manager may have founded the set and
    acquired a lock. A node that looks new may have forgotten this lock. If all nodes give the same answer again, all of
    them were new in the moment between the two times.
*/
round_command to_ask_if_new(quorum_state const&);

/// Releases all keys. If waiters of this process were to follow, it ends the hand-overs.
round_command to_release(std::shared_ptr<grant>, std::chrono::milliseconds ttl);

/// Releases only the keys from index @p kept on. The value is still needed for the other keys, so no tombstone is left.
/// @p ours says how many keys each node has set. Nodes with at most @p kept keys are skipped.
round_command to_trim(std::shared_ptr<grant>, std::span<std::size_t const> ours, std::size_t kept,
                      std::chrono::milliseconds ttl);

/// Another process takes the lock over: its new value, that of the grant, replaces @p former.
round_command to_replace(std::string former, std::shared_ptr<grant>, std::chrono::milliseconds ttl);

/// This manager no longer waits for the keys. Nobody needs to wait for the answers.
round_command to_withdraw(quorum_state const&, key_list keys, std::chrono::milliseconds ttl);

/// Which of the rounds that an admission limits goes first.
entrant::purpose purpose_of(node_command const&) noexcept;

}  // namespace redlock::quorum
