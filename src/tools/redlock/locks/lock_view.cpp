#include "tools/redlock/locks/lock_view.hpp"

#include "tools/redlock/args/output.hpp"
#include "core/key.hpp"
#include "events/utc_text.hpp"

#include <boost/json/value.hpp>

#include <fmt/format.h>

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

std::string in_utc(milliseconds since_1970)
{
    return events::utc_text(std::chrono::sys_time<milliseconds>(since_1970));
}

}  // namespace

std::string_view to_string(lock_state s)
{
    constexpr std::array<std::string_view, 6> names{"unknown", "free", "partial", "held", "shared", "foreign"};
    return names[static_cast<std::size_t>(s)];
}

hold_words words_in(std::string_view value)
{
    auto const by = core::holder_in(value);
    hold_words words{.owner = std::string(by.owner), .note = std::string(by.note)};
    // Another client may have written any number.
    if (by.since != 0 && by.since < static_cast<std::uint64_t>(milliseconds(events::year_10000).count()))
        words.since = milliseconds(by.since);
    return words;
}

lock_state state_of(node_lock_info const& n)
{
    if (n.locked)
        return state_of(n.value);
    return !n.error ? lock_state::free : n.error == errc::wrong_type ? lock_state::foreign : lock_state::unknown;
}

std::optional<milliseconds> ttl_of(node_lock_info const& n)
{
    return n.locked && n.remaining.count() >= 0 ? std::optional(n.remaining) : std::nullopt;
}

lock_view view_of(lock_info info)
{
    lock_view l{.info = std::move(info)};
    std::map<std::tuple<lock_state, std::string_view, bool>, std::vector<milliseconds>> ends;  // of the nodes by value
    std::size_t unknown = 0;
    for (auto const& n : l.info.nodes) {
        auto const state = state_of(n);
        unknown += state == lock_state::unknown;
        if (state > lock_state::free)
            ends[{state, n.value, !n.error}].push_back(ttl_of(n).value_or(no_end));
    }
    auto const majority = l.info.nodes.size() / 2 + 1;
    auto const most = std::ranges::max_element(ends, {}, [](auto const& e) { return e.second.size(); });
    if (most != ends.end()) {
        auto& [who, left] = *most;
        l.votes = left.size();
        l.has = std::get<lock_state>(who);
        l.value = std::get<std::string_view>(who);
        l.about = words_in(l.value);
        std::ranges::sort(left, std::greater());
        // The lock has a majority until fewer than a majority of the keys are left.
        auto const last = l.votes >= majority ? left[majority - 1] : left.front();
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

bool is_refused(error_code ec) { return ec == errc::authentication_failed || ec == errc::permission_denied; }

bool is_refused(lock_info const& info)
{
    return std::ranges::any_of(info.nodes, [](auto const& n) { return is_refused(n.error); });
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
    constexpr std::string_view date = "2026-11-27T";
    auto const then = in_utc(*by.since);
    bool const is_today = then.starts_with(in_utc(now()).substr(0, date.size()));
    auto const age = age_of(*by.since);
    return fmt::format("{} ({})", is_today ? then.substr(date.size()) : then,
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
    to["since"] = by.since ? boost::json::value(in_utc(*by.since)) : boost::json::value(nullptr);
    to["age_ms"] = by.since ? boost::json::value(age_of(*by.since).count()) : boost::json::value(nullptr);
}

boost::json::object json_of(lock_view const& l)
{
    boost::json::object o{
        {"key", valid_utf8(l.info.resource)}, {"state", to_string(l.state)}, {"owner", json_of_text(l.about.owner)}};
    add_words(o, l.about);
    o["ttl_ms"] = json_of_ttl(l.ttl);
    o["votes"] = l.votes;
    o["of"] = l.info.nodes.size();
    return o;
}

boost::json::object json_of(node_lock_info const& n)
{
    boost::json::object o{
        {"name", valid_utf8(n.name)}, {"state", to_string(state_of(n))}, {"owner", json_of_text(n.owner)}};
    add_words(o, words_in(n.value));
    o["ttl_ms"] = json_of_ttl(ttl_of(n));
    if (n.error)
        o["error"] = valid_utf8(trouble_of(n));
    return o;
}

}  // namespace redlock::cli
