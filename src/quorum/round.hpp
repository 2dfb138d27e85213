#pragma once

#include "core/quorum.hpp"
#include "runtime/task.hpp"
#include "quorum/grant.hpp"
#include "quorum/quorum_state.hpp"
#include "runtime/inline_function.hpp"

#include <redlock/clock.hpp>
#include <redlock/detail/recycler.hpp>
#include <redlock/node.hpp>
#include <redlock/options.hpp>

#include <boost/asio/async_result.hpp>
#include <boost/asio/cancellation_type.hpp>
#include <boost/container/small_vector.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::inline v0::quorum {

class ballot;
class round;

/// Who hears each answer to a round, however late, before it counts.
class answer_listener {
public:
    virtual void answered(ballot&) = 0;

protected:
    ~answer_listener() = default;
};

/// Who gives back what nodes have chosen for an acquisition that wants any of several, but for the one that it has won.
class surplus_listener {
public:
    /// The node has chosen one that is not needed, or may have.
    virtual void chose_in_vain(ballot const&) = 0;

protected:
    ~surplus_listener() = default;
};

/// What the parallel group starts for one node.
struct cast_vote {
    redlock::quorum::round* round;
    std::size_t node;

    template <class CompletionToken>
    auto operator()(CompletionToken&& token);
};

/// One node's part in a round. It may outlast the round's decision: late answers are still of use.
class ballot final : public node_operation {
public:
    node_command const& command() const noexcept override;
    bool withdrawn() const noexcept override;
    void mark_sent(std::uint32_t connection) noexcept override;
    std::uint32_t sent_on() const noexcept override { return sent_on_; }
    std::uint32_t unanswered_on() const noexcept override;
    void complete(node_reply reply) override;

    /// What was not sent yet will not be, unless it is a release: that is always wanted.
    void withdraw() noexcept { withdrawn_ = withdrawn_ || command().what != node_command::kind::release; }

    /// Its answer has come so long after it was asked.
    void took(clock::duration);

    /// Nobody waits any more.
    void stop_waiting();

    /// What it counts as; the node may have said yes.
    vote cast() const noexcept { return quarantined || revocable ? vote::unknown : reply.vote; }

    /// It has, and that counts.
    bool has_granted() const noexcept { return answered && cast() == vote::granted; }

    redlock::quorum::round* round = nullptr;
    node_reply reply;
    clock::time_point asked;  ///< when it was submitted; the node sends it then or later
    std::uint32_t node = 0;
    std::uint32_t round_trip_us = 0;  ///< if the round is timed
    std::uint8_t retries = 0;         ///< of a release
    bool answered = false;            ///< by the node, however late
    bool skipped = false;             ///< the node is not asked; its vote was known before
    bool quarantined = false;         ///< it would have granted, but may have forgotten another lock
    bool revocable = false;  ///< likewise, but what was given back on an earlier connection may still arrive, and take
                             ///< it away

private:
    friend class redlock::quorum::round;
    friend struct cast_vote;
    void settle();
    bool may_be_taken_away() const;
    void finish(vote);

    grant::trace* trace_ = nullptr;  // of an acquisition: what becomes of it is noted there, by the latest of its
                                     // rounds
    std::uint32_t sent_on_ = 0;
    bool withdrawn_ = false;
    runtime::inline_function<void(vote)> waiter_;  // the parallel group
};

/** One question to all nodes, asked at the same moment.

    Used as a std::shared_ptr: the nodes share it until each of them has answered.

    It has many functions because acquisitions, renewals, releases and inspections each read something else of the
    votes.
*/
class round : public std::enable_shared_from_this<round> {
public:
    round(quorum_state&, node_command::kind what, key_list keys, std::string value, std::chrono::milliseconds ttl,
          redlock::mode = mode::exclusive);

    /// The first connections take longer than a vote may. If it is won, a quorum has been met.
    static std::shared_ptr<round> to_connect(quorum_state&);

    /// About the keys and the value of @p about.
    round(quorum_state&, node_command::kind what, std::shared_ptr<redlock::quorum::grant> about,
          std::chrono::milliseconds ttl);

    /// Takes node @p i out of the round: it counts as having cast @p known.
    void skip(std::size_t i, vote known);

