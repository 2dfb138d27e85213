#pragma once

#include "stores/kit/key_queues.hpp"

#include <redlock/clock.hpp>
#include <redlock/node.hpp>

#include <cstddef>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::leases {

using operation = std::shared_ptr<node_operation>;

/// Operations that are over, to be completed when nothing of the node is being changed.
using finished = std::vector<std::pair<operation, node_reply>>;

void complete(finished);

/// How many keys a command may have.
struct key_limit {
    std::string_view store{};  ///< "etcd"
    std::size_t keys_max = static_cast<std::size_t>(-1);
};

/// The reply to an operation that needs no server.
std::optional<node_reply> answer_at_once(node_operation const&, key_limit const&, clock::time_point now);

/// The reply to an operation that cannot wait for a connection. If it is known why there is none, only what deletes can.
std::optional<node_reply> answer_without_connection(node_operation const&, node_reply const& trouble, clock::time_point now);

inline operation& operation_of(operation& o)
{
    return o;
}

/// Operations that are not sent yet, and the keys of those that are. `operation_of` returns the operation of an @p Item.
template <class Item>
class pending_queue {
public:
    explicit pending_queue(key_limit limit = {}) : limit_(limit) {}

    void add(operation o) { fresh_.emplace_back(std::move(o)); }

    /// The first one that can be sent now. Null: there is none. What needs no server is over.
    Item* front(clock::time_point now, finished& over)
    {
        for (auto& i : std::exchange(fresh_, {}))
            enter(std::move(i));
        while (queues_.any_ready()) {
            auto& o = operation_of(queues_.front());
            auto reply = answer_at_once(*o, limit_, now);
            if (!reply)
                return &queues_.front();
            over.emplace_back(std::move(o), std::move(*reply));
            queues_.drop_front();
        }
        return nullptr;
    }

    /// Removes it: it is under way.
    Item take_front() { return queues_.take_front(); }

    /// All that can be sent now.
    std::vector<Item> take(clock::time_point now, finished& over)
    {
        std::vector<Item> ready;
        while (front(now, over))
            ready.push_back(take_front());
        return ready;
    }

    /// Whether an operation about @p key is under way.
    bool is_busy(std::string_view key) const { return queues_.is_busy(key); }

    /// The operation is not under way any more.
    void free(node_operation const& o) { queues_.free(o.command().keys); }

    /// Adds what was taken before all others.
    void put_back(Item i)
    {
        auto const keys = operation_of(i)->command().keys;
        queues_.enter_first(std::move(i), keys);
    }

    /// There is no connection. What cannot wait for one is over. @p all: it also looks at those that earlier calls have kept.
    void refuse(node_reply const& trouble, bool all, finished& over)
    {
        auto const is_refused = [&, now = clock::now()](Item& i) {
            auto& o = operation_of(i);
            auto reply = answer_without_connection(*o, trouble, now);
            if (reply)
                over.emplace_back(std::move(o), std::move(*reply));
            return reply.has_value();
        };
        if (all)
            queues_.drop_if(is_refused);
        for (auto& i : std::exchange(fresh_, {})) {
            if (!is_refused(i))
                enter(std::move(i));
        }
    }

    std::vector<Item> take_all()
    {
        auto all = queues_.take_all();
        for (auto& i : std::exchange(fresh_, {}))
            all.push_back(std::move(i));
        return all;
    }

private:
    void enter(Item i)
    {
        auto const keys = operation_of(i)->command().keys;
        queues_.enter(std::move(i), keys);
    }

    key_limit limit_;
    std::vector<Item> fresh_;  ///< in no queue yet
    key_queues<Item> queues_;
};

}  // namespace redlock::leases
