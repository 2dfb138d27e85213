#include "tools/redlock/locks/service_json.hpp"

#include "tools/redlock/args/output.hpp"
#include "core/key.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <optional>
#include <utility>

namespace redlock::cli {

namespace {

namespace json = boost::json;
using std::chrono::milliseconds;
using time_since = std::optional<std::chrono::system_clock::time_point>;

[[noreturn]] void refuse(std::string_view name, std::string_view must_be)
{
    throw wrong_document(fmt::format("the field \"{}\" of the answer must be {}", name, must_be));
}

json::value const& value_of(json::object const& o, std::string_view name)
{
    auto const* const value = o.if_contains(name);
    if (!value)
        refuse(name, "there");
    return *value;
}

bool flag_of(json::object const& o, std::string_view name)
{
    auto const& value = value_of(o, name);
    if (!value.is_bool())
        refuse(name, "true or false");
    return value.get_bool();
}

std::optional<std::int64_t> number_or_null(json::object const& o, std::string_view name)
{
    auto const& value = value_of(o, name);
    if (value.is_null())
        return std::nullopt;
    error_code ec;
    auto const n = value.to_number<std::int64_t>(ec);
    if (!value.is_number() || ec)
        refuse(name, "a whole number");
    return n;
}

// Nothing: it is unknown, or no clock can show it.
time_since since_in(json::object const& o)
{
    using std::chrono::system_clock;
    constexpr auto latest = std::chrono::floor<milliseconds>(system_clock::time_point::max().time_since_epoch());
    auto const ms = number_or_null(o, "since_ms");
    return ms && *ms >= 0 && *ms <= latest.count() ? time_since(system_clock::time_point(milliseconds(*ms)))
                                                   : std::nullopt;
}

// A service replaces bytes that are no UTF-8.
void must_be_about(json::object const& o, std::string_view name)
{
    if (text_of(o, "resource") != valid_utf8(name))
        refuse("resource", "the name that was asked for");
}

std::vector<std::string> as_set(std::span<std::string const> names)
{
    std::vector<std::string> all(names.begin(), names.end());
    std::ranges::sort(all);
    auto const twice = std::ranges::unique(all);
    all.erase(twice.begin(), twice.end());
    return all;
}

// It becomes a part of a path, and of the environment of a command.
std::string id_in(json::object const& o)
{
    auto id = text_of(o, "id");
    if (id.empty() || std::ranges::any_of(id, [](char c) { return c <= ' ' || c > '~'; }))
        refuse("id", "a text of printable ASCII characters without spaces");
    return id;
}

template <class Read>
auto all_of(json::object const& o, std::string_view name, Read read)
{
    auto const& value = value_of(o, name);
    if (!value.is_array())
        refuse(name, "an array");
    std::vector<decltype(read(json::object()))> all;
    for (auto const& element : value.get_array()) {
        if (!element.is_object())
            refuse(name, "an array of objects");
        all.push_back(read(element.get_object()));
    }
    return all;
}

// The commands distinguish these errors.
error_code error_of(std::string_view code)
{
    return code == "refused"       ? errc::permission_denied
           : code == "unsupported" ? errc::unsupported
           : code == "wrong-type"  ? errc::wrong_type
                                   : errc::node_unreachable;
}

template <class Node>
void add_error(Node& n, json::object const& o)
{
    if (!o.if_contains("error"))
        return;
    n.message = text_of(o, "error");
    n.error = error_of(text_of(o, "code"));
}

// A value of a lock with these words.
std::string made_up(std::string_view holder, std::string_view owner, std::string_view note, time_since since)
{
    std::uint64_t bits = 0;
    std::from_chars(holder.data(), holder.data() + holder.size(), bits, 16);
    auto const ms = since ? std::chrono::floor<milliseconds>(since->time_since_epoch()).count() : 0;
    return core::make_token(
        bits, bits, {.owner = owner, .note = note, .since = static_cast<std::uint64_t>(std::max<std::int64_t>(ms, 0))});
}

node_lock_info node_in(json::object const& o, lock_info const& of)
{
    node_lock_info n{.name = text_of(o, "name"), .locked = flag_of(o, "locked")};
    add_error(n, o);
    if (!n.locked)
        return n;
    n.owner = text_of(o, "owner");
    n.note = text_of(o, "note");
    n.remaining = milliseconds(number_or_null(o, "remaining_ms").value_or(-1));
    auto const state = text_of(o, "state");
    auto const holder = text_of(o, "holder");
    bool const is_holder = of.locked && n.owner == of.owner && n.note == of.note;
    n.mode = state == "shared" ? mode::shared : mode::exclusive;
    n.value = state == "shared" ? std::string(core::shared_word)
              : state == "held" ? made_up(holder, n.owner, n.note, is_holder ? of.since : std::nullopt)
                                : holder;
    return n;
}

reader_info reader_in(json::object const& o)
{
    reader_info r{.owner = text_of(o, "owner"),
                  .note = text_of(o, "note"),
                  .remaining = milliseconds(number_or_null(o, "remaining_ms").value_or(0)),
                  .nodes = static_cast<std::size_t>(number_of(o, "votes")),
                  .since = since_in(o)};
    r.value = made_up("", r.owner, r.note, r.since);
    return r;
}

waiting_info waiter_in(json::object const& o)
{
    return {.owner = text_of(o, "owner"), .note = text_of(o, "note"), .shares = text_of(o, "mode") == "shared"};
}

lock_info any_lock_in(json::object const& o)
{
    lock_info l{.resource = text_of(o, "resource"),
                .locked = flag_of(o, "locked"),
                .mode = text_of(o, "mode") == "shared" ? mode::shared : mode::exclusive,
                .owner = text_of(o, "owner"),
                .note = text_of(o, "note"),
                .since = since_in(o)};
    l.remaining = milliseconds(number_or_null(o, "remaining_ms").value_or(milliseconds::max().count()));
    l.nodes = all_of(o, "nodes", [&](auto const& n) { return node_in(n, l); });
    l.readers = all_of(o, "readers", reader_in);
    l.waiters = all_of(o, "waiters", waiter_in);
    l.knows_readers = flag_of(o, "knows_readers");
    l.knows_waiters = flag_of(o, "knows_waiters");
    return l;
}

}  // namespace

std::string text_of(json::object const& o, std::string_view name)
{
    auto const& value = value_of(o, name);
    if (value.is_null())
        return {};
    if (!value.is_string())
        refuse(name, "a text");
    return std::string(value.get_string());
}

std::int64_t number_of(json::object const& o, std::string_view name)
{
    auto const n = number_or_null(o, name);
    if (!n || *n < 0)
        refuse(name, "a whole number from 0 on");
    return *n;
}

std::vector<std::string> texts_of(json::object const& o, std::string_view name)
{
    auto const& value = value_of(o, name);
    if (!value.is_array())
        refuse(name, "an array");
    std::vector<std::string> all;
    for (auto const& element : value.get_array()) {
        if (!element.is_string())
            refuse(name, "an array of texts");
        all.emplace_back(element.get_string());
    }
    return all;
}

service_grant grant_in(json::object const& o, std::span<std::string const> names, mode m, milliseconds ttl)
{
    service_grant g{.id = id_in(o), .resources = texts_of(o, "resources")};
    if (as_set(g.resources) != as_set(names))
        refuse("resources", "the names that were asked for");
    g.fencing_token = static_cast<std::uint64_t>(number_of(o, "fencing_token"));
    g.valid_for = std::min(milliseconds(number_of(o, "valid_for_ms")), ttl);
    g.waited = milliseconds(o.contains("waited_ms") ? number_of(o, "waited_ms") : 0);
    if (text_of(o, "mode") != (m == mode::shared ? "shared" : "exclusive"))
        refuse("mode", "the one that was asked for");
    return g;
}

lock_info lock_in(json::object const& o, std::string_view name)
{
    must_be_about(o, name);
    return any_lock_in(o);
}

lock_page page_in(json::object const& o, std::string_view from)
{
    lock_page page{.locks = all_of(o, "locks", any_lock_in), .next = text_of(o, "next")};
    if (!page.next.empty() && page.next == from)
        refuse("next", "another one than that of the page before");
    page.nodes = all_of(o, "nodes", [](json::object const& n) {
        node_list_info node{.name = text_of(n, "name"), .complete = flag_of(n, "complete")};
        add_error(node, n);
        return node;
    });
    return page;
}

std::vector<node_break_info> breaks_in(json::object const& o, std::string_view name)
{
    must_be_about(o, name);
    return all_of(o, "nodes", [](json::object const& n) {
        node_break_info node{.name = text_of(n, "name"), .deleted = flag_of(n, "deleted")};
        add_error(node, n);
        return node;
    });
}

}  // namespace redlock::cli
