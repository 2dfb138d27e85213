#pragma once

#include "stores/etcd/transaction.hpp"
#include "stores/kit/pending_queue.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace redlock::stores::etcd {

/** What is to be sent, and what is under way.

    Whatever waits while a transaction is under way goes together in the next one, as far as it has room and it is about
    different keys.
*/
class outbox {
public:
    using transactions = std::vector<transaction>;
    using finished = kit::finished;

    void add(kit::operation o) { queue_.add(std::move(o)); }
    bool idle() const noexcept { return under_way_.empty(); }

    /// The next transaction, on connection number @p connection, if the key @p session still holds that number. Empty:
    /// there is nothing to send.
    std::string next(std::string const& session, std::uint32_t connection, scope const&, finished& over);

    /// When the one that is under way was sent.
    clock::time_point sent() const noexcept { return sent_; }

    transactions take_under_way();
    transactions take_waiting() { return queue_.take_all(); }

    /// Nothing was done for them: they come before all others. @p alone: each by itself.
    void send_again(transactions, bool alone = false);

    /// See @ref kit::pending_queue::refuse.
    void refuse(node_reply const& trouble, bool all, finished& over) { queue_.refuse(trouble, all, over); }

private:
    void choose(clock::time_point now, finished& over);
    bool has_room_for(transaction const&, std::size_t widest) const;

    kit::pending_queue<transaction> queue_{{.store = "etcd", .keys_max = keys_max}};
    transactions under_way_;
    clock::time_point sent_{};
};

}  // namespace redlock::stores::etcd
