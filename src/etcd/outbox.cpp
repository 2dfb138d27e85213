#include "etcd/outbox.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string_view>

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

void outbox::choose(clock::time_point now, finished& over)
{
    std::set<std::string_view> busy;
    std::size_t widest = 1;
    bool full = false;
    transactions left;
    for (auto& t : waiting_) {
        if (auto reply = answer_at_once(*t.operation, now)) {
            over.emplace_back(std::move(t.operation), std::move(*reply));
            continue;
        }
        auto const& keys = t.operation->command().keys;
        bool const is_free = std::none_of(keys.begin(), keys.end(), [&](auto& k) { return busy.contains(k); });
        busy.insert(keys.begin(), keys.end());
        full = full || !has_room_for(t, widest);
        if (full || !is_free) {
            left.push_back(std::move(t));
            continue;
        }
        widest = std::max(widest, keys.size());
        full = t.alone;
        under_way_.push_back(std::move(t));
    }
    waiting_ = std::move(left);
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
        waiting_.push_front(std::move(*t));
    }
}

void outbox::refuse(node_reply const& trouble, finished& over)
{
    auto const now = clock::now();
    transactions left;
    for (auto& t : waiting_) {
        auto const& o = *t.operation;
        bool const deletes = o.command().what == kind::release || o.command().what == kind::withdraw;
        if (o.withdrawn() || now > o.not_after)
            over.emplace_back(std::move(t.operation), too_late());
        else if (trouble.error && !deletes)
            over.emplace_back(std::move(t.operation), trouble);
        else
            left.push_back(std::move(t));
    }
    waiting_ = std::move(left);
}

void complete(outbox::finished all)
{
    for (auto& [operation, reply] : all)
        operation->complete(std::move(reply));
}

}  // namespace redlock::etcd_v3
