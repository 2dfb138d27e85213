#pragma once

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <cstddef>
#include <deque>
#include <memory>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::zk {

/** Operations that are not sent yet, and the keys of those that are.

    What is about one key is carried out in the order in which it came, one after the other; all else at once.
*/
class waiting {
public:
    using operation = std::shared_ptr<node_operation>;

    /// Operations that are over, to be completed when nothing here is being changed.
    using finished = std::vector<std::pair<operation, node_reply>>;

    void add(operation o) { all_.push_back(std::move(o)); }

    /// Those that can be sent now.
    std::vector<operation> take(clock::time_point now, finished& over);

    /// Whether an operation about @p key is under way.
    bool is_busy(std::string_view key) const { return busy_.contains(key); }

    /// It has been answered.
    void free(node_operation const& o);

    /// There is no connection. What cannot wait for one is over; if it is known why there is none, that is all but what deletes.
    void refuse(node_reply const& trouble, finished& over);

    std::deque<operation> take_all() { return std::exchange(all_, {}); }

private:
    std::deque<operation> all_;
    std::set<std::string_view> busy_;  ///< of operations under way, whose commands they view
};

void complete(waiting::finished);

}  // namespace redlock::zk
