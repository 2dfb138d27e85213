#include "serve/answers.hpp"

#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <set>
#include <string>

namespace redlock::serve {

namespace {

namespace http = boost::beast::http;
namespace json = boost::json;

// Labels and notes may have any bytes, and JSON has only UTF-8.
std::string shown(std::string_view text)
{
    std::string valid;
    for (std::size_t i = 0; i < text.size();) {
        auto const first = static_cast<unsigned char>(text[i]);
        std::size_t const size = first < 0x80       ? 1
                                 : first >> 5 == 6  ? 2
                                 : first >> 4 == 14 ? 3
                                 : first >> 3 == 30 ? 4
                                                    : 0;
        bool good = size > 0 && i + size <= text.size();
        for (std::size_t k = 1; good && k < size; ++k)
            good = (static_cast<unsigned char>(text[i + k]) & 0xc0) == 0x80;
        good ? valid.append(text.substr(i, size)) : valid.append("\xef\xbf\xbd");
        i += good ? size : 1;
    }
    return valid;
}

json::value text_or_null(std::string_view text) { return text.empty() ? json::value() : json::value(shown(text)); }

json::value since_ms(std::optional<std::chrono::system_clock::time_point> t)
{
    return t ? json::value(std::chrono::floor<std::chrono::milliseconds>(t->time_since_epoch()).count())
             : json::value();
}

}  // namespace

response document(request const& to, http::status status, json::object const& body)
{
    response r(status, to.version());
    r.keep_alive(to.keep_alive());
    r.set(http::field::cache_control, "no-store");
    if (!body.empty()) {
        r.set(http::field::content_type, "application/json");
        r.body() = json::serialize(body) + '\n';
    }
    r.prepare_payload();
    if (to.method() == http::verb::head)
        r.body().clear();  // the client would take it for the next answer
    return r;
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

json::object json_of(lock_info const& l)
{
    json::array readers, waiters, nodes;
    for (auto const& r : l.readers)
        readers.push_back({{"owner", text_or_null(r.owner)},
                           {"note", text_or_null(r.note)},
                           {"since_ms", since_ms(r.since)},
                           {"remaining_ms", r.remaining.count()}});
    for (auto const& w : l.waiters)
        waiters.push_back(json_of(w));
    for (auto const& n : l.nodes) {
        json::object node{{"name", shown(n.name)}, {"locked", n.locked}};
        if (n.error)
            node["error"] = shown(n.message.empty() ? n.error.message() : n.message);
        nodes.push_back(std::move(node));
    }
    bool const ends = l.locked && l.remaining != std::chrono::milliseconds::max();
    return {{"resource", shown(l.resource)},
            {"locked", l.locked},
            {"mode", l.mode == mode::shared ? "shared" : "exclusive"},
            {"owner", text_or_null(l.owner)},
            {"note", text_or_null(l.note)},
            {"since_ms", since_ms(l.since)},
            {"remaining_ms", ends ? json::value(l.remaining.count()) : json::value()},
            {"readers", std::move(readers)},
            {"waiters", std::move(waiters)},
            {"nodes", std::move(nodes)}};
}

// FNV-1a: every instance of the service must compute the same tag.
std::string etag_of(lock_info const& l)
{
    std::set<std::string> values;
    for (auto const& n : l.nodes)
        values.insert(n.value);
    for (auto const& r : l.readers)
        values.insert(r.value);
    std::uint64_t hash = 0xcbf29ce484222325;
    for (auto const& v : values) {
        for (unsigned char const c : v + '\n')
            hash = (hash ^ c) * 0x100000001b3;
    }
    std::string tag = "\"";
    for (int shift = 60; shift >= 0; shift -= 4)
        tag += "0123456789abcdef"[hash >> shift & 15];
    return tag += '"';
}

}  // namespace redlock::serve
