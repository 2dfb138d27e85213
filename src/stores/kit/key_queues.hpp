#pragma once

#include <redlock/node.hpp>

#include <cstddef>
#include <list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::leases {

/** Operations that wait, and the keys of the operations that are under way.

    Operations about one key are carried out one after the other, in the order in which they came. Each @p T stands in a
    queue for each of its keys, so thousands of operations cost nothing until it is their turn.
*/
template <class T>
class key_queues {
public:
    /// Adds @p what behind all operations about one of @p keys.
    void enter(T what, key_view keys) { enter(std::move(what), keys, false); }

    /// Adds @p what in front of all operations about one of @p keys. None of the keys may be under way.
    void enter_first(T what, key_view keys) { enter(std::move(what), keys, true); }

    bool any_ready() const noexcept { return !ready_.empty(); }

    /// The first operation that can be carried out now.
    T& front() { return ready_.front().what; }

    /// Removes the first operation: it is over.
    void drop_front() { drop(ready_.begin()); }

    /// Removes the first operation and marks its keys as under way.
    T take_front()
    {
        auto& e = ready_.front();
        for (auto const& p : e.places)
            *p.at = nullptr;
        auto what = std::move(e.what);
        ready_.pop_front();
        return what;
    }

    /// The operation under way about @p keys has ended.
    void free(key_view keys)
    {
        for (auto const& key : keys) {
            if (auto const q = queues_.find(key); q != queues_.end())
                leave({q, q->second.begin()});
        }
    }

    bool is_busy(std::string_view key) const
    {
        auto const q = queues_.find(key);
        return q != queues_.end() && !q->second.front();
    }

    /// Removes the waiting operations for which @p is_over returns true. @p is_over may move them away.
    template <class Condition>
    void drop_if(Condition is_over)
    {
        std::vector<typename entries::iterator> gone;
        for (auto* const some : {&ready_, &blocked_}) {
            for (auto e = some->begin(); e != some->end(); ++e) {
                if (is_over(e->what))
                    gone.push_back(e);
            }
        }
        for (auto const e : gone)
            drop(e);
    }

    /// Removes and returns all waiting operations. The keys under way are forgotten.
    std::vector<T> take_all()
    {
        std::vector<T> all;
        for (auto* const some : {&ready_, &blocked_}) {
            for (auto& e : *some)
                all.push_back(std::move(e.what));
        }
        *this = {};
        return all;
    }

private:
    struct entry;
    using entries = std::list<entry>;
    using queue = std::list<entry*>;  ///< of one key; null: it is under way
    using queues = std::map<std::string, queue, std::less<>>;

    struct place {
        typename queues::iterator of;
        typename queue::iterator at;
    };
    struct entry {
        T what;
        std::vector<place> places{};
        std::size_t behind = 0;  ///< in how many queues it is not the first
        typename entries::iterator self{};
    };

    void enter(T what, key_view keys, bool first)
    {
        auto& to = first ? ready_ : blocked_;
        auto const self = to.insert(first ? to.begin() : to.end(), entry{std::move(what)});
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

    queues queues_;
    entries ready_, blocked_;  ///< whether they are the first in all their queues
};

}  // namespace redlock::leases
