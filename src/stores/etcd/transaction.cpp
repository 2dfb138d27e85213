#include "stores/etcd/transaction.hpp"

#include "core/handovers.hpp"

#include <algorithm>
#include <iterator>
#include <memory>

namespace redlock::stores::etcd {

namespace {

using kind = node_command::kind;
using handovers = commands::handovers;
using std::chrono::milliseconds;

}  // namespace

std::string transaction::encode(scope const& s) const
{
    auto const& c = command();
    switch (c.which()) {
    case kind::acquire:
        return (seen_.empty() ? acquire(s) : grow(s)).step();
    case kind::raise:
        return raise(s).step();
    case kind::extend:
        return extend(s).step();
    case kind::release:
        return release(s).step();
    case kind::inspect: {
        auto const waiters = s.layout.all_wanted(c.key());
        return transaction_text{
            {}, {get(s.layout.lock(c.key())), find_any(waiters, end_of(waiters), kit::waiters_max)}, {}}
            .step();
    }
    case kind::withdraw: {
        transaction_text t;
        for (auto const& key : c.keys)
            t.then.push_back(erase(s.layout.wanted(key, c.contender())));
        return t.step();
    }
    case kind::scan:
        return scan(s).step();
    case kind::connect:
    case kind::found:
    case kind::upgrade:
    case kind::downgrade:
    case kind::replace:
        break;  // `lease_node::can` refuses these
    }
    return transaction_text().step();
}

bool transaction::adds(scope const& s) const
{
    auto const& c = command();
    return c.which() == kind::acquire || c.which() == kind::raise
           || (c.which() == kind::extend
               && std::any_of(c.keys.begin(), c.keys.end(), [&](auto& key) { return lasts_longer(key, s); }));
}

std::optional<node_reply> transaction::decode(json::object const& answer, scope const& s)
{
    bool const succeeded = is_true(answer, "succeeded");
    switch (command().which()) {
    case kind::acquire:
        if (command().grows() && !(succeeded && seen_.empty()))
            return grown(answer, s);
        return succeeded ? granted(answer) : denied(answer, s);
    case kind::raise:
        return raised(answer);
    case kind::extend:
        if (shared && !succeeded) {
            apart = true;
            return std::nullopt;
        }
        return node_reply{.vote = succeeded ? vote::granted : vote::denied};
    case kind::release:
        return released(answer);
    case kind::inspect:
        return inspected(answer, s);
    case kind::withdraw:
    case kind::connect:
    case kind::found:
        return node_reply{.vote = vote::granted};
    case kind::scan:
        return scanned(answer, s);
    case kind::upgrade:
    case kind::downgrade:
    case kind::replace:
        break;  // `lease_node::can` refuses these
    }
    return node_reply{.untouched = true, .error = errc::unsupported};
}

// The steps of a single key are direct steps of the transaction. Several keys have a nested transaction each, because
// etcd limits the number of steps of a level.
transaction_text transaction::of_each_key(transaction_text t, std::vector<std::vector<std::string>> then,
                                          std::vector<std::vector<std::string>> otherwise) const
{
    auto const add = [&](std::vector<std::string>& to, std::vector<std::vector<std::string>>& from) {
        for (auto& steps : from) {
            if (command().has_several_keys())
                to.push_back(transaction_text{{}, std::move(steps), {}}.step());
            else
                to = std::move(steps);
        }
    };
    add(t.then, then);
    add(t.otherwise, otherwise);
    return t;
}

json::object const& transaction::of_key(json::object const& answer, std::size_t i) const
{
    return command().has_several_keys() ? inner(answer, i) : answer;
}

// Acquisition.

std::vector<std::string> transaction::to_grant(std::string const& key, scope const& s) const
{
    auto const& c = command();
    std::vector<std::string> steps{put(s.layout.lock(key), to_text(content{std::string(c.value), c.ttl}), s.lease)};
    if (c.contends()) {
        auto const all_wanted = s.layout.all_wanted(key), turn = s.layout.turn(key);
        steps.push_back(erase(s.layout.wanted(key, c.contender())));
        steps.push_back(find_any(all_wanted, end_of(all_wanted)));
        if (c.handed_on() == handovers::end)
            steps.push_back(erase(turn));
        else if (c.handed_on() == handovers::follow)
            steps.push_back(transaction_text{{is_missing(turn)}, {put(turn, "", s.lease)}, {}}.step());
    }
    if (c.fence() != 0)
        steps.push_back(raise_to(s.layout.counter(key), c.fence()));
    return steps;
}

// A denied acquisition does not change the counter, because no token is drawn from it.
std::vector<std::string> transaction::to_deny(std::string const& key, bool wants, scope const& s) const
{
    auto const& c = command();
    if (!c.contends())
        return {};
    std::vector<std::string> steps{get(s.layout.lock(key)), get(s.layout.turn(key))};
    bool const is_noted = s.ours->ttl({kit::leased::kind::wanted, key, std::string(c.contender())}) > milliseconds(0);
    if (wants && !is_noted) {
        auto wanted = put(s.layout.wanted(key, c.contender()), "", s.lease);
        bool const may_be_free = c.has_several_keys() && !c.grows();
        steps.push_back(may_be_free ? transaction_text{{is_missing(s.layout.lock(key))}, {}, {std::move(wanted)}}.step()
                                    : std::move(wanted));
    }
    return steps;
}

transaction_text transaction::acquire(scope const& s) const
{
    transaction_text t;
    std::vector<std::vector<std::string>> then, otherwise;
    for (auto const& key : command().keys) {
        t.conditions.push_back(is_missing(s.layout.lock(key)));
        then.push_back(to_grant(key, s));
        otherwise.push_back(to_deny(key, !command().grows(), s));
    }
    return of_each_key(std::move(t), std::move(then), std::move(otherwise));
}

node_reply transaction::granted(json::object const& answer) const
{
    auto const& c = command();
    node_reply r{.vote = vote::granted};
    bool raised = c.fence() != 0;
    for (std::size_t i = 0; i < c.keys.size(); ++i) {
        auto const& a = of_key(answer, i);
        r.wanted = r.wanted || (c.contends() && !found(a, 2).empty());
        if (c.fence() != 0)
            raised = was_raised(inner(a, !c.contends() ? 1 : c.handed_on() == handovers::unsaid ? 3 : 4)) && raised;
    }
    r.fence = raised ? c.fence() : 0;
    r.ours = c.grows() ? static_cast<std::uint32_t>(c.keys.size()) : 0;
    return r;
}

node_reply transaction::denied(json::object const& answer, scope const& s) const
{
    auto const& c = command();
    node_reply r{.vote = vote::denied};
    if (!c.contends())
        return r;
    for (std::size_t i = 0; i < c.keys.size(); ++i) {
        auto const& there = found(of_key(answer, i), 0);
        if (!there.empty() && !(c.grows() && to_content(bytes_in(there, "value")).value == c.value))
            r.taken.push_back(taken_key_of(of_key(answer, i), i, s));
    }
    if (!c.has_several_keys() && !r.taken.empty())
        kit::tell_of_only_key(r, to_content(bytes_in(found(answer, 0), "value")).value);
    return r;
}

taken_key transaction::taken_key_of(json::object const& answer, std::size_t i, scope const& s) const
{
    auto const& there = found(answer, 0);
    taken_key k{static_cast<std::uint32_t>(i)};
    k.remaining = to_content(bytes_in(there, "value"))
                      .ttl.value_or(number_in(there, "lease") == 0 ? milliseconds(-1) : s.session);
    k.handed_on = !found(answer, 1).empty();
    if (k.handed_on && (k.remaining.count() < 0 || k.remaining > core::wanted_life))
        k.remaining = core::wanted_life;
    return k;
}

// Growth. The first transaction sets all keys if all are free, and otherwise reads them. The next one writes if nothing
// has changed since, and otherwise reads again.

// The number of keys before the first one that another holder has.
std::size_t transaction::kept() const
{
    auto const taken = std::find_if(seen_.begin(), seen_.end(), [](auto& k) { return k.revision != 0 && !k.ours; });
    return static_cast<std::size_t>(taken - seen_.begin());
}

transaction_text transaction::grow(scope const& s) const
{
    auto const& c = command();
    auto const kept = this->kept();
    transaction_text t;
    std::vector<std::vector<std::string>> then, otherwise;
    for (std::size_t i = 0; i < c.keys.size(); ++i) {
        auto const& key = c.keys[i];
        auto const name = s.layout.lock(key);
        t.conditions.push_back(is_unchanged(name, seen_[i].revision));
        otherwise.push_back(to_deny(key, false, s));
        if (kept == c.keys.size()) {
            then.push_back(to_grant(key, s));
            continue;
        }
        auto steps = to_deny(key, i == kept, s);
        if (i < kept && !seen_[i].ours)
            steps.push_back(put(name, to_text(content{std::string(c.value), c.ttl}), s.lease));
        else if (i > kept && seen_[i].ours)
            steps.push_back(erase(name));
        then.push_back(std::move(steps));
    }
    return of_each_key(std::move(t), std::move(then), std::move(otherwise));
}

std::optional<node_reply> transaction::grown(json::object const& answer, scope const& s)
{
    auto const& c = command();
    if (is_true(answer, "succeeded")) {
        if (kept() == c.keys.size())
            return granted(answer);
        auto r = denied(answer, s);
        r.ours = static_cast<std::uint32_t>(kept());
        return r;
    }
    seen_.clear();
    for (std::size_t i = 0; i < c.keys.size(); ++i) {
        auto const& there = found(of_key(answer, i), 0);
        seen_.push_back({number_in(there, "mod_revision"),
                         !there.empty() && to_content(bytes_in(there, "value")).value == c.value});
    }
    return std::nullopt;
}

// Tokens.

transaction_text transaction::raise(scope const& s) const
{
    auto const& c = command();
    auto highest = c.fence();
    for (auto const& k : seen_)
        highest = std::max(highest, k.counter);
    transaction_text t;
    for (std::size_t i = 0; i < c.keys.size(); ++i) {
        auto const counter = s.layout.counter(c.keys[i]);
        bool const is_there = !seen_.empty() && seen_[i].counter != 0;
        t.conditions.push_back(is_there ? is_equal(counter, to_text(seen_[i].counter)) : is_missing(counter));
        t.then.push_back(put(counter, to_text(highest + 1)));
        t.otherwise.push_back(get(counter));
    }
    return t;
}

std::optional<node_reply> transaction::raised(json::object const& answer)
{
    auto const& c = command();
    if (is_true(answer, "succeeded")) {
        node_reply r{.vote = vote::granted};
        r.fence = c.fence();
        for (auto const& k : seen_)
            r.fence = std::max(r.fence, k.counter);
        ++r.fence;
        return r;
    }
    seen_.clear();
    for (std::size_t i = 0; i < c.keys.size(); ++i)
        seen_.push_back({0, false, to_counter(bytes_in(found(answer, i), "value"))});
    return std::nullopt;
}

// Other commands.

// The lease keeps the key. The transaction writes only if the new ttl is longer than the stored one, or the lease is
// not the latest.
transaction_text transaction::extend(scope const& s) const
{
    auto const& c = command();
    transaction_text t;
    for (auto const& key : c.keys) {
        add_holds(t.conditions, s.layout.lock(key), c.value);
        std::ranges::move(to_extend(key, s), std::back_inserter(t.then));
    }
    return t;
}

std::optional<transaction_text> transaction::plain(scope const& s) const
{
    auto const& c = command();
    if (c.which() != kind::extend || c.has_several_keys() || apart)
        return std::nullopt;
    auto const stored = s.ours->ttl(lock_of(c.key()));
    if (stored.count() == 0)
        return std::nullopt;
    auto const text = to_text(content{std::string(c.value), stored});
    return transaction_text{{is_equal(s.layout.lock(c.key()), text)}, to_extend(c.key(), s), {}};
}

std::vector<std::string> transaction::to_extend(std::string const& key, scope const& s) const
{
    auto const& c = command();
    auto const name = s.layout.lock(key);
    if (lasts_longer(key, s))
        return {put(name, to_text(content{std::string(c.value), c.ttl}), s.lease)};
    if (s.ours->kept(lock_of(key)) < s.good_until)
        return {put_under(name, s.lease)};
    return {};
}

leased transaction::lock_of(std::string const& key) const
{
    return {kit::leased::kind::lock, key, std::string(command().value)};
}

// Whether the command's ttl is longer than the stored one.
bool transaction::lasts_longer(std::string const& key, scope const& s) const
{
    return s.ours->ttl(lock_of(key)) < command().ttl;
}

transaction_text transaction::release(scope const& s) const
{
    auto const& c = command();
    transaction_text all;
    for (auto const& key : c.keys) {
        transaction_text t;
        add_holds(t.conditions, s.layout.lock(key), c.value);
        t.then.push_back(erase(s.layout.lock(key)));
        if (c.handed_on() == handovers::end)
            t.then.push_back(erase(s.layout.turn(key)));
        if (!c.has_several_keys())
            return t;
        all.then.push_back(t.step());
    }
    return all;
}

node_reply transaction::released(json::object const& answer) const
{
    auto const& c = command();
    if (!c.has_several_keys())
        return {.vote = is_true(answer, "succeeded") ? vote::granted : vote::denied};
    node_reply r;
    for (std::size_t i = 0; i < c.keys.size(); ++i)
        r.ours += is_true(inner(answer, i), "succeeded") ? 1 : 0;
    r.vote = r.ours == c.keys.size() ? vote::granted : vote::denied;
    return r;
}

node_reply transaction::inspected(json::object const& answer, scope const& s) const
{
    auto details = std::make_shared<key_details>();
    details->knows_waiters = true;
    auto const folder = s.layout.all_wanted(command().key()).size();
    for (std::size_t i = 0; !found(answer, 1, i).empty(); ++i)
        details->waiters.push_back({.contender = bytes_in(found(answer, 1, i), "key").substr(folder)});
    auto const& there = found(answer, 0);
    if (there.empty())
        return {.vote = vote::denied, .details = std::move(details)};
    auto what = to_content(bytes_in(there, "value"));
    auto const ttl = what.ttl.value_or(number_in(there, "lease") == 0 ? milliseconds(-1) : s.session);
    return {.vote = vote::granted, .text = std::move(what.value), .remaining = ttl, .details = std::move(details)};
}

// The place of a scan is the last key of the scan before it.
transaction_text transaction::scan(scope const& s) const
{
    auto const& c = command();
    auto const all = s.layout.lock(c.key());
    auto const after_last = s.layout.lock(c.value) + '\0';
    auto const begin = c.value.empty() && !all.empty() ? all : after_last;
    return {{}, {find_any(begin, end_of(all), std::max<std::uint32_t>(c.as<commands::scan>().limit, 1))}, {}};
}

node_reply transaction::scanned(json::object const& answer, scope const& s) const
{
    auto listed = std::make_shared<key_details>();
    for (std::size_t i = 0; !found(answer, 0, i).empty(); ++i)
        listed->keys.push_back(s.layout.key_of(bytes_in(found(answer, 0, i), "key")));
    node_reply r{.vote = vote::granted};
    if (is_true(object_in(object_in(answer, "responses", 0), "response_range"), "more") && !listed->keys.empty())
        r.text = listed->keys.back();
    r.details = std::move(listed);
    return r;
}

}  // namespace redlock::stores::etcd
