#include "stores/kit/steps.hpp"

#include "core/key.hpp"
#include "core/told_time.hpp"
#include "stores/kit/content.hpp"

#include <redlock/error.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <iterator>
#include <memory>
#include <utility>

namespace redlock::stores::kit {

namespace {

using command = node_command;
using form = parameter::form;

// Parameters of steps

using put = parameter (*)(command const&, bool tombstone);
constexpr put value = [](command const& c, bool) -> parameter { return {form::bytes, c.value}; };
constexpr put contender = [](command const& c, bool) -> parameter {
    return {c.contends() ? form::bytes : form::null, c.contender()};
};
constexpr put ttl = [](command const& c, bool) -> parameter { return {form::number, {}, c.ttl.count()}; };
constexpr put proposal = [](command const& c, bool) -> parameter {
    return {form::number, {}, static_cast<std::int64_t>(c.fence())};
};
constexpr put follows = [](command const& c, bool) -> parameter {
    return {form::flag, {}, c.handed_on() == commands::handovers::follow};
};
constexpr put ends = [](command const& c, bool) -> parameter {
    return {form::flag, {}, c.handed_on() == commands::handovers::end};
};
constexpr put grows = [](command const& c, bool) -> parameter { return {form::flag, {}, c.grows()}; };
constexpr put passes = [](command const& c, bool) -> parameter {
    return {form::flag, {}, c.as<commands::acquire>().passes};
};
constexpr put shares = [](command const& c, bool) -> parameter { return {form::flag, {}, c.is_shared()}; };
constexpr put heal = [](command const& c, bool) -> parameter { return {form::flag, {}, c.heals()}; };
constexpr put former = [](command const& c, bool) -> parameter {
    return {form::bytes, c.as<commands::replace>().former};
};
constexpr put alone = [](command const& c, bool) -> parameter {
    return {form::flag, {}, c.as<commands::extend>().alone};
};
constexpr put tombstone = [](command const&, bool on) -> parameter { return {form::tombstone, {}, on}; };
constexpr put watch = [](command const& c, bool) -> parameter { return {form::watch, {}, c.watches()}; };

// Columns of answers

bool is_on(std::string const& text) { return text == "t" || to_integer(text) != 0; }

vote vote_of(bool granted) { return granted ? vote::granted : vote::denied; }

std::chrono::milliseconds time_in(std::string const& text)
{
    return core::told_time<std::chrono::milliseconds>(to_integer(text));
}

std::uint32_t count(std::string const& text) { return static_cast<std::uint32_t>(to_integer(text)); }

using get = void (*)(std::string const&, command const&, node_reply&);
constexpr get granted = [](auto& text, auto&, auto& r) { r.vote = vote_of(is_on(text)); };
constexpr get counter = [](auto& text, auto&, auto& r) { r.fence = static_cast<std::uint64_t>(to_integer(text)); };
constexpr get counter_if_asked = [](auto& text, auto& c, auto& r) { c.fence() != 0 ? counter(text, c, r) : void(); };
constexpr get wanted = [](auto& text, auto&, auto& r) { r.wanted = is_on(text); };
constexpr get healed = [](auto& text, auto&, auto& r) { r.healed = is_on(text); };
constexpr get others = [](auto& text, auto&, auto& r) { r.ours = is_on(text); };
constexpr get behind_writer = [](auto& text, auto&, auto& r) { r.behind_writer = is_on(text); };
constexpr get handed_on = [](auto& text, auto&, auto& r) { r.handed_on = is_on(text); };
constexpr get remaining = [](auto& text, auto&, auto& r) { r.remaining = time_in(text); };
constexpr get whose = [](auto& text, auto&, auto& r) { r.text = text; };
constexpr get which = [](auto& text, auto& c, auto& r) {
    r.ours = c.grows() ? count(text) : 0;
    r.chosen = c.wants_any() ? count(text) : 0;
};
constexpr get released = [](auto& text, auto& c, auto& r) {
    r.vote = vote_of(count(text) == c.keys.size());
    r.ours = c.has_several_keys() ? count(text) : 0;
};

using condition = bool (*)(command const&);
constexpr condition always = [](command const&) { return true; };
constexpr condition shared = [](command const& c) { return c.is_shared(); };
constexpr condition any_key = [](command const& c) { return c.wants_any(); };

struct step {
    command::kind what;
    condition fits;  // a command uses the first step that fits
    std::string_view name;
    put parameters[8];  // those that follow the keys, ended by a null
    get columns[7];
};

constexpr step steps[] = {
    {command::kind::acquire,
     shared,
     "share",
     {value, ttl, contender, passes, watch},
     {granted, counter_if_asked, wanted, behind_writer, remaining, handed_on}},
    {command::kind::acquire,
     any_key,
     "acquire_any",
     {value, ttl, proposal, contender, follows, watch},
     {granted, counter, wanted, which}},
    {command::kind::acquire,
     always,
     "acquire",
     {value, ttl, proposal, contender, grows, follows, watch},
     {granted, counter, wanted, which}},
    {command::kind::raise, always, "raise", {proposal, shares}, {counter}},
    {command::kind::extend, shared, "extend_shared", {value, ttl, heal, alone}, {granted, healed}},
    {command::kind::extend, always, "extend", {value, ttl, heal}, {granted, healed}},
    {command::kind::replace, always, "replace", {value, ttl, former, shares}, {granted}},
    {command::kind::release, shared, "release_shared", {value, tombstone}, {granted}},
    {command::kind::release, always, "release", {value, tombstone, ends}, {released}},
    {command::kind::upgrade,
     always,
     "upgrade",
     {value, ttl, proposal, contender, watch},
     {granted, counter, others, remaining}},
    {command::kind::downgrade, always, "downgrade", {value}, {granted}},
    {command::kind::withdraw, always, "withdraw", {contender}, {}},
    {command::kind::scan, always, "scan", {}, {}},
    {command::kind::inspect, always, "inspect", {}, {whose, remaining}},
};

step const& step_for(command const& c)
{
    auto const last = std::end(steps) - 1;
    return *std::find_if(steps, last, [&](step const& s) { return s.what == c.which() && s.fits(c); });
}

}  // namespace

std::string for_table(std::string_view text, std::string_view table)
{
    constexpr std::string_view name = "redlock";
    std::string changed;
    for (auto at = text.find(name); at != text.npos; at = text.find(name)) {
        changed.append(text.substr(0, at)).append(table);
        text.remove_prefix(at + name.size());
    }
    return changed.append(text);
}

std::string in_hex(std::string_view bytes)
{
    std::string text;
    text.reserve(2 * bytes.size());
    for (unsigned char const c : bytes) {
        text += "0123456789abcdef"[c >> 4];
        text += "0123456789abcdef"[c & 15];
    }
    return text;
}

std::string from_hex(std::string_view digits)
{
    std::string bytes;
    for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
        unsigned n = 0;
        std::from_chars(digits.data() + i, digits.data() + i + 2, n, 16);
        bytes += static_cast<char>(n);
    }
    return bytes;
}

