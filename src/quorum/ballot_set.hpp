#pragma once

#include "core/quorum.hpp"
#include "quorum/commands.hpp"
#include "quorum/grant.hpp"
#include "quorum/quorum_state.hpp"
#include "runtime/inline_function.hpp"

#include <redlock/clock.hpp>
#include <redlock/detail/recycler.hpp>
#include <redlock/node.hpp>

#include <cstddef>
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

/// One node's part in a round. It may live longer than the round waits: late answers are still handled.
class ballot final : public node_operation {
public:
    node_command const& command() const noexcept override;
    bool withdrawn() const noexcept override;
    void mark_sent(std::uint32_t connection) noexcept override;
    std::uint32_t sent_on() const noexcept override { return sent_on_; }
    std::uint32_t unanswered_on() const noexcept override;
    void complete(node_reply reply) override;

    /// Asks the node. It calls @p waiter with the vote, if the round still waits for it then.
    template <class Waiter>
    void ask(Waiter&& waiter)
    {
        waiter_ = std::forward<Waiter>(waiter);
        ask();
    }
    void ask();  ///< nobody waits for the vote

    /// For a release: asks the node again.
    void ask_again();

    /// A request that was not sent yet must not be sent. A release ignores this: it is always sent.
    void withdraw() noexcept { withdrawn_ = withdrawn_ || command().which() != node_command::kind::release; }

    /// Records the time from request to answer.
    void took(clock::duration);

    /// The round no longer waits for this node.
    void stop_waiting();

    /// Nobody waits for the vote any more: the execution context ends.
    void abandon() { waiter_.reset(); }

    /// The node has not answered in time. Notes the error, unless there is one.
    void set_error_of_silence();

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
    grant::request request() const noexcept;
    void check_grant();
    bool may_be_taken_away() const;
    void finish(vote);

    std::uint32_t sent_on_ = 0;
    bool withdrawn_ = false;
    runtime::inline_function<void(vote)> waiter_;
};

/// The command of one round, and how each node has voted.
class ballot_set {
public:
    /// @param viewed text that @p c views beside the keys and the value of @p about
    ballot_set(quorum_state& q, node_command const& c, std::shared_ptr<redlock::quorum::grant> about,
               std::shared_ptr<std::string const> viewed)
        : quorum(q),
          command(c),
          votes(about->nodes()),
          ballots(about->nodes()),
          grant_(std::move(about)),
          viewed_(std::move(viewed))
    {
    }

    /// The grant that the round asks for, or is about.
    std::shared_ptr<redlock::quorum::grant> const& grant() const noexcept { return grant_; }

    /// From now on, the round is about @p one, which has one of the keys.
    /// @return the former grant, whose keys the command views
    std::shared_ptr<redlock::quorum::grant> replace_grant(std::shared_ptr<redlock::quorum::grant> one) noexcept
    {
        return std::exchange(grant_, std::move(one));
    }

    quorum_state& quorum;
    node_command const command;  ///< the same for all nodes
    clock::time_point started;   ///< before the first byte was sent
    core::tally votes;
    std::vector<ballot, detail::recycler<ballot>> ballots;
    answer_listener* listener = nullptr;
    bool timed = false;  ///< measure the round trip of each node
    bool trims = false;  ///< it releases only some keys: see @ref to_trim

private:
    std::shared_ptr<redlock::quorum::grant> grant_;
    std::shared_ptr<std::string const> const viewed_;  ///< by the command
};

}  // namespace redlock::quorum