    /// Of an acquisition: asks whether other processes want the lock, too, and for how long it is denied. If it wins,
    /// and
    /// @p more_follow in this process, those who are denied are told of the end of all that.
    void contend(bool more_follow);

    /// Of one that contends or withdraws: says who asks.
    void name_contender();

    /// Of one that contends, for several keys: keeps what it can get of them, and adds to what earlier rounds have
    /// kept.
    void grow();

    /// Of an acquisition of several keys: wants any of them.
    void want_any() noexcept { command.any = true; }

    /// Of one that wants any, when it is decided: if it is won, it is from now on about what a quorum has chosen, and
    /// nothing else. @p surplus hears of the nodes that have chosen in vain, also of those that answer later; they
    /// count as having denied.
    void settle(surplus_listener& surplus);

    /// Of a release: only of the keys from number @p first on. The value is needed still.
    void trim(std::size_t first);

    /// Of one that contends: asks the nodes that deny to tell of the next change.
    void watch() noexcept { command.watch = true; }

    /// Sends to all nodes; completes when the votes are decided, when `config::node_timeout` is over, or when the wait
    /// is ended.
    auto gather()
    {
        return runtime::suspend_into(waiting_, [this] { start_gathering(); });
    }

    /// Sends to all nodes without waiting for anything.
    void send();

    /// Of a release: asks node @p i once more.
    void resend(std::size_t i);

    /// Ends the wait in @ref gather at once.
    void end_wait();

    /// Destroys who waits in @ref gather, without a word: the execution context goes.
    void abandon();

    bool decided() const noexcept;

    /// Of an acquisition that contends: whether some want it, too.
    bool wanted() const noexcept;

    /// Of one that is won: for how long a quorum has promised what was asked for. The ttl, or less.
    std::chrono::milliseconds promised() const;

    /// For a round that is won: whether the manager would lose the lock as soon as it hands it out.
    /// @p max_hold as in `acquire_options`.
    bool came_too_late(clock::time_point decided_at, std::chrono::milliseconds max_hold) const;

    /// The nodes that would have granted, were they not quarantined.
    std::size_t quarantined() const noexcept;

    /// Whether a node would have granted, were what was given back before confirmed. It never will, for this value.
    bool revocable() const noexcept;

    /// For `attempt_report::nodes`.
    std::vector<node_report> report() const;

    /// What it asks for, or is about.
    std::shared_ptr<redlock::quorum::grant> const& grant() const noexcept { return grant_; }

    quorum_state& quorum;
    node_command command;       ///< the same for all nodes; complete before it is sent
    clock::time_point started;  ///< before the first byte left
    core::tally votes;
    std::vector<ballot, detail::recycler<ballot>> ballots;
    answer_listener* listener = nullptr;
    bool timed = false;  ///< whether somebody wants to know how long each node took

private:
    friend class ballot;
    friend struct cast_vote;

    using group = boost::container::small_vector<cast_vote, 9>;
    struct group_done;
    void start_gathering();
    void ask_alone(std::size_t node);
    template <std::size_t Size = 1>
    void start_group(group const&);
    template <std::size_t... I>
    void start_group(group const&, std::index_sequence<I...>);
    void finish();
    asio::cancellation_type decide(vote);
    bool has_waited_for_all() const;
    void out_of_time();
    void stop_waiting();
    clock::duration patience() const;
    void prepare();
    clock::duration useful_for(ballot const&) const;
    void submit(std::size_t i);
    void count(vote);
    core::most_frequent most_chosen() const;

    std::shared_ptr<redlock::quorum::grant> grant_;
    std::shared_ptr<redlock::quorum::grant> asked_for_;  ///< if it was won with one of these, which the command views
    surplus_listener* surplus_ = nullptr;                ///< once it is settled
    contender_name contender_{};  ///< a copy: a node may look at the command when the manager is gone
    runtime::suspended waiting_;  ///< in @ref gather
    runtime::alarm deadline_;
    bool overslept_ = false;
    bool out_of_time_ = false;
    bool ended_early_ = false;
    bool trims_ = false;
};

inline std::shared_ptr<round> round::to_connect(quorum_state& q)
{
    return detail::make_recycled<round>(q, node_command::kind::connect, key_list(1), std::string(),
                                        std::chrono::milliseconds(0));
}

}  // namespace redlock::quorum
