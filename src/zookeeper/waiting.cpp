#include "zookeeper/waiting.hpp"

#include "zookeeper/errand.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <iterator>
#include <optional>
#include <utility>

namespace redlock::zk {

namespace {

using kind = node_command::kind;

node_reply too_late()
{
    return {.untouched = true, .error = errc::node_unreachable};
}

// What needs no server.
std::optional<node_reply> answer_at_once(node_operation const& o, clock::time_point now)
{
    auto const& c = o.command();
    if (o.withdrawn() || now > o.not_after)
        return too_late();
    if (c.what == kind::connect)
        return node_reply{.vote = vote::granted};
    if (c.keys.size() > keys_max)
        return node_reply{.untouched = true, .error = errc::unsupported, .text = fmt::format("ZooKeeper locks {} resources at once at the most", keys_max)};
    return std::nullopt;
}

}  // namespace

void waiting::enter(operation o)
{
    auto& e = blocked_.emplace_back(entry{std::move(o)});
    e.self = std::prev(blocked_.end());
    for (auto const& key : e.what->command().keys) {
        auto const of = queues_.try_emplace(key).first;
        auto& q = of->second;
        e.behind += q.empty() ? 0 : 1;
        e.places.push_back({of, q.insert(q.end(), &e)});
    }
    if (e.behind == 0)
        ready_.splice(ready_.end(), blocked_, e.self);
}

void waiting::leave(place p)
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

void waiting::drop(std::list<entry>::iterator e)
{
    for (auto const& p : e->places)
        leave(p);
    (e->behind == 0 ? ready_ : blocked_).erase(e);
}

std::vector<waiting::operation> waiting::take(clock::time_point now, finished& over)
{
    for (auto& o : std::exchange(fresh_, {}))
        enter(std::move(o));
    std::vector<operation> sent;
    while (!ready_.empty()) {
        auto& e = ready_.front();
        if (auto reply = answer_at_once(*e.what, now)) {
            over.emplace_back(std::move(e.what), std::move(*reply));
            drop(ready_.begin());
            continue;
        }
        for (auto const& p : e.places)
            *p.at = nullptr;
        sent.push_back(std::move(e.what));
        ready_.pop_front();
    }
    return sent;
}

bool waiting::is_busy(std::string_view key) const
{
    auto const q = queues_.find(key);
    return q != queues_.end() && !q->second.front();
}

void waiting::free(node_operation const& o)
{
    for (auto const& key : o.command().keys) {
        if (auto const q = queues_.find(key); q != queues_.end())
            leave({q, q->second.begin()});
    }
}

void waiting::refuse(node_reply const& trouble, bool all, finished& over)
{
    auto const now = clock::now();
    auto const refused = [&](operation& o) {
        bool const deletes = o->command().what == node_command::kind::release || o->command().what == node_command::kind::withdraw;
        bool const is_late = o->withdrawn() || now > o->not_after;
        if (!is_late && (!trouble.error || deletes))
            return false;
        over.emplace_back(std::move(o), is_late ? too_late() : trouble);
        return true;
    };
    std::vector<std::list<entry>::iterator> gone;
    for (auto* const some : {&ready_, &blocked_}) {
        for (auto e = some->begin(); all && e != some->end(); ++e) {
            if (refused(e->what))
                gone.push_back(e);
        }
    }
    for (auto const e : gone)
        drop(e);
    for (auto& o : std::exchange(fresh_, {})) {
        if (!refused(o))
            enter(std::move(o));
    }
}

std::vector<waiting::operation> waiting::take_all()
{
    auto all = std::exchange(fresh_, {});
    for (auto* const some : {&ready_, &blocked_}) {
        for (auto& e : *some)
            all.push_back(std::move(e.what));
    }
    *this = {};
    return all;
}

void complete(waiting::finished all)
{
    for (auto& [operation, reply] : all)
        operation->complete(std::move(reply));
}

}  // namespace redlock::zk
