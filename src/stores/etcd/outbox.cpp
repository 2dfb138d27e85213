#include "stores/etcd/outbox.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

namespace redlock::etcd_v3 {

namespace {

using kind = node_command::kind;

constexpr std::size_t steps_max = 128;   // etcd --max-txn-ops: at one place, and at those that it is in
constexpr std::size_t steps_of_key = 8;  // at the most

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
        return node_reply{.untouched = true, .error = errc::unsupported, .text = fmt::format("etcd locks {} resources at once at the most", keys_max)};
    return std::nullopt;
}

}  // namespace

// Neither its quota nor its access lists does etcd 3.4 hold against the steps of steps. So a transaction that adds to the database has one such
// at its own level: where it is not carried out, or, if the number is another one, does nothing.
std::string outbox::next(std::string const& session, std::uint32_t connection, scope const& s, finished& over)
{
    sent_ = clock::now();
    choose(sent_, over);
    if (under_way_.empty())
        return {};
    transaction_text all{{is_equal(session, to_text(connection))}, {}, {}};
    for (auto& t : under_way_) {
        t.operation->mark_sent(connection);
        all.then.push_back(t.text(s));
    }
    if (std::any_of(under_way_.begin(), under_way_.end(), [&](auto& t) { return t.adds(s); }))
        all.otherwise.push_back(put_as_it_is(session));
    return all.request();
}

void outbox::enter(transaction t)
{
    auto const keys = t.operation->command().keys;
    queues_.enter(std::move(t), keys);
}

// It stops when the transaction is full: the operations that wait behind are not looked at.
void outbox::choose(clock::time_point now, finished& over)
{
    for (auto& t : std::exchange(fresh_, {}))
        enter(std::move(t));
    std::size_t widest = 1;
    for (bool full = false; !full && queues_.any_ready();) {
        auto& t = queues_.front();
        if (auto reply = answer_at_once(*t.operation, now)) {
            over.emplace_back(std::move(t.operation), std::move(*reply));
            queues_.drop_front();
            continue;
        }
        if (!has_room_for(t, widest))
            return;
        widest = std::max(widest, t.operation->command().keys.size());
        full = t.alone;
        under_way_.push_back(queues_.take_front());
    }
}

outbox::transactions outbox::take_under_way()
{
    for (auto const& t : under_way_)
        queues_.free(t.operation->command().keys);
    return std::exchange(under_way_, {});
}

outbox::transactions outbox::take_waiting()
{
    auto all = queues_.take_all();
    for (auto& t : std::exchange(fresh_, {}))
        all.push_back(std::move(t));
    return all;
}

// Each key takes two conditions.
bool outbox::has_room_for(transaction const& t, std::size_t widest) const
{
    auto const width = std::max(widest, t.operation->command().keys.size());
    return under_way_.empty() || (!t.alone && under_way_.size() + 1 + 2 * width + steps_of_key <= steps_max);
}

void outbox::send_again(transactions all, bool alone)
{
    for (auto t = all.rbegin(); t != all.rend(); ++t) {
        t->alone = t->alone || alone;
        auto const keys = t->operation->command().keys;
        queues_.enter_first(std::move(*t), keys);
    }
}

void outbox::refuse(node_reply const& trouble, bool all, finished& over)
{
    auto const now = clock::now();
    auto const refused = [&](transaction& t) {
        auto const& o = *t.operation;
        bool const deletes = o.command().what == kind::release || o.command().what == kind::withdraw;
        bool const is_late = o.withdrawn() || now > o.not_after;
        if (!is_late && (!trouble.error || deletes))
            return false;
        over.emplace_back(std::move(t.operation), is_late ? too_late() : trouble);
        return true;
    };
    if (all)
        queues_.drop_if(refused);
    for (auto& t : std::exchange(fresh_, {})) {
        if (!refused(t))
            enter(std::move(t));
    }
}

void complete(outbox::finished all)
{
    for (auto& [operation, reply] : all)
        operation->complete(std::move(reply));
}

}  // namespace redlock::etcd_v3
