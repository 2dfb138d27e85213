#include "stores/zookeeper/errand.hpp"

#include "core/handovers.hpp"
#include "core/key.hpp"
#include "stores/zookeeper/refusal.hpp"

#include <redlock/error.hpp>

#include <algorithm>
#include <memory>
#include <utility>

namespace redlock::stores::zookeeper {

namespace {

using kind = node_command::kind;
using handovers = commands::handovers;
using std::chrono::milliseconds;

constexpr std::size_t counters_max = 10'000;  // to remember
constexpr std::chrono::seconds lately{1};     // an operator needs longer to delete a node by hand

// Null: unknown.
std::shared_ptr<key_details const> waiters_in(answer const& folder)
{
    if (folder.code != ZOK && folder.code != ZNONODE)
        return {};
    auto details = std::make_shared<key_details>();
    details->knows_waiters = true;
    for (std::size_t i = 0; i < std::min(folder.names.size(), kit::waiters_max); ++i)
        details->waiters.push_back({.contender = from_name(folder.names[i])});
    return details;
}

}  // namespace

node_reply errand::too_busy()
{
    return {.untouched = true,
            .error = errc::node_busy,
            .text = "other clients changed the same keys first, in each attempt"};
}

asio::awaitable<outcome> errand::run()
{
    node_reply r{.untouched = true, .error = errc::unsupported};
    switch (c_.which()) {
    case kind::acquire:
        r = co_await acquire();
        break;
    case kind::raise:
        r = co_await raise();
        break;
    case kind::extend:
        r = co_await extend();
        break;
    case kind::release:
        r = co_await release();
        break;
    case kind::inspect:
        r = co_await inspect();
        break;
    case kind::withdraw:
        r = withdraw();
        break;
    case kind::connect:
    case kind::found:
        r = {.vote = vote::granted};
        break;
    case kind::scan:
        r = co_await scan();
        break;
    case kind::upgrade:
    case kind::downgrade:
    case kind::replace:
        break;  // `lease_node::can` refuses these
    }
    co_return outcome{std::move(r), std::move(changed_)};
}

void errand::plan::add(step s, role r, std::size_t key)
{
    steps.push_back(std::move(s));
    roles.push_back(r);
    keys.push_back(key);
}

// Sends the steps, on the condition that this connection counts.
std::shared_ptr<pending> errand::begin(std::vector<step> steps) const
{
    steps.insert(steps.begin(), step{.what = step::kind::check, .path = s_.session, .version = s_.version});
    return s_.server->commit(steps);
}

asio::awaitable<errand::verdict> errand::verdict_of(std::shared_ptr<pending> p) const
{
    auto const a = co_await answer_of(std::move(p));
    if (a.code == ZOK || a.code > ZAPIERROR)
        co_return verdict{a.code};
    auto const failed = std::find_if(a.codes.begin(), a.codes.end(),
                                     [](int code) { return code != ZOK && code != ZRUNTIMEINCONSISTENCY; });
    if (failed == a.codes.end() || *failed == ZSESSIONEXPIRED || *failed == ZSESSIONMOVED)
        co_return verdict{a.code};
    if (failed == a.codes.begin()) {
        s_.server->close(ZSESSIONMOVED);  // another program deleted the session's node
        co_return verdict{ZSESSIONMOVED};
    }
    co_return verdict{*failed, static_cast<std::size_t>(failed - a.codes.begin()) - 1, true};
}

void errand::add_no_lock(plan& p, std::size_t key) const
{
    p.add({step::kind::remove, s_.layout.holder(c_.keys[key], c_.value)}, plan::role::lock, key);
    p.add({step::kind::remove, s_.layout.lock(c_.keys[key])}, plan::role::lock, key);
}

void errand::end_handovers(std::string const& key)
{
    if (s_.known->turns.erase(key) > 0)
        s_.server->remove(s_.layout.turn(key));
}

// Tokens.

// Adds a step that raises the counter, if it is lower. Counters are never deleted.
void errand::add_counter(plan& p, std::size_t key, std::uint64_t to) const
{
    auto const known = s_.known->counters.find(c_.keys[key]);
    auto const now = known == s_.known->counters.end() ? knowledge::counter() : known->second;
    auto const path = s_.layout.counter(c_.keys[key]);
    if (now.version < 0)
        p.add({step::kind::create, path, std::to_string(to), -1, false}, plan::role::counter, key);
    else if (now.value < to)
        p.add({step::kind::set, path, std::to_string(to), now.version}, plan::role::counter, key);
}

// Notes the new values of the counters. @return how many counters were set
std::size_t errand::note_counters(plan const& p, std::uint64_t to) const
{
    auto& known = s_.known->counters;
    if (known.size() > counters_max)
        known.clear();
    std::size_t n = 0;
    for (std::size_t i = 0; i < p.steps.size(); ++i) {
        if (p.roles[i] != plan::role::counter)
            continue;
        known[c_.keys[p.keys[i]]] = {to, p.steps[i].version + 1};
        ++n;
    }
    return n;
}

asio::awaitable<bool> errand::look_at_counters()
{
    std::vector<std::shared_ptr<pending>> all;
    for (auto const& key : c_.keys)
        all.push_back(s_.server->get(s_.layout.counter(key), false));
    bool is_known = true;
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const a = co_await answer_of(all[i]);
        is_known = is_known && (a.code == ZOK || a.code == ZNONODE);
        s_.known->counters[c_.keys[i]] = a.code == ZOK ? knowledge::counter{to_counter(a.data), a.version}
                                                       : knowledge::counter();
    }
    co_return is_known;
}

