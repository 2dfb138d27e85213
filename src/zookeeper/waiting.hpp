#pragma once

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <cstddef>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::zk {

/** Operations that are not sent yet, and the keys of those that are.

    What is about one key is carried out in the order in which it came, one after the other; all else at once. Each operation stands in a queue
    for each of its keys, so that thousands that wait cost nothing until it is their turn.
*/
class waiting {
public:
    using operation = std::shared_ptr<node_operation>;

    /// Operations that are over, to be completed when nothing here is being changed.
    using finished = std::vector<std::pair<operation, node_reply>>;

    void add(operation o) { fresh_.push_back(std::move(o)); }

    /// Those that can be sent now.
    std::vector<operation> take(clock::time_point now, finished& over);

    /// Whether an operation about @p key is under way.
    bool is_busy(std::string_view key) const;

    /// It has been answered.
    void free(node_operation const& o);

    /// There is no connection. What cannot wait for one is over; if it is known why there is none, that is all but what deletes.
    /// @p all: those that were kept before, too
    void refuse(node_reply const& trouble, bool all, finished& over);

    std::vector<operation> take_all();

private:
    struct entry;
    using queue = std::list<entry*>;  ///< of one key; null: it is under way
    using queues = std::map<std::string, queue, std::less<>>;

    struct place {
        queues::iterator of;
        queue::iterator at;
    };
    struct entry {
        operation what;
        std::vector<place> places{};
        std::size_t behind = 0;  ///< in how many queues it is not the first
        std::list<entry>::iterator self{};
    };

    void enter(operation);
    void leave(place);
    void drop(std::list<entry>::iterator);

    std::vector<operation> fresh_;      ///< in no queue yet
    queues queues_;
    std::list<entry> ready_, blocked_;  ///< whether they are the first in all their queues
};

void complete(waiting::finished);

}  // namespace redlock::zk
