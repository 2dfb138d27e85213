#include "serve/session_requests.hpp"

#include "serve/fields.hpp"
#include "serve/lock_ids.hpp"
#include "serve/long_requests.hpp"
#include "serve/problems.hpp"

#include <boost/json/array.hpp>

#include <charconv>
#include <cstdint>
#include <string_view>
#include <utility>

namespace redlock::serve {

namespace {

namespace http = boost::beast::http;
using namespace std::chrono_literals;

constexpr auto grace_max = 60s;

response stream_header(request const& r)
{
    response s(http::status::ok, r.version());
    s.keep_alive(false);  // the end of the connection ends the stream
    s.set(http::field::content_type, "text/event-stream");
    s.set(http::field::cache_control, "no-store");
    s.set("X-Accel-Buffering", "no");  // a proxy must pass events on at once
    return s;
}

/// The field Last-Event-ID: SESSION.N.
struct event_id {
    std::string_view session{};
    std::uint64_t number = 0;

    explicit event_id(std::string_view text)
    {
        auto const dot = text.rfind('.');
        if (dot == text.npos)
            return;
        auto const digits = text.substr(dot + 1);
        auto const* const end = digits.data() + digits.size();
        if (auto const read = std::from_chars(digits.data(), end, number); read.ec == std::errc() && read.ptr == end)
            session = text.substr(0, dot);
    }
};

}  // namespace

asio::awaitable<answer> session_requests::open(call const& c)
{
    if (!all_.who.permits_anywhere(c.client, &grant::locks))
        co_return may_not(c.r, "lock anything, so it needs no session");
    fields const body(c.r.body(), {"grace_ms", "wanted"});
    auto& all = all_.open_sessions;
    answer a;
    a.response = stream_header(c.r);
    if (auto const last = c.r["Last-Event-ID"]; !last.empty()) {
        event_id const seen({last.data(), last.size()});
        auto known = all.find(seen.session, c.client);
        if (!known)
            co_return unknown_session(c.r);
        a.events = all.stream_of(std::move(known), seen.number);
        co_return a;
    }
    if (all_.stopping)
        co_return stopping(c.r);
    if (all.sessions_of(c.client) >= all_.limits.sessions)
        co_return limit_reached(c.r, "too-many-sessions", "sessions", all_.limits.sessions, "--max-sessions");
    if (auto refusal = refusal_of_long_request(all_, c))
        co_return std::move(*refusal);
    session::options const how{.grace = body.milliseconds("grace_ms", 0ms, 0ms, grace_max),
                               .wanted = body.flag("wanted")};
    a.events = all.stream_of(all.open(c.client, how), 0);
    co_return a;
}

asio::awaitable<answer> session_requests::show(call const& c)
{
    auto const known = all_.open_sessions.find(c.name(), c.client);
    if (!known)
        co_return unknown_session(c.r);
    boost::json::array locks;
    for (auto const& [token, l] : known->locks()) {
        auto document = known->json_of(*l);
        document["valid_for_ms"] = left_until(l->handle.valid_until()).count();
        locks.push_back(std::move(document));
    }
    co_return document(c.r, http::status::ok, {{"session", known->id()}, {"locks", std::move(locks)}});
}

asio::awaitable<answer> session_requests::end(call const& c)
{
    auto const known = all_.open_sessions.find(c.name(), c.client);
    if (!known)
        co_return unknown_session(c.r);
    all_.open_sessions.end(*known, session::at_end::release);
    co_return document(c.r, http::status::no_content);
}

}  // namespace redlock::serve