asio::awaitable<node_reply> errand::raise()
{
    for (int i = 0; i < tries_max; ++i) {
        auto to = c_.fence();
        for (auto const& key : c_.keys)
            to = std::max(to, s_.known->counters[key].value);
        ++to;
        plan p;
        for (std::size_t k = 0; k < c_.keys.size(); ++k)
            add_counter(p, k, to);
        auto const v = co_await verdict_of(begin(p.steps));
        if (v.code == ZOK) {
            note_counters(p, to);
            node_reply r{.vote = vote::granted};
            r.fence = to;
            co_return r;
        }
        if (!v.is_told || (v.code != ZNODEEXISTS && v.code != ZBADVERSION && v.code != ZNONODE))
            co_return refusal(v.code);
        if (!co_await look_at_counters())
            co_return refusal(ZCONNECTIONLOSS);
    }
    co_return too_busy();
}

// Other commands.

bool errand::was_seen_lately(std::string const& key) const
{
    kit::leased const lock{kit::leased::kind::lock, key, std::string(c_.value)};
    auto const ttl = s_.ours->ttl(lock);
    return ttl.count() > 0 && clock::now() < s_.ours->until(lock) - ttl + lately;
}

// Another program may delete only a lock's node. Then another client can acquire the lock while the node that repeats
// our value is still there. A transaction cannot compare values, so this reads them before nodes are changed, unless
// this client has seen the lock lately. @return ZOK, or why a lock could not be read
asio::awaitable<int> errand::look_at_holders()
{
    std::vector<std::shared_ptr<pending>> all;
    for (auto const& key : c_.keys) {
        bool const is_known = was_seen_lately(key);
        if (!is_known)
            s_.server->sync(s_.layout.lock(key));
        all.push_back(is_known ? nullptr : s_.server->get(s_.layout.lock(key), false));
    }
    seen_.assign(c_.keys.size(), {.is_there = true, .what = {std::string(c_.value)}});
    int code = ZOK;
    for (std::size_t i = 0; i < all.size(); ++i) {
        if (!all[i])
            continue;
        auto const a = co_await answer_of(all[i]);
        if (a.code != ZOK && a.code != ZNONODE)
            code = a.code;
        seen_[i] = {.is_there = a.code == ZOK, .what = to_content(a.data)};
    }
    co_return code;
}

// An extension is always a transaction, because its answer comes through the leader. It also reads the lock's node, in
// case another program deleted only that node.
asio::awaitable<node_reply> errand::extend()
{
    auto const is_longer = [this](std::string const& key) {
        return s_.ours->ttl({kit::leased::kind::lock, key, std::string(c_.value)}) < c_.ttl;
    };
    if (std::ranges::any_of(c_.keys, is_longer)) {
        if (auto const code = co_await look_at_holders(); code != ZOK)
            co_return refusal(code);
        for (std::size_t i = 0; i < c_.keys.size(); ++i) {
            if (!is_ours(i))
                co_return node_reply{.vote = vote::denied};
        }
    }
    plan p;
    for (std::size_t i = 0; i < c_.keys.size(); ++i) {
        auto const& key = c_.keys[i];
        p.add({step::kind::check, s_.layout.holder(key, c_.value)}, plan::role::lock, i);
        if (is_longer(key))
            p.add({step::kind::set, s_.layout.lock(key), to_text(content{std::string(c_.value), c_.ttl})},
                  plan::role::lock, i);
    }
    auto const committed = begin(p.steps);
    std::vector<std::shared_ptr<pending>> locks;
    for (auto const& key : c_.keys) {
        s_.known->interests[s_.layout.lock(key)] = key;
        locks.push_back(s_.server->get(s_.layout.lock(key), true));
    }
    auto const v = co_await verdict_of(committed);
    if (v.is_told && v.code == ZNONODE)
        co_return node_reply{.vote = vote::denied};
    if (v.code != ZOK)
        co_return refusal(v.code);
    node_reply r{.vote = vote::granted};
    for (std::size_t i = 0; i < locks.size(); ++i) {
        auto const a = co_await answer_of(locks[i]);
        if (a.code != ZOK && a.code != ZNONODE)
            co_return refusal(a.code);
        if (a.code == ZNONODE || to_content(a.data).value != c_.value)
            r.vote = vote::denied;
    }
    co_return r;
}

