#include "stores/etcd/queue.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

namespace redlock::stores::etcd {

namespace {

constexpr std::size_t steps_max = 128;   // etcd --max-txn-ops: for a level and all levels above it together
constexpr std::size_t steps_of_key = 8;  // at most

}  // namespace

// etcd 3.4 checks its quota and its access lists only for steps at the top level, not for nested steps. So a
// transaction that adds to the database also has a put at the top level, in its failure branch. If the branch is
// carried out, because the connection number differs, this put changes nothing.
std::string queue::next(std::string const& key, std::uint32_t connection, scope const& s, finished& over)
{
    sent_ = clock::now();
    choose(sent_, over);
    if (under_way_.empty())
        return {};
    transaction_text all;
    if (!key.empty())
        all.conditions.push_back(is_equal(key, to_text(connection)));
    for (auto& t : under_way_)
        t.operation->mark_sent(connection);
    add_extensions(all, s);
    for (auto& t : under_way_) {
        if (t.shared)
            continue;
        t.step = all.then.size();
        all.then.push_back(t.encode(s));
    }
    if (std::any_of(under_way_.begin(), under_way_.end(), [&](auto& t) { return t.adds(s); }))
        all.otherwise.push_back(put_as_it_is(key));
    return all.request();
}

// Renewals of thousands of locks are most of what an etcd server has to do. With a step for each, they take twice the
// time.
void queue::add_extensions(transaction_text& to, scope const& s)
{
    transaction_text all;
    for (auto& t : under_way_) {
        auto plain = t.plain(s);
        t.shared = plain.has_value();
        if (!plain)
            continue;
        t.step = to.then.size();
        std::ranges::move(plain->conditions, std::back_inserter(all.conditions));
        std::ranges::move(plain->then, std::back_inserter(all.then));
    }
    if (!all.conditions.empty())
        to.then.push_back(all.step());
}

// Stops when the transaction is full, without a look at the operations behind.
void queue::choose(clock::time_point now, finished& over)
{
    std::size_t widest = 1;
    for (bool full = false; !full;) {
        auto* const t = pending_.front(now, over);
        if (!t || !has_room_for(*t, widest))
            return;
        widest = std::max(widest, t->operation->command().keys.size());
        full = t->alone;
        under_way_.push_back(pending_.take_front());
    }
}

queue::transactions queue::take_under_way()
{
    for (auto const& t : under_way_)
        pending_.free(*t.operation);
    return std::exchange(under_way_, {});
}

// Each key takes two conditions.
bool queue::has_room_for(transaction const& t, std::size_t widest) const
{
    auto const width = std::max(widest, t.operation->command().keys.size());
    return under_way_.empty() || (!t.alone && under_way_.size() + 1 + 2 * width + steps_of_key <= steps_max);
}

void queue::send_again(transactions all, bool alone)
{
    for (auto t = all.rbegin(); t != all.rend(); ++t) {
        t->alone = t->alone || alone;
        pending_.put_back(std::move(*t));
    }
}

}  // namespace redlock::stores::etcd
