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

/** Pending operations, and the transaction in flight.

    Operations that wait while a transaction is in flight share the next transaction, if it has room and their keys
    differ.
*/
class queue {
public:
    using transactions = std::vector<transaction>;
    using finished = kit::finished;

    void add(kit::operation o) { pending_.add(std::move(o)); }
    bool idle() const noexcept { return under_way_.empty(); }

    /// The next transaction, on connection number @p connection. etcd carries it out only if the session key @p key
    /// still holds that number. An empty @p key is no condition. Empty: nothing is pending.
    std::string next(std::string const& key, std::uint32_t connection, scope const&, finished& over);

    /// When the latest transaction was sent.
    clock::time_point sent() const noexcept { return sent_; }

    transactions take_under_way();
    transactions take_waiting() { return pending_.take_all(); }

    /// Puts back transactions that have changed nothing in etcd. They are sent before all others. @p alone: one by
    /// one.
    void send_again(transactions, bool alone = false);

    /// See @ref kit::pending_queue::refuse.
    void refuse(node_reply const& trouble, bool all, finished& over) { pending_.refuse(trouble, all, over); }

private:
    void add_extensions(transaction_text& to, scope const&);
    void choose(clock::time_point now, finished& over);
    bool has_room_for(transaction const&, std::size_t widest) const;

    kit::pending_queue<transaction> pending_{{.store = "etcd", .keys_max = keys_max}};
    transactions under_way_;
    clock::time_point sent_{};
};

}  // namespace redlock::stores::etcd
