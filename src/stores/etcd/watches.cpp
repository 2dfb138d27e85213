#include "stores/etcd/watches.hpp"

#include "core/key.hpp"
#include "stores/etcd/json.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <utility>

namespace redlock::stores::etcd {

namespace {

using namespace std::chrono_literals;

constexpr auto idle_max = 10s;
constexpr auto asked_max = 60s;

}  // namespace

std::string watch_message(std::string_view key, std::uint64_t id, std::int64_t revision, watch_for what)
{
    return fmt::format(R"({{"create_request":{{"key":"{}","start_revision":"{}","watch_id":"{}","filters":[{}]}}}})",
                       base64(key), revision + 1, id, what == watch_for::deletions ? R"("NOPUT")" : "");
}

watches::asked watches::denied(node_command const& c, node_reply const& r, std::int64_t revision, clock::time_point now)
{
    asked to;
    auto const name = [](std::string const& key, bool handed_on) { return handed_on ? core::handovers_key(key) : key; };
    if (!c.has_several_keys())
        ask({name(c.key(), r.handed_on), watch_for::deletions}, revision, now, to);
    for (auto const& k : r.taken)
        ask({name(c.keys[k.index], k.handed_on), watch_for::deletions}, revision, now, to);
    return to;
}

watches::asked watches::inspected(std::string const& key, std::int64_t revision, clock::time_point now)
{
    asked to;
    ask({key, watch_for::all_changes}, revision, now, to);
    return to;
}

void watches::ask(topic const& t, std::int64_t revision, clock::time_point now, asked& to)
{
    auto const& [name, what] = t;
    auto const known = known_.find(t);
    if (known == known_.end()) {
        known_[t] = {.id = ++last_, .used = now};
        topics_[last_] = t;
        return to.messages.push_back(watch_message(prefix_ + name, last_, revision, what));
    }
    auto& w = known->second;
    w.used = now;
    w.asked = w.changed <= revision;
    if (!w.asked)
        to.changed.push_back(name);
}

std::string watches::touched(std::uint64_t id, std::int64_t revision)
{
    auto const named = topics_.find(id);
    if (named == topics_.end())
        return {};
    auto& w = known_.find(named->second)->second;
    w.changed = std::max(w.changed, revision);
    return std::exchange(w.asked, false) ? named->second.first : std::string();
}

std::string watches::ended(std::uint64_t id)
{
    auto const named = topics_.extract(id);
    if (named.empty())
        return {};
    auto const w = known_.extract(named.mapped());
    return w.mapped().asked ? w.key().first : std::string();
}

watches::asked watches::tidy(clock::time_point now)
{
    asked to;
    for (auto it = known_.begin(); it != known_.end();) {
        auto const& [name, what] = it->first;
        auto const& w = it->second;
        bool const may_be_endless = what == watch_for::all_changes;
        if (w.asked ? !may_be_endless || now - w.used < asked_max : now - w.used < idle_max) {
            ++it;
            continue;
        }
        if (w.asked)
            to.changed.push_back(name);
        to.messages.push_back(fmt::format(R"({{"cancel_request":{{"watch_id":"{}"}}}})", w.id));
        topics_.erase(w.id);
        it = known_.erase(it);
    }
    return to;
}

void watches::clear()
{
    known_.clear();
    topics_.clear();
}

}  // namespace redlock::stores::etcd
