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

}  // namespace

std::string watch_message(std::string_view key, std::uint64_t id, std::int64_t revision)
{
    return fmt::format(
        R"({{"create_request":{{"key":"{}","start_revision":"{}","watch_id":"{}","filters":["NOPUT"]}}}})", base64(key),
        revision + 1, id);
}

watches::asked watches::denied(node_command const& c, node_reply const& r, std::int64_t revision, clock::time_point now)
{
    asked to;
    auto const name = [](std::string const& key, bool handed_on) { return handed_on ? core::handovers_key(key) : key; };
    if (!c.has_several_keys())
        ask(name(c.key(), r.handed_on), revision, now, to);
    for (auto const& k : r.taken)
        ask(name(c.keys[k.index], k.handed_on), revision, now, to);
    return to;
}

void watches::ask(std::string const& name, std::int64_t revision, clock::time_point now, asked& to)
{
    auto const known = known_.find(name);
    if (known == known_.end()) {
        known_[name] = {.id = ++last_, .used = now};
        names_[last_] = name;
        return to.messages.push_back(watch_message(prefix_ + name, last_, revision));
    }
    auto& w = known->second;
    w.used = now;
    w.asked = w.changed <= revision;
    if (!w.asked)
        to.changed.push_back(name);
}

std::string watches::deleted(std::uint64_t id, std::int64_t revision)
{
    auto const named = names_.find(id);
    if (named == names_.end())
        return {};
    auto& w = known_.find(named->second)->second;
    w.changed = std::max(w.changed, revision);
    return std::exchange(w.asked, false) ? named->second : std::string();
}

std::string watches::ended(std::uint64_t id)
{
    auto const named = names_.extract(id);
    if (named.empty())
        return {};
    auto const w = known_.extract(named.mapped());
    return w.mapped().asked ? w.key() : std::string();
}

std::vector<std::string> watches::tidy(clock::time_point now)
{
    std::vector<std::string> messages;
    for (auto it = known_.begin(); it != known_.end();) {
        auto const& w = it->second;
        if (w.asked || now - w.used < idle_max) {
            ++it;
            continue;
        }
        messages.push_back(fmt::format(R"({{"cancel_request":{{"watch_id":"{}"}}}})", w.id));
        names_.erase(w.id);
        it = known_.erase(it);
    }
    return messages;
}

void watches::clear()
{
    known_.clear();
    names_.clear();
}

}  // namespace redlock::stores::etcd
