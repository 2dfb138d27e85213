#pragma once

#include "core/quorum.hpp"
#include "runtime/task.hpp"
#include "quorum/admission.hpp"
#include "quorum/grant.hpp"
#include "quorum/quorum_state.hpp"
#include "runtime/inline_function.hpp"

#include <redlock/clock.hpp>
#include <redlock/detail/recycler.hpp>
#include <redlock/node.hpp>
#include <redlock/report.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/container/small_vector.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::inline v1::quorum {

class ballot;
class round;

/// Gets each answer to a round, late ones included, before the vote counts.
class answer_listener {
public:
    virtual void answered(ballot&) = 0;

protected:
    ~answer_listener() = default;
};

/// Releases keys that nodes chose in vain, for an acquisition of any one of several keys.
class surplus_listener {
public:
    /// The node has chosen a key that is not needed, or may have chosen one.
    virtual void chose_in_vain(ballot const&) = 0;

protected:
    ~surplus_listener() = default;
};

/// The operation that the parallel group starts for one node.
struct cast_vote {
    redlock::quorum::round* round;
    std::size_t node;

    template <class CompletionToken>
    auto operator()(CompletionToken&& token);
};

/// One node's part in a round. It may live longer than the round waits: late answers are still handled.
class ballot final : public node_operation {
public:
    node_command const& command() const noexcept override;
    bool withdrawn() const noexcept override;
    void mark_sent(std::uint32_t connection) noexcept override;
    std::uint32_t sent_on() const noexcept override { return sent_on_; }
    std::uint32_t unanswered_on() const noexcept override;
    void complete(node_reply reply) override;

    /// A request that was not sent yet must not be sent. A release ignores this: it is always sent.
    void withdraw() noexcept { withdrawn_ = withdrawn_ || command().which() != node_command::kind::release; }

    /// Records the time from request to answer.
    void took(clock::duration);

    /// The round no longer waits for this node.
    void stop_waiting();

    /// The vote that counts. A grant counts as unknown if the node is in quarantine, or if a trim may delete the key.
    vote cast() const noexcept { return quarantined || revocable ? vote::unknown : reply.vote; }

    /// Whether the round waits for this node's answer.
    bool is_awaited() const noexcept { return !answered && !skipped && !out_of_time; }

    /// Whether the node has granted, and the grant counts.
    bool has_granted() const noexcept { return answered && cast() == vote::granted; }

    redlock::quorum::round* round = nullptr;
    node_reply reply;
    clock::time_point asked;  ///< when the round submitted it; the node sends it then or later
    std::uint32_t node = 0;
    std::uint32_t round_trip_us = 0;  ///< only if the round is timed
    std::uint8_t retries = 0;         ///< only of a release
    bool answered = false;            ///< the node has answered, perhaps late
    bool skipped = false;             ///< the node is not asked; its vote was known before
    bool out_of_time = false;         ///< the node's time was over before it had answered
    bool quarantined = false;         ///< the node granted, but may have forgotten another lock
    /// The node granted, but a late trim from an earlier connection may still delete the key.
    bool revocable = false;

private:
    friend class redlock::quorum::round;
    friend struct cast_vote;
    void settle();
    bool may_be_taken_away() const;
    void finish(vote);

    // For an acquisition: the record of the request in the grant. The latest round writes it.
    grant::trace* trace_ = nullptr;
    std::uint32_t sent_on_ = 0;
    bool withdrawn_ = false;
    runtime::inline_function<void(vote)> waiter_;  // the handler of the parallel group
};

/** One command to all nodes at once.

    It is used as a std::shared_ptr, because the nodes share it until each of them has answered.

    It has many functions because acquisitions, renewals, releases and inspections evaluate the votes in different ways.
*/
class round : public std::enable_shared_from_this<round>, public entrant {
public:
    round(quorum_state&, commands::variant what, key_list keys, std::string value, std::chrono::milliseconds ttl,
          redlock::mode = mode::exclusive);