std::string_view take(std::string_view& rest, char mark)
{
    auto const end = std::min(rest.find(mark), rest.size());
    auto const part = rest.substr(0, end);
    rest.remove_prefix(std::min(end + 1, rest.size()));
    return part;
}

std::int64_t to_integer(std::string_view text)
{
    std::int64_t n = 0;
    std::from_chars(text.data(), text.data() + text.size(), n);
    return n;
}

std::string_view step_of(command const& c) noexcept { return step_for(c).name; }

std::vector<parameter> parameters_of(command const& c, bool leaves_tombstone)
{
    std::vector<parameter> all;
    for (auto const* p = step_for(c).parameters; *p; ++p)
        all.push_back((*p)(c, leaves_tombstone));
    return all;
}

std::string const& cell(cells const& row, std::size_t column)
{
    static std::string const none;
    return column < row.size() ? row[column] : none;
}

std::string const& cell(rows const& all, std::size_t column)
{
    static cells const none;
    return cell(all.empty() ? none : all.front(), column);
}

std::int64_t integer(rows const& all, std::size_t column) { return to_integer(cell(all, column)); }

core::memory_record read_record(cells const& row, std::size_t first)
{
    auto const& began = cell(row, first + 1);
    return {.word = cell(row, first),
            .began = began.empty() ? core::beginning::anew : static_cast<core::beginning>(began.front()),
            .age = time_in(cell(row, first + 2)),
            .wait = time_in(cell(row, first + 3))};
}

void add_taken(taken_keys& all, std::string_view index, std::string_view remaining, bool handed_on)
{
    all.push_back({static_cast<std::uint32_t>(to_integer(index)),
                   core::told_time<std::chrono::milliseconds>(to_integer(remaining)), handed_on});
}

node_reply decode(command const& c, rows const& all, taken_keys (*taken)(cells const&), char const* step)
{
    if (c.which() == command::kind::inspect && all.empty())
        return {.vote = vote::denied};
    if (c.which() != command::kind::inspect && all.size() != 1)
        return {.error = errc::unexpected_reply, .text = fmt::format("the {} did not return exactly one row", step)};
    node_reply reply{.vote = vote::granted};
    std::size_t column = 0;
    for (auto const* read = step_for(c).columns; *read; ++read)
        (*read)(cell(all, column++), c, reply);
    if (c.which() != command::kind::acquire || c.is_shared() || !(c.contends() || c.wants_any()))
        return reply;
    reply.taken = taken(all.front());
    if (!c.has_several_keys() && !reply.taken.empty())
        tell_of_only_key(reply, std::move(reply.text));
    return reply;
}

node_reply decode_inspection(rows const& all, bool knows_waiters)
{
    node_reply reply{.vote = vote::denied};
    auto details = std::make_shared<key_details>();
    details->knows_readers = true;
    details->knows_waiters = knows_waiters;
    for (auto const& row : all) {
        auto const& bytes = cell(row, 0);
        auto const number = to_integer(cell(row, 1));
        if (auto const& what = cell(row, 2); what == "reader") {
            details->readers.push_back({bytes, core::told_time<std::chrono::milliseconds>(number)});
        } else if (what == "waiter") {
            details->waiters.push_back({.contender = bytes, .shares = number != 0});
        } else {
            reply.vote = vote::granted;
            reply.text = bytes;
            reply.remaining = core::told_time<std::chrono::milliseconds>(number);
        }
    }
    if (reply.text != core::shared_word)  // the tables may keep the readers of an earlier lock
        details->readers.clear();
    reply.details = std::move(details);
    return reply;
}

key_range range_of(command const& c)
{
    key_range range{.first = c.key(), .end = c.key()};
    if (c.value >= c.key() && !c.value.empty())
        range.first = std::string(c.value) + '\0';  // no key is between the place and this
    while (range.end.ends_with('\xff'))
        range.end.pop_back();
    if (!range.end.empty())
        range.end.back() = static_cast<char>(range.end.back() + 1);
    return range;
}

node_reply decode_scan(command const& c, rows const& all)
{
    auto details = std::make_shared<key_details>();
    for (auto const& row : all)
        details->keys.push_back(cell(row, 0));
    node_reply reply{.vote = vote::granted};
    if (!details->keys.empty() && details->keys.size() >= c.as<commands::scan>().limit)
        reply.text = details->keys.back();
    reply.details = std::move(details);
    return reply;
}

}  // namespace redlock::stores::kit
