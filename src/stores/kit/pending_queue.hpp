#pragma once

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <algorithm>
#include <cstddef>
#include <functional>
#include <iterator>
#include <list>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::kit {

using operation = std::shared_ptr<node_operation>;

/// Finished operations with their replies. The node completes them last, because a handler may call the node.
using finished = std::vector<std::pair<operation, node_reply>>;

void complete(finished);

/// The most keys that a command may have.
struct key_limit {
    std::string_view store{};  ///< such as "etcd"
    std::size_t keys_max = static_cast<std::size_t>(-1);
};

/// The reply to an operation, if no server is needed for it.
std::optional<node_reply> answer_at_once(node_operation const&, key_limit const&, clock::time_point now);

/// The reply to an operation, if it cannot wait for a connection. If the trouble is known, only deletions can wait.
std::optional<node_reply> refuse_to_wait(node_operation const&, node_reply const& trouble, clock::time_point now);

inline operation& operation_of(operation& o) { return o; }

/** Operations that are not sent yet, and the keys of operations that are under way.

    Operations with a common key run one after the other, in the order of their arrival. There is a queue for each key,
    and an @p Item is in the queues of all its keys. So a blocked operation costs no time until it is the first in all
    its queues. `operation_of` returns the operation of an item.
*/
template <class Item>
class pending_queue {
public:
    explicit pending_queue(key_limit limit = {}) : limit_(limit) {}

    void add(operation o) { fresh_.emplace_back(std::move(o)); }

    /// The first item that can be sent now. Null: there is none. Operations that need no server go to @p over.
    Item* front(clock::time_point now, finished& over)
    {
        for (auto& i : std::exchange(fresh_, {}))
            enter(std::move(i));
        while (!ready_.empty()) {
            auto& i = ready_.front().item;
            auto reply = answer_at_once(*operation_of(i), limit_, now);
            if (!reply)
                return &i;
            over.emplace_back(std::move(operation_of(i)), std::move(*reply));
            drop(ready_.begin());
        }
        return nullptr;
    }

    /// Removes the item that @ref front returned, and marks its keys as under way.
    Item take_front()
    {
        auto& e = ready_.front();
        for (auto const& p : e.places)
            *p.at = nullptr;
        auto item = std::move(e.item);
        ready_.pop_front();
        return item;
    }

    /// Takes all items that can be sent now.
    std::vector<Item> take(clock::time_point now, finished& over)
    {
        std::vector<Item> all;
        while (front(now, over))
            all.push_back(take_front());
        return all;
    }

    /// Whether an operation about @p key is under way.
    bool is_busy(std::string_view key) const
    {
        auto const q = queues_.find(key);
        return q != queues_.end() && !q->second.front();
    }

    /// Ends an operation that was under way, so that the next ones for its keys can be sent.
    void free(node_operation const& o)
    {
        for (auto const& key : o.command().keys) {
            if (auto const q = queues_.find(key); q != queues_.end())
                leave({q, q->second.begin()});
        }
    }

    /// Puts a taken item back in front of all others. Its keys must not be under way.
    void put_back(Item i) { enter(std::move(i), true); }

    /// There is no connection: moves the operations that cannot wait for one to @p over.
    /// @param all includes operations that earlier calls have kept
    void refuse(node_reply const& trouble, bool all, finished& over)
    {
        auto const is_refused = [&, now = clock::now()](Item& i) {
            auto& o = operation_of(i);
            auto reply = refuse_to_wait(*o, trouble, now);
            if (reply)
                over.emplace_back(std::move(o), std::move(*reply));
            return reply.has_value();
        };
        std::vector<typename entries::iterator> gone;
        for (auto* const some : {&ready_, &blocked_}) {
            for (auto e = all ? some->begin() : some->end(); e != some->end(); ++e) {
                if (is_refused(e->item))
                    gone.push_back(e);
            }
        }
        for (auto const e : gone)
            drop(e);
        for (auto& i : std::exchange(fresh_, {})) {
            if (!is_refused(i))
                enter(std::move(i));
        }
    }

    /// Removes and returns all waiting items, and forgets which keys are under way.
    std::vector<Item> take_all()
    {
        std::vector<Item> all;
        for (auto* const some : {&ready_, &blocked_}) {
            for (auto& e : std::exchange(*some, {}))
                all.push_back(std::move(e.item));
        }
        queues_.clear();
        std::ranges::move(std::exchange(fresh_, {}), std::back_inserter(all));
        return all;
    }

private:
    struct entry;
    using entries = std::list<entry>;
    using queue = std::list<entry*>;  ///< of one key; null: the key is under way
    using queues = std::map<std::string, queue, std::less<>>;

    struct place {
        typename queues::iterator of;
        typename queue::iterator at;
    };
    struct entry {
        Item item;
        std::vector<place> places{};
        std::size_t behind = 0;  ///< number of queues in which it is not the first
        typename entries::iterator self{};
    };

    void enter(Item i, bool first = false)
    {
        auto const keys = operation_of(i)->command().keys;
        auto& to = first ? ready_ : blocked_;
        auto const self = to.insert(first ? to.begin() : to.end(), entry{std::move(i)});
        self->self = self;
        for (auto const& key : keys) {
            auto const of = queues_.try_emplace(key).first;
            auto& q = of->second;
            if (first && !q.empty())
                block(*q.front());
            self->behind += first || q.empty() ? 0 : 1;
            self->places.push_back({of, q.insert(first ? q.begin() : q.end(), &*self)});
        }
        if (!first && self->behind == 0)
            ready_.splice(ready_.end(), blocked_, self);
    }

    void block(entry& e)
    {
        if (e.behind++ == 0)
            blocked_.splice(blocked_.end(), ready_, e.self);
    }

    void leave(place p)
    {
        auto& q = p.of->second;
        bool const was_first = p.at == q.begin();
        q.erase(p.at);
        if (q.empty()) {
            queues_.erase(p.of);
            return;
        }
        auto* const next = q.front();
        if (was_first && --next->behind == 0)
            ready_.splice(ready_.end(), blocked_, next->self);
    }

    void drop(typename entries::iterator e)
    {
        for (auto const& p : e->places)
            leave(p);
        (e->behind == 0 ? ready_ : blocked_).erase(e);
    }

    key_limit limit_;
    std::vector<Item> fresh_;  ///< in no queue yet
    queues queues_;
    entries ready_, blocked_;  ///< ready: items that are the first in all their queues
};

}  // namespace redlock::stores::kit
