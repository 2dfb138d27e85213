#include "cli/lock_view.hpp"

#include "cli/output.hpp"
#include "core/key.hpp"

#include <boost/json/value.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace redlock::cli {

namespace {

using std::chrono::milliseconds;

constexpr auto no_end = milliseconds::max();

boost::json::value json_of_ttl(std::optional<milliseconds> ttl)
{
    return ttl ? boost::json::value(ttl->count()) : boost::json::value(nullptr);
}

// An owner without a label is null.
boost::json::value json_of_owner(std::string_view owner)
{
    return owner.empty() ? boost::json::value(nullptr) : boost::json::value(valid_utf8(owner));
}

}  // namespace

std::string_view to_string(lock_state s)
{
    constexpr std::array<std::string_view, 6> names{"unknown", "free", "partial", "held", "shared", "foreign"};
    return names[static_cast<std::size_t>(s)];
}

node_view view_of(std::string name, reply const& value, reply const& ttl)
{
    node_view n{.name = std::move(name)};
    bool const is_no_string = value.what == reply::kind::error && value.text.starts_with("WRONGTYPE");
    auto const left = ttl.number();
    if ((value.failed() && !is_no_string) || !left) {
        n.error = value.failed() ? value.text : ttl.text;
        return n;
    }
    if (value.what == reply::kind::nothing || *left == -2) {
        n.state = lock_state::free;
        return n;
    }
    n.ttl = *left < 0 ? std::nullopt : std::optional<milliseconds>(*left);
    if (is_no_string)
        n.error = value.text;
    else
        n.value = value.text;
    n.owner = core::owner_in(n.value);
    n.state = n.value == core::shared_word ? lock_state::shared
              : core::is_token(n.value)    ? lock_state::held
                                           : lock_state::foreign;
    return n;
}

lock_view lock_view_of(std::string key, std::vector<node_view> nodes)
{
    lock_view l{.key = std::move(key), .nodes = std::move(nodes)};
    std::map<std::tuple<lock_state, std::string_view, bool>, std::vector<node_view const*>> values;
    for (auto const& n : l.nodes) {
        if (n.state > lock_state::free)
            values[{n.state, n.value, n.error.empty()}].push_back(&n);
    }
    auto const majority = l.nodes.size() / 2 + 1;
    auto const unknown = static_cast<std::size_t>(std::ranges::count(l.nodes, lock_state::unknown, &node_view::state));
    auto const most = std::ranges::max_element(values, {}, [](auto const& v) { return v.second.size(); });
    if (most != values.end()) {
        auto const& who = most->second;
        l.votes = who.size();
        l.has = who.front()->state;
        l.owner = who.front()->owner;
        l.value = who.front()->value;
        std::vector<milliseconds> ends;
        for (auto const* n : who)
            ends.push_back(n->ttl.value_or(no_end));
        std::ranges::sort(ends, std::greater());
        // The lock has a majority until fewer than a majority of the keys are left.
        auto const last = l.votes >= majority ? ends[majority - 1] : ends.front();
        l.ttl = last == no_end ? std::nullopt : std::optional(last);
    }
    if (l.votes >= majority)
        l.state = l.has;
    else if (l.votes + unknown >= majority)
        l.state = lock_state::unknown;
    else
        l.state = l.votes > 0 ? lock_state::partial : lock_state::free;
    return l;
}

lock_view view_of(lock_info const& info)
{
    std::vector<node_view> nodes;
    for (auto const& n : info.nodes) {
        auto& view = nodes.emplace_back(
            node_view{.name = n.name, .owner = n.owner, .error = n.error ? n.error.message() : std::string()});
        if (!n.error)
            view.state = !n.locked ? lock_state::free : n.mode == mode::shared ? lock_state::shared : lock_state::held;
        if (n.locked && n.remaining.count() >= 0)
            view.ttl = n.remaining;
        // Inspection returns no values, so two values of one owner look equal here. The check of info.locked below
        // corrects that.
        view.value = n.owner;
    }
    auto l = lock_view_of(info.resource, std::move(nodes));
    for (auto& n : l.nodes)
        n.value.clear();
    l.value.clear();
    if (!info.locked && (l.state == lock_state::held || l.state == lock_state::shared))
        l.state = lock_state::partial;
    return l;
}

std::string holder_of(lock_state has, std::string_view owner)
{
    if (has == lock_state::held)
        return owner.empty() ? "a client without a name" : printable(owner);
    return has == lock_state::shared ? "readers" : has == lock_state::foreign ? "another kind of client" : "";
}

std::string ttl_of(lock_state has, std::optional<milliseconds> ttl)
{
    return has <= lock_state::free ? "" : ttl ? in_words(*ttl) : "for ever";
}

boost::json::object json_of(lock_view const& l)
{
    return {{"key", valid_utf8(l.key)},
            {"state", to_string(l.state)},
            {"owner", json_of_owner(l.owner)},
            {"ttl_ms", json_of_ttl(l.ttl)},
            {"votes", l.votes},
            {"of", l.nodes.size()}};
}

boost::json::object json_of(node_view const& n)
{
    boost::json::object o{{"name", valid_utf8(n.name)},
                          {"state", to_string(n.state)},
                          {"owner", json_of_owner(n.owner)},
                          {"ttl_ms", json_of_ttl(n.ttl)}};
    if (!n.error.empty())
        o["error"] = valid_utf8(n.error);
    return o;
}

}  // namespace redlock::cli