    /// A round that connects. It waits longer than others, because the first connections need more time than a vote.
    /// When it is won and no node is awaited any more, it calls `node_set::set_met`.
    static std::shared_ptr<round> to_connect(quorum_state&);

    /** A round that asks all nodes of a set again whether they are new: see `commands::found`. Call it when all of them
        have said so. It waits for all nodes that it asks.

        The first answers have come one after the other. Between two of them, another manager may have founded the set
        and acquired a lock. A node that looks new may have forgotten this lock. If all nodes give the same answer
        again, all of them were new in the moment between the two times.
    */
    static std::shared_ptr<round> to_ask_if_new(quorum_state&);

    /// A round that founds the set. It asks the same nodes as @p asked, a round @ref to_ask_if_new.
    /// @return null: one of them has not granted
    static std::shared_ptr<round> to_found(round const& asked);

    /// A command about the keys and the value of @p about.
    round(quorum_state&, commands::variant what, std::shared_ptr<redlock::quorum::grant> about,
          std::chrono::milliseconds ttl);

    /// Does not ask node @p i; counts @p known as its vote.
    void skip(std::size_t i, vote known);

    /// For an acquisition: asks whether other processes want the lock, and for how long it is denied. If it wins and
    /// @p more_follow in this process, the nodes notify denied clients only at the end of these hand-overs.
    void contend(bool more_follow);

    /// For a round that contends or withdraws: names this manager.
    void name_contender();

    /// For a replacement: the value that the nodes replace.
    void replace(std::string former);

    /// For an acquisition of several keys that contends: keeps the keys that it gets, and adds them to those of earlier
    /// rounds.
    void grow();

    /// For an acquisition of several keys: any one of them suffices.
    void want_any() { command.as<commands::acquire>().any = true; }

    /// For an acquisition of any one of several keys: call it when the round is decided. If it is won, the round is
    /// from then on about the key that a quorum has chosen. Nodes that chose another key then count as denied. If it is
    /// lost, all choices are in vain. @p surplus gets the nodes that chose in vain, late ones included.
    void settle(surplus_listener& surplus);

    /// For a release: deletes only the keys from index @p first on. The value is still needed for the other keys, so
    /// no tombstone is left.
    void trim(std::size_t first);

    /// For an acquisition that contends: nodes that deny notify of the next change.
    void watch() { command.as<commands::acquire>().watch = true; }

    /// Sends to all nodes when the manager's @ref admission has a place. Completes when the votes are decided, or after
    /// @ref end_wait. From the sending on, it waits for each node for its `node_set::timeout`; a round that connects
    /// adds `manager_options::connect_timeout`. A vote that has not come by then counts as unknown, and the round goes
    /// on.
    auto gather()
    {
        return runtime::suspend_into(waiting_, [this] { start_gathering(); });
    }

    /// Sends to all nodes, at once or when there is a place, without waiting for answers.
    void send();

    /// For a release: asks node @p i again.
    void resend(std::size_t i);

    /// Ends the wait in @ref gather immediately.
    void end_wait();

    /// Destroys the coroutine that waits in @ref gather without resuming it, because the execution context ends.
    void abandon();

    bool decided() const noexcept;

    /// Whether no node was asked, because there was no place until @ref wait_for_place_until.
    bool found_no_place() const noexcept { return found_no_place_; }

    /// For an acquisition that contends: whether other clients want the lock.
    bool wanted() const noexcept;

    /// Whether every node has granted.
    bool all_granted() const noexcept
    {
        return std::all_of(ballots.begin(), ballots.end(), [](auto& b) { return b.has_granted(); });
    }

    /// For a round that is won: how long a quorum has promised the keys. At most the ttl.
    std::chrono::milliseconds promised() const;

    /// For a round that is won: whether it is so late that the manager would lose the lock immediately. @p max_hold as
    /// in `acquire_options`.
    bool came_too_late(clock::time_point decided_at, std::chrono::milliseconds max_hold) const;

    /// How many nodes granted but are in quarantine.
    std::size_t quarantined() const noexcept;

    /// Whether a node granted while a trim is unconfirmed. Such a grant never counts for this value.
    bool revocable() const noexcept;

