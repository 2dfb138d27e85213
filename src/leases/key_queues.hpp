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

/** What waits to be carried out, and the keys of what is under way.

    What is about one key is carried out in the order in which it came, one after the other. Each @p T stands in a queue for each of its keys,
    so that thousands that wait cost nothing until it is their turn.
*/
template <class T>
class key_queues {
public:
    /// Behind all that is about one of @p keys.
    void enter(T what, key_view keys) { enter(std::move(what), keys, false); }

    /// In front of all that is about one of @p keys, none of which is under way.
    void enter_first(T what, key_view keys) { enter(std::move(what), keys, true); }

    bool any_ready() const noexcept { return !ready_.empty(); }

    /// The first that can be carried out now.
    T& front() { return ready_.front().what; }

    /// It is over.
    void drop_front() { drop(ready_.begin()); }

    /// It is under way from now on.
    T take_front()
    {
        auto& e = ready_.front();
        for (auto const& p : e.places)
            *p.at = nullptr;
        auto what = std::move(e.what);
        ready_.pop_front();
        return what;
    }

    /// What was under way is so no longer.
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

    /// Those that wait and of which @p is_over says so, which may move them.
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

    /// All that wait. What is under way is forgotten.
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
