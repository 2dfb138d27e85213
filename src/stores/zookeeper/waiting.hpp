#pragma once

#include "stores/kit/key_queues.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::zk {

/// Operations that are not sent yet, and the keys of those that are.
class waiting {
public:
    using operation = std::shared_ptr<node_operation>;

    /// Operations that are over, to be completed when nothing here is being changed.
    using finished = std::vector<std::pair<operation, node_reply>>;

    void add(operation o) { fresh_.push_back(std::move(o)); }

    /// Those that can be sent now.
    std::vector<operation> take(clock::time_point now, finished& over);

    /// Whether an operation about @p key is under way.
    bool is_busy(std::string_view key) const { return queues_.is_busy(key); }

    /// It has been answered.
    void free(node_operation const& o) { queues_.free(o.command().keys); }

    /// There is no connection. What cannot wait for one is over; if it is known why there is none, that is all but what deletes.
    /// @p all: it also looks at those that earlier calls have kept.
    void refuse(node_reply const& trouble, bool all, finished& over);

    std::vector<operation> take_all();

private:
    void enter(operation o);

    std::vector<operation> fresh_;  ///< in no queue yet
    leases::key_queues<operation> queues_;
};

void complete(waiting::finished);

}  // namespace redlock::zk
