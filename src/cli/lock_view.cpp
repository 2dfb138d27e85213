#include "cli/lock_view.hpp"

#include "cli/output.hpp"
#include "core/key.hpp"

#include <boost/json/value.hpp>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
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

lock_state state_of(std::string_view value)
{
    return value == core::shared_word ? lock_state::shared
           : core::is_token(value)    ? lock_state::held
                                      : lock_state::foreign;
}

milliseconds now()
{
    return std::chrono::duration_cast<milliseconds>(std::chrono::system_clock::now().time_since_epoch());
}

// The age of a hold. Its begin is by the clock of another machine, which may be ahead.
milliseconds age_of(milliseconds since) { return std::max(now() - since, milliseconds(0)); }

std::tm in_utc(milliseconds t) { return fmt::gmtime(static_cast<std::time_t>(t.count() / 1000)); }

std::string iso_8601(milliseconds t) { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", in_utc(t)); }

}  // namespace

std::string_view to_string(lock_state s)
{
    constexpr std::array<std::string_view, 6> names{"unknown", "free", "partial", "held", "shared", "foreign"};
    return names[static_cast<std::size_t>(s)];
}

hold_words words_in(std::string_view value)
{
    constexpr std::uint64_t year_10000 = 253'402'300'800'000;  // another client may have written any number
    auto const by = core::holder_in(value);
    hold_words words{.owner = std::string(by.owner), .note = std::string(by.note)};
    if (by.since != 0 && by.since < year_10000)
        words.since = milliseconds(by.since);
    return words;
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
    n.state = state_of(n.value);
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
        l.about = words_in(l.value);
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
        auto& view = nodes.emplace_back(node_view{.name = n.name, .owner = n.owner, .value = n.value});
        if (n.locked) {
            view.state = state_of(n.value);
            view.ttl = n.remaining.count() < 0 ? std::nullopt : std::optional(n.remaining);
        } else if (!n.error) {
            view.state = lock_state::free;
        } else {
            view.state = n.error == errc::wrong_type ? lock_state::foreign : lock_state::unknown;
            view.error = n.error.message();
        }
    }
    return lock_view_of(info.resource, std::move(nodes));
}

std::string holder_of(lock_state has, std::string_view owner)
{
    if (has == lock_state::held)
        return owner.empty() ? "a client without a name" : printable(owner);
    return has == lock_state::shared ? "readers" : has == lock_state::foreign ? "another kind of client" : "";
}

std::string since_of(hold_words const& by)
{
    if (!by.since)
        return {};
    auto const then = in_utc(*by.since), today = in_utc(now());
    bool const is_today = then.tm_year == today.tm_year && then.tm_yday == today.tm_yday;
    auto const age = age_of(*by.since);
    return fmt::format("{} ({})", is_today ? fmt::format("{:%H:%M:%SZ}", then) : iso_8601(*by.since),
                       age < std::chrono::seconds(1) ? "just now" : in_words(age) + " ago");
}

std::string purpose_of(hold_words const& by)
{
    return (by.note.empty() ? "" : fmt::format(" for \"{}\"", printable(by.note)))
           + (by.since ? " since " + since_of(by) : "");
}

std::string ttl_of(lock_state has, std::optional<milliseconds> ttl)
{
    return has <= lock_state::free ? "" : ttl ? in_words(*ttl) : "for ever";
}

boost::json::value json_of_text(std::string_view text)
{
    return text.empty() ? boost::json::value(nullptr) : boost::json::value(valid_utf8(text));
}

void add_words(boost::json::object& to, hold_words const& by)
{
    to["note"] = json_of_text(by.note);
    to["since"] = by.since ? boost::json::value(iso_8601(*by.since)) : boost::json::value(nullptr);
    to["age_ms"] = by.since ? boost::json::value(age_of(*by.since).count()) : boost::json::value(nullptr);
}

boost::json::object json_of(lock_view const& l)
{
    boost::json::object o{{"key", valid_utf8(l.key)}, {"state", to_string(l.state)}, {"owner", json_of_text(l.owner)}};
    add_words(o, l.about);
    o["ttl_ms"] = json_of_ttl(l.ttl);
    o["votes"] = l.votes;
    o["of"] = l.nodes.size();
    return o;
}

boost::json::object json_of(node_view const& n)
{
    boost::json::object o{
        {"name", valid_utf8(n.name)}, {"state", to_string(n.state)}, {"owner", json_of_text(n.owner)}};
    add_words(o, words_in(n.value));
    o["ttl_ms"] = json_of_ttl(n.ttl);
    if (!n.error.empty())
        o["error"] = valid_utf8(n.error);
    return o;
}

}  // namespace redlock::cli