asio::awaitable<node_reply> errand::release()
{
    if (auto const code = co_await look_at_holders(); code != ZOK)
        co_return refusal(code);
    std::vector<std::shared_ptr<pending>> all;
    std::vector<bool> watched;
    for (std::size_t i = 0; i < c_.keys.size(); ++i) {
        plan p;
        add_no_lock(p, i);
        if (!is_free(i) && !is_ours(i))
            p.steps.pop_back();  // the lock's node is that of another client
        // The deletion by this errand is not reported as a change.
        watched.push_back(s_.known->interests.erase(s_.layout.lock(c_.keys[i])) > 0);
        all.push_back(begin(std::move(p.steps)));
    }
    node_reply r{.vote = vote::granted};
    for (std::size_t i = 0; i < all.size(); ++i) {
        auto const v = co_await verdict_of(all[i]);
        if (watched[i] && !(v.code == ZOK && is_ours(i)))
            // Another client has the lock, and may have released it meanwhile. Waiters must ask again.
            changed_.push_back(c_.keys[i]);
        if (v.code != ZOK && !(v.is_told && v.code == ZNONODE))
            co_return refusal(v.code);
        bool const was_ours = v.code == ZOK && is_ours(i);
        if (was_ours && c_.handed_on() == handovers::end)
            end_handovers(c_.keys[i]);
        if (v.code == ZNONODE && v.step > 0)  // another program deleted only the lock's node
            s_.server->remove(s_.layout.holder(c_.keys[i], c_.value));
        r.ours += was_ours ? 1 : 0;
    }
    r.vote = r.ours == c_.keys.size() ? vote::granted : vote::denied;
    r.ours = c_.has_several_keys() ? r.ours : 0;
    co_return r;
}

asio::awaitable<node_reply> errand::inspect()
{
    auto const path = s_.layout.lock(c_.key());
    s_.server->sync(path);
    auto const watched = c_.watches() ? s_.server->watch(path) : nullptr;
    if (watched)
        s_.known->looks[path] = c_.key();
    auto const lock = s_.server->get(path, false), waiters = s_.server->children(s_.layout.all_wanted(c_.key()));
    auto const a = co_await answer_of(lock);
    auto const w = co_await answer_of(waiters);
    if (a.code != ZOK && a.code != ZNONODE)
        co_return refusal(a.code);
    node_reply r{.vote = a.code == ZOK ? vote::granted : vote::denied};
    r.details = waiters_in(w);
    if (watched) {
        auto const set = co_await answer_of(watched);
        r.watched = set.code == ZOK || set.code == ZNONODE;
    }
    if (a.code == ZNONODE)
        co_return r;
    auto what = to_content(a.data);
    r.text = std::move(what.value);
    r.remaining = what.ttl.value_or(s_.lasting);
    co_return r;
}

// ZooKeeper lists all nodes of a folder at once. The place of a scan is the last key of the scan before it.
asio::awaitable<node_reply> errand::scan()
{
    s_.server->sync(s_.layout.locks());
    auto const a = co_await answer_of(s_.server->children(s_.layout.locks()));
    if (a.code != ZOK && a.code != ZNONODE)
        co_return refusal(a.code);
    auto listed = std::make_shared<key_details>();
    auto& keys = listed->keys;
    for (auto const& name : a.names) {
        if (auto key = key_of(name); key && key->starts_with(c_.key()) && (c_.value.empty() || *key > c_.value))
            keys.push_back(std::move(*key));
    }
    node_reply r{.vote = vote::granted};
    auto const end =
        keys.begin()
        + static_cast<std::ptrdiff_t>(std::min<std::size_t>(std::max(c_.as<commands::scan>().limit, 1u), keys.size()));
    std::partial_sort(keys.begin(), end, keys.end());
    if (end != keys.end())
        r.text = *(end - 1);
    keys.erase(end, keys.end());
    r.details = std::move(listed);
    co_return r;
}

node_reply errand::withdraw()
{
    for (auto const& key : c_.keys)
        s_.server->remove(s_.layout.wanted(key, c_.contender()));
    return {.vote = vote::granted};
}

}  // namespace redlock::stores::zookeeper
