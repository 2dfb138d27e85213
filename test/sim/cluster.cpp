#include "sim/cluster.hpp"

#include "core/key.hpp"
#include "etcd/etcd_node.hpp"
#include "etcd/layout.hpp"
#include "sim/process.hpp"
#include "sim/world.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <algorithm>
#include <iterator>

namespace redlock::sim {

namespace {

namespace json = etcd_v3::json;
using etcd_v3::base64;
using etcd_v3::bytes;
using etcd_v3::number;
using etcd_v3::text;

constexpr int invalid_argument = 3, not_found = 5;

/// Nothing was done, and why.
struct refused {
    std::string_view why;
    int code;
};

json::array const& list(json::object const& o, std::string_view name)
{
    static json::array const nothing;
    auto const* const v = o.if_contains(name);
    return v && v->is_array() ? v->get_array() : nothing;
}

bool is_lock(std::string const& key)
{
    return core::mark_in(key).empty();
}

}  // namespace

cluster::cluster(sim::world& w, std::size_t index, double rate) : server(w, index, rate)
{
    expire();
}

json::object cluster::header() const
{
    return {{"cluster_id", name}, {"member_id", "1"}, {"revision", fmt::to_string(revision_)}, {"raft_term", fmt::to_string(term_)}};
}

json::object cluster::refusal(std::string_view why, int code) const
{
    return {{"error", why}, {"code", code}};
}

json::object cluster::carry_out(std::size_t from, std::string_view path, std::string const& body)
{
    auto const asked = json::parse(body).as_object();
    try {
        if (refuses())
            throw refused{"etcdserver: too many requests", 8};
        if (path == "/v3/lease/grant")
            return grant(asked);
        if (path == "/v3/lease/keepalive")
            return keep_alive(from, asked);
        if (path == "/v3/lease/revoke")
            return revoke(asked);
        if (path == "/v3/kv/range")
            return range(asked, values_);
        return transaction(asked);
    } catch (refused const& r) {
        return refusal(r.why, r.code);
    }
}

// Leases

json::object cluster::grant(object const& asked)
{
    auto const id = fmt::to_string(++last_lease_);
    std::chrono::seconds const ttl(number(asked, "TTL"));
    leases_[id] = {ttl, clock_now() + ttl};
    world().tell("{} grants lease {} for {} s", name, id, ttl.count());
    return {{"header", header()}, {"ID", id}, {"TTL", fmt::to_string(ttl.count())}};
}

// Of leases only the leader knows, so whoever takes himself for one does not ask the others.
json::object cluster::keep_alive(std::size_t from, object const& asked)
{
    auto const id = std::string(text(asked, "ID"));
    auto const known = leases_.find(id);
    bool const in_vain = behind_until(from) > world().now;
    object result{{"header", header()}, {"ID", id}};
    if (known != leases_.end()) {
        result["TTL"] = fmt::to_string(known->second.ttl.count());
        if (!in_vain)
            known->second.expires = clock_now() + known->second.ttl;
    }
    world().tell("{} prolongs lease {}: {}", name, id, known == leases_.end() ? "no" : in_vain ? "in vain" : "yes");
    return {{"result", std::move(result)}};
}

json::object cluster::revoke(object const& asked)
{
    auto const id = std::string(text(asked, "ID"));
    if (!leases_.contains(id))
        throw refused{"etcdserver: requested lease not found", not_found};
    end(id);
    return {{"header", header()}};
}

void cluster::end(std::string const& lease)
{
    world().tell("{}: lease {} ends", name, lease);
    auto after = values_;
    std::erase_if(after, [&](auto& one) { return one.second.lease == lease; });
    leases_.erase(lease);
    ++revision_;
    commit(std::move(after));
}

// It looks now and then.
void cluster::expire()
{
    world().after(world().random.between(10ms, 500ms), [this] {
        std::vector<std::string> over;
        for (auto const& [id, l] : leases_) {
            if (l.expires <= clock_now())
                over.push_back(id);
        }
        for (auto const& id : over) {
            if (alive() && !paused())
                end(id);
        }
        expire();
    });
}

void cluster::let_leases_begin_anew()
{
    for (auto& [id, l] : leases_)
        l.expires = std::max(l.expires, clock_now() + l.ttl);
}

// Transactions: all conditions are judged before anything is done.

json::object cluster::transaction(object const& asked)
{
    auto after = values_;
    ++revision_;
    try {
        auto answer = carry_out(asked, after);
        if (after == values_)
            --revision_;
        commit(std::move(after));
        answer["header"] = header();
        return answer;
    } catch (refused const&) {
        --revision_;
        throw;
    }
}

json::object cluster::carry_out(object const& transaction, values& after)
{
    auto const& conditions = list(transaction, "compare");
    bool const holds = std::all_of(conditions.begin(), conditions.end(), [this](auto& c) { return judge(c.as_object()); });
    object answer;
    if (holds)
        answer["succeeded"] = true;
    json::array responses;
    for (auto const& what : list(transaction, holds ? "success" : "failure"))
        responses.push_back(step(what.as_object(), after));
    answer["responses"] = std::move(responses);
    return answer;
}

bool cluster::judge(object const& condition) const
{
    auto const found = values_.find(bytes(condition, "key"));
    auto const target = text(condition, "target"), result = text(condition, "result");
    if (target == "CREATE")
        return (found == values_.end() ? 0 : found->second.created) == number(condition, "create_revision");
    if (target == "MOD")
        return (found == values_.end() ? 0 : found->second.changed) == number(condition, "mod_revision");
    if (found == values_.end())
        return false;
    auto const order = found->second.bytes.compare(bytes(condition, "value"));
    return result == "LESS" ? order < 0 : result == "GREATER" ? order > 0 : order == 0;
}

json::object cluster::step(object const& what, values& after)
{
    auto const& [name, asked] = *what.begin();
    auto const& arguments = asked.as_object();
    if (name == "request_txn")
        return {{"response_txn", carry_out(arguments, after)}};
    if (name == "request_range")
        return {{"response_range", range(arguments, after)}};
    if (name == "request_delete_range") {
        auto const deleted = after.erase(bytes(arguments, "key"));
        return {{"response_delete_range", {{"deleted", fmt::to_string(deleted)}}}};
    }
    put(arguments, after);
    return {{"response_put", object()}};
}

void cluster::put(object const& asked, values& after)
{
    auto const key = bytes(asked, "key");
    auto const there = after.find(key);
    bool const as_it_is = etcd_v3::is_true(asked, "ignore_value");
    if (as_it_is && there == after.end())
        throw refused{"etcdserver: key not found", invalid_argument};
    auto const lease = std::string(text(asked, "lease"));
    if (!as_it_is && lease != "0" && !leases_.contains(lease))
        throw refused{"etcdserver: requested lease not found", not_found};
    auto& v = after[key];
    if (v.created == 0)
        v.created = revision_;
    v.changed = revision_;
    if (as_it_is)
        return;
    v.bytes = bytes(asked, "value");
    v.lease = lease == "0" ? std::string() : lease;
}

json::object cluster::range(object const& asked, values const& in) const
{
    auto const first = bytes(asked, "key"), last = bytes(asked, "range_end");
    auto const begin = in.lower_bound(first);
    auto const end = last.empty() ? in.upper_bound(first) : in.lower_bound(last);
    json::array found;
    for (auto at = begin; at != end && (number(asked, "limit") == 0 || std::ssize(found) < number(asked, "limit")); ++at) {
        object one{{"key", base64(at->first)}, {"create_revision", fmt::to_string(at->second.created)}, {"mod_revision", fmt::to_string(at->second.changed)}};
        if (!etcd_v3::is_true(asked, "keys_only"))
            one["value"] = base64(at->second.bytes);
        if (!at->second.lease.empty())
            one["lease"] = at->second.lease;
        found.push_back(std::move(one));
    }
    object answer{{"header", header()}, {"kvs", std::move(found)}};
    if (begin != end)
        answer["count"] = fmt::to_string(std::distance(begin, end));
    return answer;
}

// Tells of what is deleted, and shows which locks there are.
void cluster::commit(values after)
{
    auto const before = std::exchange(values_, std::move(after));
    keys.entries.clear();
    for (auto const& [key, v] : values_) {
        if (!is_lock(key))
            continue;
        keys.entries[key] = {etcd_v3::to_content(v.bytes).value, clock::time_point::max()};  // until it is deleted
        if (!before.contains(key))
            world().note_taking(key);
        if (auto const was = before.find(key); was == before.end() || was->second != v)
            world().tell("{} sets {} {}", name, key, keys.entries[key].value.substr(0, 8));
    }
    for (auto const& [key, v] : before) {
        if (values_.contains(key))
            continue;
        if (is_lock(key))
            world().tell("{} deletes {} {}", name, key, etcd_v3::to_content(v.bytes).value.substr(0, 8));
        deleted_.emplace_back(key, revision_);
        for (auto const& w : std::vector(watches_)) {
            if (w.key == key)
                tell_of(key, revision_, w);
        }
    }
}

// Watches

void cluster::hear(std::weak_ptr<client> const& from, std::string const& message, told tell)
{
    auto const said = json::parse(message).as_object();
    if (auto const& asked = etcd_v3::object(said, "create_request"); !asked.empty()) {
        watches_.push_back({from, number(asked, "watch_id"), bytes(asked, "key"), tell});
        tell(json::serialize(object{{"result", {{"header", header()}, {"watch_id", fmt::to_string(number(asked, "watch_id"))}, {"created", true}}}}));
        auto const since = number(asked, "start_revision");
        for (auto const& [key, revision] : deleted_) {
            if (since > 0 && revision >= since && key == watches_.back().key)
                tell_of(key, revision, watches_.back());
        }
    } else if (auto const& ended = etcd_v3::object(said, "cancel_request"); !ended.empty()) {
        std::erase_if(watches_, [&](auto& w) { return w.id == number(ended, "watch_id") && !w.from.owner_before(from) && !from.owner_before(w.from); });
    } else {
        tell(json::serialize(object{{"result", {{"header", header()}}}}));
    }
}

void cluster::tell_of(std::string const& key, std::int64_t revision, watch const& w) const
{
    object const event{{"type", "DELETE"}, {"kv", {{"key", base64(key)}, {"mod_revision", fmt::to_string(revision)}}}};
    w.tell(json::serialize(object{{"result", {{"header", header()}, {"watch_id", fmt::to_string(w.id)}, {"events", json::array{event}}}}}));
}

// Faults

void cluster::crash(bool)
{
    watches_.clear();
    behind_until_.clear();
    server::crash(false);
}

void cluster::start()
{
    if (!alive()) {
        ++term_;
        let_leases_begin_anew();
    }
    server::start();
}

void cluster::evict()
{
    if (keys.entries.empty())
        return;
    auto victim = keys.entries.begin();
    std::advance(victim, static_cast<std::ptrdiff_t>(world().random.below(keys.entries.size())));
    world().tell("{}: somebody deletes {}", name, victim->first);
    auto after = values_;
    after.erase(victim->first);
    ++revision_;
    commit(std::move(after));
}

void cluster::change_leader(clock::duration d)
{
    if (!alive())
        return;
    ++term_;
    let_leases_begin_anew();
    for (auto const& p : world().processes) {
        if (p && world().random.chance(0.5)) {
            world().tell("{}: another leader, which {} hears of in {} ms", name, p->name(), d / 1ms);
            behind_until_[p->index()] = world().now + d;
        }
    }
}

clock::time_point cluster::behind_until(std::size_t process) const
{
    auto const known = behind_until_.find(process);
    return known == behind_until_.end() ? world().now : std::max(known->second, world().now);
}

std::shared_ptr<node> cluster::make_node(process& p, config const& settings, std::shared_ptr<redis::group> const&)
{
    etcd_v3::address where{.name = "cluster://" + name,
                           .members = {{.host = name}},
                           .user = {},
                           .password = {},
                           .options = {.session = std::chrono::seconds(2 + world().random.below(4)), .timeout = settings.node_timeout}};
    auto make_channel = [this, &p](asio::any_io_executor on, auto const&) { return std::make_shared<cluster_channel>(world(), p, *this, std::move(on)); };
    return etcd_v3::make_etcd_node(std::move(where), settings, {.claim = [](auto&, auto&) { return std::string(); }},
                                   {.make_channel = std::move(make_channel), .seed = static_cast<std::uint32_t>(world().random.roll())});
}

}  // namespace redlock::sim
