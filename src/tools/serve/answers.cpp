#include "tools/serve/answers.hpp"

#include <redlock/detail/outcome.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <set>
#include <string>

namespace redlock::serve {

namespace {

namespace http = boost::beast::http;
namespace json = boost::json;

// The size of the character at the beginning of the text (RFC 3629, section 4). Zero: it is not UTF-8.
std::size_t size_of_character(std::string_view text)
{
    auto const byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
    auto const first = byte(0), second = byte(1);
    std::size_t const size = first < 0x80                     ? 1
                             : first >= 0xc2 && first <= 0xdf ? 2
                             : first >> 4 == 14               ? 3
                             : first >= 0xf0 && first <= 0xf4 ? 4
                                                              : 0;
    bool const is_overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
    bool const is_too_large = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
    for (std::size_t i = 1; i < size; ++i) {
        if (byte(i) >> 6 != 2)
            return 0;
    }
    return is_overlong || is_too_large ? 0 : size;
}

// Labels and notes may have any bytes, and JSON has only UTF-8.
std::string shown(std::string_view text)
{
    std::string valid;
    while (!text.empty()) {
        auto const size = size_of_character(text);
        size > 0 ? valid.append(text.substr(0, size)) : valid.append("\xef\xbf\xbd");
        text.remove_prefix(std::max<std::size_t>(size, 1));
    }
    return valid;
}

json::value text_or_null(std::string_view text) { return text.empty() ? json::value() : json::value(shown(text)); }

json::value since_ms(std::optional<std::chrono::system_clock::time_point> t)
{
    return t ? json::value(std::chrono::floor<std::chrono::milliseconds>(t->time_since_epoch()).count())
             : json::value();
}

// Whether a client of this library has written the value of a key: 32 hexadecimal digits and a colon.
bool is_ours(std::string_view value)
{
    return value.size() > 32 && value[32] == ':'
           && value.substr(0, 32).find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::string_view state_of(node_lock_info const& n)
{
    if (!n.locked)
        return !n.error ? "free" : n.error == errc::wrong_type ? "foreign" : "unknown";
    return n.mode == mode::shared ? "shared" : is_ours(n.value) ? "held" : "foreign";
}

template <class Node>
void add_error(json::object& to, Node const& n)
{
    if (!n.error)
        return;
    auto const& ec = n.error;
    to["error"] = shown(n.message.empty() ? ec.message() : n.message);
    to["code"] = detail::outcome_of(ec).code;
}

json::object node_of(node_lock_info const& n, lock_ids const& ids)
{
    json::object node{{"name", shown(n.name)}, {"locked", n.locked}, {"state", state_of(n)}};
    if (n.locked) {
        node["owner"] = text_or_null(n.owner);
        node["note"] = text_or_null(n.note);
        node["remaining_ms"] = n.remaining.count() < 0 ? json::value() : json::value(n.remaining.count());
        node["holder"] = ids.holder_of(n.value);
    }
    add_error(node, n);
    return node;
}

}  // namespace

response document_of(request const& to, http::status status, std::string body)
{
    response r(status, to.version());
    r.keep_alive(to.keep_alive());
    r.set(http::field::cache_control, "no-store");
    if (!body.empty()) {
        r.set(http::field::content_type, "application/json");
        r.body() = std::move(body);
    }
    r.prepare_payload();
    if (to.method() == http::verb::head)
        r.body().clear();  // the client would take it for the next answer
    return r;
}

response document(request const& to, http::status status, json::object const& body)
{
    return document_of(to, status, body.empty() ? std::string() : json::serialize(body) + '\n');
}

response json_list::page(request const& to, std::string_view name, json::object const& rest) const
{
    auto const others = json::serialize(rest);
    std::string text;
    text.reserve(text_.size() + others.size() + name.size() + 16);
    text.append("{\"").append(name).append("\":[").append(text_).append("],").append(others, 1).append("\n");
    return document_of(to, http::status::ok, std::move(text));
}

response problem(request const& to, http::status status, std::string_view name, std::string_view title,
                 std::string_view detail)
{
    auto r = document(to, status,
                      {{"type", "urn:redlock:" + std::string(name)},
                       {"title", title},
                       {"status", static_cast<unsigned>(status)},
                       {"detail", shown(detail)}});
    r.set(http::field::content_type, "application/problem+json");
    return r;
}

json::object json_of(waiting_info const& w)
{
    return {
        {"owner", text_or_null(w.owner)}, {"note", text_or_null(w.note)}, {"mode", w.shares ? "shared" : "exclusive"}};
}

json::object json_of(lock_info const& l, lock_ids const& ids)
{
    json::array readers, waiters, nodes;
    for (auto const& r : l.readers)
        readers.push_back({{"owner", text_or_null(r.owner)},
                           {"note", text_or_null(r.note)},
                           {"since_ms", since_ms(r.since)},
                           {"remaining_ms", r.remaining.count()},
                           {"votes", r.nodes}});
    for (auto const& w : l.waiters)
        waiters.push_back(json_of(w));
    for (auto const& n : l.nodes)
        nodes.push_back(node_of(n, ids));
    bool const ends = l.locked && l.remaining != std::chrono::milliseconds::max();
    return {{"resource", shown(l.resource)},
            {"locked", l.locked},
            {"mode", l.mode == mode::shared ? "shared" : "exclusive"},
            {"owner", text_or_null(l.owner)},
            {"note", text_or_null(l.note)},
            {"since_ms", since_ms(l.since)},
            {"remaining_ms", ends ? json::value(l.remaining.count()) : json::value()},
            {"readers", std::move(readers)},
            {"knows_readers", l.knows_readers},
            {"waiters", std::move(waiters)},
            {"knows_waiters", l.knows_waiters},
            {"nodes", std::move(nodes)}};
}

json::array json_of(std::vector<node_list_info> const& all)
{
    json::array nodes;
    for (auto const& n : all) {
        json::object node{{"name", shown(n.name)}, {"complete", n.complete}};
        add_error(node, n);
        nodes.push_back(std::move(node));
    }
    return nodes;
}

json::object json_of(break_info const& info)
{
    json::array nodes;
    for (auto const& n : info.nodes) {
        json::object node{{"name", shown(n.name)}, {"deleted", n.deleted}};
        add_error(node, n);
        nodes.push_back(std::move(node));
    }
    return {{"resource", shown(info.resource)},
            {"deleted", info.deleted},
            {"of", info.nodes.size()},
            {"nodes", std::move(nodes)}};
}

namespace {

std::string values_of(lock_info const& l)
{
    std::set<std::string> values;
    for (auto const& n : l.nodes)
        values.insert(n.value);
    for (auto const& r : l.readers)
        values.insert(r.value);
    std::string all;
    for (auto const& v : values)
        all += v + '\n';
    return all;
}

}  // namespace

std::string etag_of(lock_info const& l, lock_ids const& ids) { return '"' + ids.holder_of(values_of(l)) + '"'; }

bool has_etag(lock_info const& l, lock_ids const& ids, std::string_view tag)
{
    return ids.is_holder(values_of(l), tag);
}

}  // namespace redlock::serve
