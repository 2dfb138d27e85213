#include "zookeeper/waiting.hpp"

#include "zookeeper/errand.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <algorithm>
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

std::vector<waiting::operation> waiting::take(clock::time_point now, finished& over)
{
    std::vector<operation> ready;
    std::deque<operation> left;
    auto busy = busy_;
    for (auto& o : all_) {
        if (auto reply = answer_at_once(*o, now)) {
            over.emplace_back(std::move(o), std::move(*reply));
            continue;
        }
        auto const& keys = o->command().keys;
        bool const is_free = std::none_of(keys.begin(), keys.end(), [&](auto& k) { return busy.contains(k); });
        busy.insert(keys.begin(), keys.end());
        if (!is_free) {
            left.push_back(std::move(o));
            continue;
        }
        busy_.insert(keys.begin(), keys.end());
        ready.push_back(std::move(o));
    }
    all_ = std::move(left);
    return ready;
}

void waiting::free(node_operation const& o)
{
    for (auto const& key : o.command().keys)
        busy_.erase(key);
}

void waiting::refuse(node_reply const& trouble, finished& over)
{
    auto const now = clock::now();
    std::deque<operation> left;
    for (auto& o : all_) {
        bool const deletes = o->command().what == kind::release || o->command().what == kind::withdraw;
        if (o->withdrawn() || now > o->not_after)
            over.emplace_back(std::move(o), too_late());
        else if (trouble.error && !deletes)
            over.emplace_back(std::move(o), trouble);
        else
            left.push_back(std::move(o));
    }
    all_ = std::move(left);
}

void complete(waiting::finished all)
{
    for (auto& [operation, reply] : all)
        operation->complete(std::move(reply));
}

}  // namespace redlock::zk
