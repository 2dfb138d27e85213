#include "tools/serve/session_requests.hpp"

#include "tools/serve/fields.hpp"
#include "tools/serve/lock_ids.hpp"
#include "tools/serve/long_requests.hpp"
#include "tools/serve/problems.hpp"
#include "tools/serve/query.hpp"

#include <boost/asio/deferred.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

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

// @return an error if it is not certain that all are free. A lock that is lost already is no error.
asio::awaitable<error_code> release_all(std::vector<std::shared_ptr<session_lock>> locks)
{
    if (locks.empty())
        co_return error_code();
    using operation = decltype(locks.front()->handle.async_release(asio::deferred));
    std::vector<operation> releases;
    for (auto const& l : locks)
        releases.push_back(l->handle.async_release(asio::deferred));
    auto const [order, failures] = co_await asio::experimental::make_parallel_group(std::move(releases))
                                       .async_wait(asio::experimental::wait_for_all(), asio::use_awaitable);
    auto const is_unknown = [](error_code ec) { return ec && ec != errc::lost && ec != errc::not_held; };
    auto const failed = std::ranges::find_if(failures, is_unknown);
    co_return failed == failures.end() ? error_code() : *failed;
}

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
        // Otherwise a client that does not read could have any number of connections for one session.
        all_.connections.drop(known->connection());
        a.events = all.stream_of(std::move(known), seen.number, c.connection);
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
    a.events = all.stream_of(all.open(c.client, how), 0, c.connection);
    co_return a;
}

asio::awaitable<answer> session_requests::show(call const& c)
{
    client_loads::turn turn(all_.loads, c.client);
    if (!co_await turn.wait())
        co_return no_turn(c.r);
    auto const known = all_.open_sessions.find(c.name(), c.client);
    if (!known)
        co_return unknown_session(c.r);
    must_have_only(c.target, {"limit", "from"});
    auto const limit = limit_in(c.target), from = number_in(c.target, "from", 0);
    std::vector<std::shared_ptr<session_lock>> rest;
    for (auto const& [token, l] : known->locks()) {
        if (l->number >= from)
            rest.push_back(l);
    }
    std::ranges::sort(rest, {}, [](auto const& l) { return l->number; });
    json_list locks;
    auto next = rest.begin();
    for (; next != rest.end() && locks.size() < limit && !locks.is_full(); ++next) {
        auto document = known->json_of(**next);
        document["valid_for_ms"] = left_until((*next)->handle.valid_until()).count();
        locks.add(document);
    }
    auto const place = next == rest.end() ? boost::json::value() : boost::json::value(std::to_string((*next)->number));
    co_return locks.page(c.r, "locks", {{"session", known->id()}, {"next", place}});
}

asio::awaitable<answer> session_requests::end(call const& c)
{
    auto const known = all_.open_sessions.find(c.name(), c.client);
    if (!known)
        co_return unknown_session(c.r);
    std::vector<std::shared_ptr<session_lock>> locks;
    for (auto const& [token, l] : std::map(known->locks()))
        locks.push_back(all_.open_sessions.take(token));
    all_.open_sessions.end(*known, session::at_end::release);
    if (auto const ec = co_await release_all(std::move(locks)))
        co_return unfinished_release(c.r, ec);
    co_return document(c.r, http::status::no_content);
}

}  // namespace redlock::serve
