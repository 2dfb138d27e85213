#include "cli/service_json.hpp"

#include "core/key.hpp"

#include <boost/json/array.hpp>
#include <boost/json/value.hpp>

#include <fmt/format.h>

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

time_since since_in(json::object const& o)
{
    auto const ms = number_or_null(o, "since_ms");
    return ms ? time_since(std::chrono::system_clock::time_point(milliseconds(*ms))) : std::nullopt;
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
                  .remaining = milliseconds(number_of(o, "remaining_ms")),
                  .nodes = static_cast<std::size_t>(number_of(o, "votes")),
                  .since = since_in(o)};
    r.value = made_up("", r.owner, r.note, r.since);
    return r;
}

waiting_info waiter_in(json::object const& o)
{
    return {.owner = text_of(o, "owner"), .note = text_of(o, "note"), .shares = text_of(o, "mode") == "shared"};
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
    if (!n)
        refuse(name, "a number");
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

lock_info lock_in(json::object const& o)
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

lock_page page_in(json::object const& o)
{
    lock_page page{.locks = all_of(o, "locks", lock_in), .next = text_of(o, "next")};
    page.nodes = all_of(o, "nodes", [](json::object const& n) {
        node_list_info node{.name = text_of(n, "name"), .complete = flag_of(n, "complete")};
        add_error(node, n);
        return node;
    });
    return page;
}

std::vector<node_break_info> breaks_in(json::object const& o)
{
    return all_of(o, "nodes", [](json::object const& n) {
        node_break_info node{.name = text_of(n, "name"), .deleted = flag_of(n, "deleted")};
        add_error(node, n);
        return node;
    });
}

}  // namespace redlock::cli
