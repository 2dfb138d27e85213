#pragma once

#include "stores/etcd/transaction.hpp"
#include "stores/kit/key_queues.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace redlock::etcd_v3 {

/** What is to be sent, and what is under way.

    Whatever waits while a transaction is under way goes together in the next one, as far as it has room and it is about different keys.
*/
class outbox {
public:
    using transactions = std::vector<transaction>;

    /// Operations that are over, to be completed when nothing here is being changed.
    using finished = std::vector<std::pair<std::shared_ptr<node_operation>, node_reply>>;

    void add(std::shared_ptr<node_operation> o) { fresh_.emplace_back(std::move(o)); }
    bool idle() const noexcept { return under_way_.empty(); }

    /// The next transaction, on connection number @p connection, if the key @p session still holds that number. Empty: there is nothing to send.
    std::string next(std::string const& session, std::uint32_t connection, scope const&, finished& over);

    /// When the one that is under way was sent.
    clock::time_point sent() const noexcept { return sent_; }

    transactions take_under_way();
    transactions take_waiting();

    /// Nothing was done for them: they come before all others. @p alone: each by itself.
    void send_again(transactions, bool alone = false);

    /// There is no connection. What cannot wait for one is over; if it is known why there is none, that is all but what deletes.
    /// @p all: it also looks at those that earlier calls have kept.
    void refuse(node_reply const& trouble, bool all, finished& over);

private:
    void enter(transaction);
    void choose(clock::time_point now, finished& over);
    bool has_room_for(transaction const&, std::size_t widest) const;

    transactions fresh_;  ///< in no queue yet
    leases::key_queues<transaction> queues_;
    transactions under_way_;
    clock::time_point sent_{};
};

void complete(outbox::finished);

}  // namespace redlock::etcd_v3
