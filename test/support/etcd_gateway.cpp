#include "support/etcd_gateway.hpp"

#include <boost/json/array.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

namespace redlock::test {

namespace {

namespace json = stores::etcd::json;
using stores::etcd::base64;
using stores::etcd::bytes_in;
using stores::etcd::number_in;
using stores::etcd::text_in;

constexpr int invalid_argument = 3, not_found = 5;

/// An error: the request has changed nothing.
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

}  // namespace

etcd_gateway::object etcd_gateway::header() const
{
    return {{"cluster_id", id_},
            {"member_id", "1"},
            {"revision", fmt::to_string(revision_)},
            {"raft_term", fmt::to_string(term_)}};
}

etcd_gateway::object etcd_gateway::error(std::string_view why, int code) const
{
    return {{"error", why}, {"code", code}};
}

etcd_gateway::object etcd_gateway::carry_out(std::string_view path, std::string const& body)
{
    auto const asked = json::parse(body).as_object();
    try {
        if (path == "/v3/lease/grant")
            return grant(asked);
        if (path == "/v3/lease/revoke")
            return revoke(asked);
        if (path == "/v3/kv/range")
            return range(asked, values_);
        return transaction(asked);
    } catch (refused const& r) {
        return error(r.why, r.code);
    }
}

// Leases

etcd_gateway::object etcd_gateway::grant(object const& asked)
{
    auto const id = fmt::to_string(++last_lease_);
    std::chrono::seconds const ttl(stores::etcd::number_in(asked, "TTL"));
    leases_[id] = {ttl, time(), time() + ttl};
    note(id, "is granted");
    return {{"header", header()}, {"ID", id}, {"TTL", fmt::to_string(ttl.count())}};
}

etcd_gateway::object etcd_gateway::revoke(object const& asked)
{
    auto const id = std::string(stores::etcd::text_in(asked, "ID"));
    if (!leases_.contains(id))
        throw refused{"etcdserver: requested lease not found", not_found};
    end(id);
    return {{"header", header()}};
}

void etcd_gateway::end(std::string const& lease)
{
    note(lease, "ends");
    auto after = values_;
    std::erase_if(after, [&](auto& one) { return one.second.lease == lease; });
    leases_.erase(lease);
    ++revision_;
    commit(std::move(after));
}

std::vector<std::string> etcd_gateway::leases_that_are_over() const
{
    std::vector<std::string> over;
    for (auto const& [id, l] : leases_) {
        if (l.expires <= time())
            over.push_back(id);
    }
    return over;
}

std::vector<std::string> etcd_gateway::leases_that_a_stopped_leader_ends(clock::time_point stopped) const
{
    std::vector<std::string> over;
    for (auto const& [id, l] : leases_) {
        if (l.granted <= stopped && l.granted + l.ttl <= time())
            over.push_back(id);
    }
    return over;
}

void etcd_gateway::elect()
{
    ++term_;
    for (auto& [id, l] : leases_)
        l.expires = std::max(l.expires, time() + l.ttl);
}

// Transactions: all conditions are evaluated before the first change.

etcd_gateway::object etcd_gateway::transaction(object const& asked)
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

etcd_gateway::object etcd_gateway::carry_out(object const& transaction, values& after)
{
    auto const& conditions = list(transaction, "compare");
    bool const holds =
        std::all_of(conditions.begin(), conditions.end(), [this](auto& c) { return is_met(c.as_object()); });
    object answer;
    if (holds)
        answer["succeeded"] = true;
    json::array responses;
    for (auto const& what : list(transaction, holds ? "success" : "failure"))
        responses.push_back(step(what.as_object(), after));
    answer["responses"] = std::move(responses);
    return answer;
}

bool etcd_gateway::is_met(object const& condition) const
{
    auto const found = values_.find(stores::etcd::bytes_in(condition, "key"));
    auto const target = stores::etcd::text_in(condition, "target"), result = stores::etcd::text_in(condition, "result");
    if (target == "CREATE")
        return (found == values_.end() ? 0 : found->second.created)
               == stores::etcd::number_in(condition, "create_revision");
    if (target == "MOD")
        return (found == values_.end() ? 0 : found->second.changed)
               == stores::etcd::number_in(condition, "mod_revision");
    if (found == values_.end())
        return false;
    auto const order = found->second.bytes.compare(stores::etcd::bytes_in(condition, "value"));
    return result == "LESS" ? order < 0 : result == "GREATER" ? order > 0 : order == 0;
}

etcd_gateway::object etcd_gateway::step(object const& what, values& after)
{
    auto const& [name, asked] = *what.begin();
    auto const& arguments = asked.as_object();
    if (name == "request_txn")
        return {{"response_txn", carry_out(arguments, after)}};
    if (name == "request_range")
        return {{"response_range", range(arguments, after)}};
    if (name == "request_delete_range") {
        auto const deleted = after.erase(stores::etcd::bytes_in(arguments, "key"));
        return {{"response_delete_range", {{"deleted", fmt::to_string(deleted)}}}};
    }
    put(arguments, after);
    return {{"response_put", object()}};
}

void etcd_gateway::put(object const& asked, values& after)
{
    auto const key = stores::etcd::bytes_in(asked, "key");
    auto const there = after.find(key);
    bool const as_it_is = stores::etcd::is_true(asked, "ignore_value");
    if (as_it_is && there == after.end())
        throw refused{"etcdserver: key not found", invalid_argument};
    auto const lease = std::string(stores::etcd::text_in(asked, "lease"));
    if (!lease.empty() && lease != "0" && !leases_.contains(lease))
        throw refused{"etcdserver: requested lease not found", not_found};
    auto& v = after[key];
    if (v.created == 0)
        v.created = revision_;
    v.changed = revision_;
    if (!as_it_is)
        v.bytes = stores::etcd::bytes_in(asked, "value");
    if (!stores::etcd::is_true(asked, "ignore_lease"))
        v.lease = lease == "0" ? std::string() : lease;
}

etcd_gateway::object etcd_gateway::range(object const& asked, values const& in) const
{
    auto const first = stores::etcd::bytes_in(asked, "key"), last = stores::etcd::bytes_in(asked, "range_end");
    auto const begin = in.lower_bound(first);
    auto const end = last.empty()                   ? in.upper_bound(first)
                     : last == std::string(1, '\0') ? in.end()
                                                    : in.lower_bound(last);
    json::array found;
    for (auto at = begin; at != end
                          && (stores::etcd::number_in(asked, "limit") == 0
                              || std::ssize(found) < stores::etcd::number_in(asked, "limit"));
         ++at) {
        object one{{"key", stores::etcd::base64(at->first)},
                   {"create_revision", fmt::to_string(at->second.created)},
                   {"mod_revision", fmt::to_string(at->second.changed)}};
        if (!stores::etcd::is_true(asked, "keys_only"))
            one["value"] = stores::etcd::base64(at->second.bytes);
        if (!at->second.lease.empty())
            one["lease"] = at->second.lease;
        found.push_back(std::move(one));
    }
    object answer{{"header", header()}, {"kvs", std::move(found)}};
    auto const all = std::distance(begin, end), listed = std::ssize(answer["kvs"].as_array());
    if (all > 0)
        answer["count"] = fmt::to_string(all);
    if (all > listed)
        answer["more"] = true;
    return answer;
}

void etcd_gateway::erase(std::string const& key)
{
    auto after = values_;
    after.erase(key);
    ++revision_;
    commit(std::move(after));
}

// Replaces the values, and notifies the watches.
void etcd_gateway::commit(values after)
{
    auto const before = std::exchange(values_, std::move(after));
    changed(before);
    auto const known = changes_.size();
    note_changes(before);
    for (auto const& c : std::vector(changes_.begin() + static_cast<std::ptrdiff_t>(known), changes_.end())) {
        for (auto const& w : std::vector(watches_))
            tell_of(c, w);
    }
}

void etcd_gateway::note_changes(values const& before)
{
    for (auto const& [key, v] : before) {
        if (!values_.contains(key))
            changes_.push_back({key, revision_, false});
    }
    for (auto const& [key, v] : values_) {
        if (auto const there = before.find(key); there == before.end() || there->second != v)
            changes_.push_back({key, revision_, true});
    }
}

// Watches

void etcd_gateway::hear(std::weak_ptr<void const> const& from, std::string const& message, told tell)
{
    auto const said = json::parse(message).as_object();
    if (auto const& asked = stores::etcd::object_in(said, "create_request"); !asked.empty()) {
        watches_.push_back({from, stores::etcd::number_in(asked, "watch_id"), stores::etcd::bytes_in(asked, "key"),
                            list(asked, "filters").empty(), tell});
        tell(json::serialize(object{{"result",
                                     {{"header", header()},
                                      {"watch_id", fmt::to_string(stores::etcd::number_in(asked, "watch_id"))},
                                      {"created", true}}}}));
        auto const since = stores::etcd::number_in(asked, "start_revision");
        auto const created = watches_.back();
        for (auto const& c : changes_) {
            if (since > 0 && c.revision >= since)
                tell_of(c, created);
        }
    } else if (auto const& ended = stores::etcd::object_in(said, "cancel_request"); !ended.empty()) {
        std::erase_if(watches_, [&](auto& w) {
            return w.id == stores::etcd::number_in(ended, "watch_id") && !w.from.owner_before(from)
                   && !from.owner_before(w.from);
        });
    } else {
        tell(json::serialize(object{{"result", {{"header", header()}}}}));
    }
}

void etcd_gateway::tell_of(change const& c, watch const& w) const
{
    if (c.key != w.key || (c.is_put && !w.hears_puts))
        return;
    object event{{"kv", {{"key", stores::etcd::base64(c.key)}, {"mod_revision", fmt::to_string(c.revision)}}}};
    if (!c.is_put)
        event["type"] = "DELETE";
    w.tell(json::serialize(object{
        {"result", {{"header", header()}, {"watch_id", fmt::to_string(w.id)}, {"events", json::array{event}}}}}));
}

}  // namespace redlock::test