    /// Returns `attempt_report::nodes`.
    std::vector<node_report> report() const;

    /// The grant that the round asks for, or is about.
    std::shared_ptr<redlock::quorum::grant> const& grant() const noexcept { return grant_; }

    quorum_state& quorum;
    node_command command;       ///< the same for all nodes; complete before the round is sent
    clock::time_point started;  ///< before the first byte was sent
    /// How long the round waits for a place.
    clock::time_point wait_for_place_until = clock::time_point::max();
    core::tally votes;
    std::vector<ballot, detail::recycler<ballot>> ballots;
    answer_listener* listener = nullptr;
    bool timed = false;          ///< measure the round trip of each node
    bool waits_for_all = false;  ///< for a release: a majority does not decide the round

private:
    friend class ballot;
    friend struct cast_vote;

    using group = boost::container::small_vector<cast_vote, 9>;
    struct group_done;
    void start_gathering();
    void gather_now();
    void send_now();
    bool needs_place() const noexcept;
    void stop_waiting_for_place();
    void completed_one();
    void ask_alone(std::size_t node);
    template <std::size_t Size = 1>
    void start_group(group const&);
    template <std::size_t... I>
    void start_group(group const&, std::index_sequence<I...>);
    void finish();
    asio::cancellation_type decide(vote);
    bool has_waited_for_all() const;
    static void set_error_of_silence(ballot&);
    void out_of_time();
    void stop_waiting();
    purpose aim() const noexcept override;
    outcome fate() const noexcept override;
    std::shared_ptr<void> owner() override { return shared_from_this(); }
    void admitted() noexcept override;
    clock::time_point due(ballot const&) const;
    clock::duration with_connection(clock::duration timeout) const;
    clock::duration time_for_majority() const;
    clock::time_point next_due() const;
    void end_waits_until(clock::time_point);
    bool rings_again_at(clock::time_point) noexcept;
    void prepare();
    clock::duration useful_for(ballot const&) const;
    void submit(std::size_t i);
    void count(vote);
    core::most_frequent most_chosen() const;

    std::shared_ptr<redlock::quorum::grant> grant_;
    /// Set when one of several keys was won: the original grant, whose keys the command views.
    std::shared_ptr<redlock::quorum::grant> asked_for_;
    surplus_listener* surplus_ = nullptr;  ///< set by @ref settle
    /// Viewed by the command: the contender, or the former value. Shared: a node may read the command when the manager
    /// no longer exists.
    contender_name viewed_;
    runtime::suspended waiting_;  ///< the coroutine in @ref gather
    runtime::alarm deadline_;
    bool overslept_ = false;
    bool out_of_time_ = false;
    bool found_no_place_ = false;
    bool gathers_ = false;  ///< somebody waits for the votes
    std::uint32_t completed_ = 0;
    bool counts_missing_ = false;  ///< no answer of these nodes will come: each one's vote counts, not only the first
    bool trims_ = false;
};

inline std::shared_ptr<round> round::to_ask_if_new(quorum_state& q)
{
    auto all = detail::make_recycled<round>(q, commands::found{.only_asks = true}, key_list(1), std::string(),
                                            std::chrono::milliseconds(0));
    all->waits_for_all = true;
    return all;
}

inline std::shared_ptr<round> round::to_found(round const& asked)
{
    if (!std::ranges::all_of(asked.ballots, [](auto& b) { return b.skipped || b.has_granted(); }))
        return nullptr;
    auto all = detail::make_recycled<round>(asked.quorum, commands::found{}, key_list(1), std::string(),
                                            std::chrono::milliseconds(0));
    all->waits_for_all = true;
    for (auto const& b : asked.ballots) {
        if (b.skipped)
            all->skip(b.node, b.reply.vote);
    }
    return all;
}

inline std::shared_ptr<round> round::to_connect(quorum_state& q)
{
    return detail::make_recycled<round>(q, commands::connect{}, key_list(1), std::string(),
                                        std::chrono::milliseconds(0));
}

}  // namespace redlock::quorum
