#include "tools/serve/api.hpp"

#include "tools/serve/fields.hpp"
#include "tools/serve/framing.hpp"
#include "tools/serve/long_requests.hpp"
#include "tools/serve/openapi.hpp"
#include "tools/serve/problems.hpp"
#include "tools/serve/query.hpp"
#include "tools/serve/readiness.hpp"

#include <redlock/prometheus.hpp>

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::serve {

namespace {

namespace http = boost::beast::http;
using http::verb;

constexpr char const* wrong_target = "the target is not a path that is encoded correctly";

// @param pattern a path, in which `*` stands for one part
bool is_path(target const& t, std::string_view pattern)
{
    std::size_t part = 0;
    while (!pattern.empty()) {
        pattern.remove_prefix(1);
        auto const wanted = pattern.substr(0, pattern.find('/'));
        if (part == t.path.size() || (wanted != "*" && wanted != t.path[part]))
            return false;
        pattern.remove_prefix(wanted.size());
        ++part;
    }
    return part == t.path.size();
}

}  // namespace

struct api::route {
    verb method;
    std::string_view path;
    asio::awaitable<answer> (api::*function)(call const&);
    bool is_open = false;   ///< no token is needed
    bool is_paged = false;  ///< it reads its query itself

    /// Whether it counts among the short requests of a client.
    bool is_counted() const noexcept
    {
        return !is_open && function != &api::acquire && function != &api::open_session && function != &api::run_batch;
    }
};

api::route const api::routes[] = {
    {verb::get, "/healthz", &api::health, true},
    {verb::get, "/readyz", &api::health, true},
    {verb::get, "/openapi.json", &api::openapi, true},
    {verb::get, "/metrics", &api::metrics},
    {verb::post, "/v1/locks", &api::acquire},
    {verb::get, "/v1/locks", &api::look, false, true},
    {verb::get, "/v1/locks/*", &api::inspect},
    {verb::post, "/v1/locks/*/break", &api::take_away},
    {verb::get, "/v1/held/*", &api::show},
    {verb::patch, "/v1/held/*", &api::extend},
    {verb::delete_, "/v1/held/*", &api::release},
    {verb::post, "/v1/batch", &api::run_batch},
    {verb::post, "/v1/sessions", &api::open_session},
    {verb::get, "/v1/sessions/*", &api::show_session, false, true},
    {verb::delete_, "/v1/sessions/*", &api::end_session},
};

asio::awaitable<answer> api::handle(request const& r, std::size_t connection)
{
    all_.connections.body_has_come(connection);
    auto const where = target::read(r.target());
    std::string wrong = wrong_target;
    try {
        if (where) {
            call c{.r = r,
                   .target = *where,
                   .client = all_.who.client_of(r[http::field::authorization]),
                   .connection = connection};
            answer a;
            if (auto const* const found = admit(c, connection, r.body().size(), a)) {
                if (c.target.path.front() == "v1" && !found->is_paged)
                    must_have_only(c.target, {});
                client_loads::place const place(all_.loads, c.client,
                                                {.others = found->is_counted() ? 1u : 0u, .bytes = r.body().size()});
                a = co_await (this->*found->function)(c);
            }
            if (auto const size = a.response.body().size(); size > short_bytes)
                a.unread =
                    std::make_shared<client_loads::place>(all_.loads, c.client, client_loads::amount{.unread = size});
            log_refusal(all_, c, a.response);
            co_return a;
        }
    } catch (wrong_field const& e) {
        wrong = e.what();
    }
    co_return bad_request(r, wrong);
}

// Nothing keeps a part of the old tokens while it waits, so they can be replaced between two steps of the event loop.
api::changed_access api::use(access next)
{
    if (next.is_same_file(all_.who))
        return {.is_same = true};
    next.believe(all_.who);
    all_.who = std::move(next);
    all_.ids = lock_ids(all_.who.keys());
    auto const is_permitted = [&](session const& s) {
        return all_.who.knows_client(s.client()) && std::ranges::none_of(s.locks(), [&](auto const& l) {
                   return all_.who.may_not_lock(s.client(), l.second->ticket.resources.names());
               });
    };
    return {.ended_sessions = all_.open_sessions.end_if([&](session const& s) { return !is_permitted(s); })};
}

asio::awaitable<std::optional<response>> api::check(request const& header, std::size_t connection, std::size_t body)
{
    auto const where = target::read(header.target());
    if (!where)
        co_return bad_request(header, wrong_target);
    call c{.r = header,
           .target = *where,
           .client = all_.who.client_of(header[http::field::authorization]),
           .connection = connection};
    answer refusal;
    if (!admit(c, connection, body, refusal)) {
        log_refusal(all_, c, refusal.response);
        co_return std::move(refusal.response);
    }
    all_.connections.expect_body(connection, all_.loads, c.client, body);
    co_return std::nullopt;
}

void api::stop()
{
    all_.stopping = true;
    all_.open_sessions.stop();
}

api::route const* api::find_route(call const& c, answer& refusal) const
{
    auto const is_this = [&](route const& one) {
        bool const is_head = c.r.method() == verb::head && one.method == verb::get;
        return (one.method == c.r.method() || is_head) && is_path(c.target, one.path);
    };
    auto const* const found = std::ranges::find_if(routes, is_this);
    bool const is_known = found != std::end(routes);
    if (!all_.who.needs_tokens() && may_be_from_a_page(c.r, all_.is_local))
        refusal = from_a_page(c.r);
    else if (!(is_known && found->is_open) && !all_.who.knows(c.r[http::field::authorization]))
        refusal = unauthorized(c.r);
    else if (is_known)
        return found;
    else
        refusal = wrong_path_or_method(c);
    return nullptr;
}

api::route const* api::admit(call& c, std::size_t connection, std::size_t body, answer& refusal)
{
    auto const* const found = find_route(c, refusal);
    if (!found)
        return nullptr;
    if (all_.who.needs_tokens() && !all_.who.knows_client(c.client))
        c.client.clear();
    if (auto over = over_limit(c, connection, *found, body)) {
        refusal = std::move(*over);
        return nullptr;
    }
    return found;
}

std::optional<response> api::over_limit(call const& c, std::size_t connection, route const& r, std::size_t body)
{
    auto const& most = all_.limits;
    bool const is_known = !all_.who.needs_tokens() || !c.client.empty();
    if (is_known && !all_.connections.assign(connection, c.client)) {
        auto over = limit_reached(c.r, "too-many-connections", "connections", most.connections, most.option_of_share());
        over.keep_alive(false);
        return over;
    }
    auto const& now = all_.loads.of(c.client);
    if (now.bytes + body > most.bytes)
        return limit_reached(c.r, "too-many-bytes", "bytes of requests", most.bytes, "--max-bytes");
    if (r.function == &api::run_batch && now.unread > most.bytes)
        return limit_reached(c.r, "too-many-bytes", "bytes of answers", most.bytes, "--max-bytes");
    return r.is_counted() ? refusal_of_short_request(all_, c) : std::nullopt;
}

response api::wrong_path_or_method(call const& c)
{
    std::string methods;
    for (auto const& one : routes) {
        if (!is_path(c.target, one.path))
            continue;
        auto const name = http::to_string(one.method);
        methods.append(methods.empty() ? "" : ", ").append(name.data(), name.size());
    }
    return methods.empty() ? unknown_path(c.r) : wrong_method(c.r, methods);
}

asio::awaitable<answer> api::openapi(call const& c)
{
    auto text = document(c.r, http::status::ok);
    text.set(http::field::content_type, "application/json");
    text.body() = openapi_document();
    text.prepare_payload();
    co_return text;
}

asio::awaitable<answer> api::metrics(call const& c)
{
    if (!all_.who.permits_anywhere(c.client, &grant::metrics))
        co_return may_not(c.r, "read the metrics");
    auto text = document(c.r, http::status::ok);
    text.set(http::field::content_type, "text/plain; version=0.0.4");
    text.body() = prometheus_text(all_.locks.stats())
                  + all_.metrics.text({.sessions = all_.open_sessions.count(),
                                       .waiting = all_.waiting.count(),
                                       .connections = all_.connections.size()});
    text.prepare_payload();
    co_return text;
}

asio::awaitable<answer> api::health(call const& c)
{
    readiness const now(all_.locks.stats().nodes);
    bool const wants_ready = c.target.path.front() == "readyz";
    bool const is_good = wants_ready ? now.is_ready() && !all_.stopping : now.is_connected();
    boost::json::object fields{
        {"nodes", now.nodes()}, {"connected", now.connected()}, {"voting", now.voting()}, {"stopping", all_.stopping}};
    if (!now.is_ready())
        fields["detail"] = now.why_not();
    co_return document(c.r, is_good ? http::status::ok : http::status::service_unavailable, fields);
}

}  // namespace redlock::serve
