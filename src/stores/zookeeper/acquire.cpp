#include "stores/zookeeper/errand.hpp"

#include "core/handovers.hpp"
#include "core/key.hpp"
#include "stores/zookeeper/refusal.hpp"

#include <algorithm>
#include <utility>

// The part of an errand that acquires.
namespace redlock::stores::zookeeper {

using handovers = commands::handovers;
using std::chrono::milliseconds;

// The number of keys, from the first one on, that are free or hold this value.
std::size_t errand::free_or_ours() const
{
    std::size_t n = 0;
    while (n < c_.keys.size() && (is_free(n) || is_ours(n)))
        ++n;
    return n;
}

void errand::add_lock(plan& p, std::size_t key) const
{
    auto const& name = c_.keys[key];
    p.add({step::kind::create, s_.layout.lock(name), to_text(content{std::string(c_.value), c_.ttl})}, plan::role::lock,
          key);
    p.add({step::kind::create, s_.layout.holder(name, c_.value)}, plan::role::lock, key);
}

// A transaction that acquires all keys, or the first @p kept ones. In the second case it deletes the locks of later
// keys that hold this value.
errand::plan errand::to_acquire(std::size_t kept) const
{
    plan p;
    bool const is_whole = kept == c_.keys.size();
    for (std::size_t i = 0; i < c_.keys.size(); ++i) {
        if (i < kept && is_free(i))
            add_lock(p, i);
        else if (i < kept)
            p.add({step::kind::check, s_.layout.holder(c_.keys[i], c_.value)}, plan::role::lock, i);
        else if (is_ours(i))
            add_no_lock(p, i);
        if (is_whole && c_.fence() != 0)
            add_counter(p, i, c_.fence());
    }
    return p;
}

asio::awaitable<node_reply> errand::acquire()
{
    for (int i = 0; i < tries_max; ++i) {
        auto const kept = free_or_ours();
        auto const p = to_acquire(kept);
        auto const committed = begin(p.steps);
        std::vector<std::shared_ptr<pending>> all_wanted;
        for (std::size_t k = 0; c_.contends() && k < c_.keys.size(); ++k)
            all_wanted.push_back(s_.server->children(s_.layout.all_wanted(c_.keys[k])));
        auto const v = co_await verdict_of(committed);
        if (v.code == ZOK && kept < c_.keys.size())
            co_return co_await denied(kept);
        if (v.code == ZOK) {
            auto const raised = note_counters(p, c_.fence());
            auto r = co_await granted(std::move(all_wanted));
            r.fence = raised == c_.keys.size() ? c_.fence() : 0;
            co_return r;
        }
        bool const is_counter = v.is_told && p.roles[v.step] == plan::role::counter,
                   is_taken = v.is_told && !is_counter;
        bool const may_have_gone = is_counter || i > 0;  // an earlier look found the key
        bool const is_news =
            v.is_told && (v.code == ZNODEEXISTS || v.code == ZBADVERSION || (v.code == ZNONODE && may_have_gone));
        if (!is_news)
            co_return refusal(v.code);
        if (is_counter && !co_await look_at_counters())
            co_return refusal(ZCONNECTIONLOSS);
        if (is_taken && !c_.grows())
            co_return co_await denied(p.keys[v.step]);
        if (is_taken)
            co_await read_locks();
    }
    co_return too_busy();
}

asio::awaitable<node_reply> errand::granted(std::vector<std::shared_ptr<pending>> all_wanted)
{
    node_reply r{.vote = vote::granted};
    for (auto const& key : c_.keys) {
        if (s_.ours->knows({kit::leased::kind::wanted, key, std::string(c_.contender())}))
            s_.server->remove(s_.layout.wanted(key, c_.contender()));
        if (c_.handed_on() == handovers::end)
            end_handovers(key);
        else if (c_.handed_on() == handovers::follow && s_.known->turns.insert(key).second)
            co_await answer_of(s_.server->create(s_.layout.turn(key), {}, ZOO_EPHEMERAL));
    }
    auto const own = to_name(c_.contender());
    for (auto const& w : all_wanted) {
        auto const a = co_await answer_of(w);
        r.wanted = r.wanted || std::any_of(a.names.begin(), a.names.end(), [&](auto& name) { return name != own; });
    }
    r.ours = c_.grows() ? static_cast<std::uint32_t>(c_.keys.size()) : 0;
    co_return r;
}

// Key number @p refused was taken. If it is free by now, its holder is quicker than this manager. Then only the mark of
// the waiter tells the holder that another client wants the lock.
asio::awaitable<node_reply> errand::denied(std::size_t refused)
{
    node_reply r{.vote = vote::denied};
    if (!c_.contends())
        co_return r;
    co_await note_wanted(c_.keys[refused]);
    co_await read_locks();
    for (std::size_t i = 0; i < c_.keys.size(); ++i) {
        if (i != refused && (is_free(i) || (c_.grows() && is_ours(i))))
            continue;
        r.taken.push_back(taken(i));
        if (!c_.grows() && i != refused)
            co_await note_wanted(c_.keys[i]);
    }
    r.ours = c_.grows() ? static_cast<std::uint32_t>(refused) : 0;
    r.watched = c_.watches();
    if (!c_.has_several_keys())
        kit::tell_of_only_key(r, seen_.front().what.value);
    co_return r;
}

// For how long a key is taken, as far as the node can see. During hand-overs, a key without a lock is not free.
taken_key errand::taken(std::size_t key) const
{
    auto const& there = seen_[key];
    auto const life = there.is_there    ? there.what.ttl.value_or(s_.lasting)
                      : there.handed_on ? core::wanted_life
                                        : milliseconds(0);
    return {static_cast<std::uint32_t>(key), there.handed_on ? std::min(life, core::wanted_life) : life,
            there.handed_on};
}

// Reads the keys. With a watch, asks for a notification of the end of the hand-overs, or else of the lock.
asio::awaitable<void> errand::read_locks()
{
    std::vector<std::shared_ptr<pending>> locks, turns;
    for (auto const& key : c_.keys) {
        auto const lock = s_.layout.lock(key), turn = s_.layout.turn(key);
        if (c_.watches()) {
            s_.known->interests[lock] = key;
            s_.known->interests[turn] = core::handovers_key(key);
        }
        locks.push_back(s_.server->get(lock, c_.watches()));
        turns.push_back(s_.server->get(turn, c_.watches()));
    }
    seen_.assign(c_.keys.size(), seen());
    changed_.clear();
    for (std::size_t i = 0; i < c_.keys.size(); ++i) {
        auto const lock = co_await answer_of(locks[i]), turn = co_await answer_of(turns[i]);
        auto& there = seen_[i];
        there.is_there = lock.code == ZOK;
        there.handed_on = turn.code == ZOK;
        there.what = to_content(lock.data);
        if (!c_.watches())
            continue;
        if (!there.is_there)
            changed_.push_back(c_.keys[i]);
        s_.known->interests.erase(there.handed_on ? s_.layout.lock(c_.keys[i]) : s_.layout.turn(c_.keys[i]));
    }
}

asio::awaitable<void> errand::note_wanted(std::string const& key)
{
    if (s_.ours->ttl({kit::leased::kind::wanted, key, std::string(c_.contender())}) > milliseconds(0))
        co_return;  // the server remembers this waiter already
    auto const path = s_.layout.wanted(key, c_.contender());
    auto noted = co_await answer_of(s_.server->create(path, {}, ZOO_EPHEMERAL));
    for (int i = 0; i < tries_max && noted.code == ZNONODE; ++i) {
        // The server removes a container that stays empty.
        s_.server->create(s_.layout.all_wanted(key), {}, ZOO_CONTAINER);
        noted = co_await answer_of(s_.server->create(path, {}, ZOO_EPHEMERAL));
    }
}

}  // namespace redlock::stores::zookeeper
