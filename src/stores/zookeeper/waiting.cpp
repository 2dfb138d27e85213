#include "stores/zookeeper/waiting.hpp"

#include "stores/zookeeper/errand.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

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
    auto const keys = o->command().keys;
    queues_.enter(std::move(o), keys);
}

std::vector<waiting::operation> waiting::take(clock::time_point now, finished& over)
{
    for (auto& o : std::exchange(fresh_, {}))
        enter(std::move(o));
    std::vector<operation> sent;
    while (queues_.any_ready()) {
        if (auto reply = answer_at_once(*queues_.front(), now)) {
            over.emplace_back(std::move(queues_.front()), std::move(*reply));
            queues_.drop_front();
        } else {
            sent.push_back(queues_.take_front());
        }
    }
    return sent;
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
    if (all)
        queues_.drop_if(refused);
    for (auto& o : std::exchange(fresh_, {})) {
        if (!refused(o))
            enter(std::move(o));
    }
}

std::vector<waiting::operation> waiting::take_all()
{
    auto all = std::exchange(fresh_, {});
    for (auto& o : queues_.take_all())
        all.push_back(std::move(o));
    return all;
}

void complete(waiting::finished all)
{
    for (auto& [operation, reply] : all)
        operation->complete(std::move(reply));
}

}  // namespace redlock::zk
