#include "tools/serve/lock_requests.hpp"

#include "runtime/as_result.hpp"
#include "tools/serve/fields.hpp"
#include "tools/serve/held_time.hpp"
#include "tools/serve/lock_ids.hpp"
#include "tools/serve/long_requests.hpp"
#include "tools/serve/problems.hpp"
#include "tools/serve/query.hpp"

#include <redlock/beast.hpp>
#include <redlock/detail/outcome.hpp>

#include <boost/json/monotonic_resource.hpp>

#include <algorithm>
#include <array>
#include <functional>
#include <utility>

namespace redlock::serve {

namespace {

namespace http = boost::beast::http;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr auto default_ttl = 10s;
// Bytes of all names of a lock. The id has them, and servers and proxies take lines of 8 kB.
constexpr std::size_t names_max = 4096;
std::initializer_list<std::string_view> const acquisition_fields{"resources", "ttl_ms", "wait_ms", "mode",
                                                                 "owner",     "note",   "session"};
constexpr milliseconds ttl_min = 20ms;
constexpr char const* right_name = "the name of the lock must have 1 to 512 bytes, and no mark of another key";
// Readers with a longest hold do not join a lock that the manager holds already. Each one has a lock of its own then,
// with an id of its own.
constexpr milliseconds hold_of_one_reader = std::chrono::hours(24 * 365 * 10);

mode mode_in(fields const& body)
{
    auto const name = body.word("mode");
    if (name.empty() || name == "exclusive")
        return mode::exclusive;
    if (name == "shared")
        return mode::shared;
    throw wrong_field("mode is \"" + name.substr(0, 100) + "\", but must be exclusive or shared");
}

void must_fit(std::vector<std::string> const& names)
{
    std::size_t bytes = 0;
    for (auto const& name : names)
        bytes += name.size();
    if (bytes > names_max)
        throw wrong_field("resources have " + std::to_string(bytes) + " bytes together, but must have at most "
                          + std::to_string(names_max));
}

std::string escaped(std::string_view prefix)
{
    std::string pattern;
    for (char const c : prefix) {
        if (std::string_view("*?[\\").find(c) != std::string_view::npos)
            pattern += '\\';
        pattern += c;
    }
    return pattern;
}

lock_ticket ticket_of(lock const& l)
{
    return {.resources = std::vector<std::string>(l.resources().begin(), l.resources().end()),
            .token = l.token(),
            .mode = l.mode(),
            .fencing_token = l.fencing_token()};
}

// How many locks to list at a time, so that a page does not become much longer than @ref page_bytes.
std::size_t piece_of(json_list const& so_far)
{
    constexpr std::size_t first = 100, most = 100;  // a part that is smaller examines fewer keys of the servers
    if (so_far.size() == 0)
        return first;
    auto const each = so_far.bytes() / so_far.size();
    return std::clamp<std::size_t>((page_bytes - so_far.bytes()) / each, 1, most);
}

// An error of an earlier part of the page stays.
void add_progress(std::vector<node_list_info>& before, std::vector<node_list_info> now)
{
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i].error && !now[i].error)
            now[i] = std::move(before[i]);
    }
    before = std::move(now);
}

/// Forgets an Idempotency-Key, unless its request has acquired a lock.
struct key_under_way {
    key_under_way(repeats& a, std::string n) : all(a), name(std::move(n)) {}
    ~key_under_way()
    {
        if (!is_kept)
            all.forget(name);
    }
    key_under_way(key_under_way const&) = delete;
    key_under_way& operator=(key_under_way const&) = delete;

    repeats& all;
    std::string const name;
    bool is_kept = false;
};

}  // namespace

// No coroutine: each frame costs an allocation.
asio::awaitable<answer> lock_requests::acquire(call const& c)
{
    return c.r["Idempotency-Key"].empty() ? acquire_new(c, 0) : acquire_once(c);
}

asio::awaitable<answer> lock_requests::acquire_once(call const& c)
{
    auto const key = std::string(c.r["Idempotency-Key"]);
    auto const body = std::hash<std::string>()(c.r.body());
    auto& repeated = all_.repeated[c.client];
    auto const held_until = [&](lock_ticket const& t) {
        auto const kept = all_.open_sessions.find_lock(t.token);
        return kept ? kept->handle.valid_until() : all_.loads.end_of_lock(t.token);
    };
    if (auto const* const known = repeated.find(key, clock::now(), held_until)) {
        if (known->body != body)
            co_return problem(c.r, http::status::unprocessable_entity, "key-reused", "The key was used before",
                              "Another request had the same Idempotency-Key.");
        if (!known->ticket)
            co_return problem(c.r, http::status::conflict, "in-progress", "The first request is under way",
                              "The request with this Idempotency-Key has not ended yet.");
        if (auto refusal = not_permitted(c, known->ticket->resources.names()))
            co_return std::move(*refusal);
        // The nodes know whether it is still held. So the repeated request extends it.
        auto again = co_await prolong(c, lock_ticket(*known->ticket), ttl_in(fields(c.r.body(), acquisition_fields)),
                                      nullptr, {});
        if (again.response.result() == http::status::ok)
            again.response.result(http::status::created);
        co_return again;
    }
    if (repeated.is_full(all_.limits.locks))
        co_return problem(c.r, http::status::service_unavailable, "too-many-keys", "Too many keys are remembered",
                          "The service remembers no further Idempotency-Key until locks have expired.");
    repeated.add(key, {.body = body, .valid_until = clock::time_point::max()});
    key_under_way key_of_this(repeated, key);
    if (auto const there = co_await answer_of_another(c))
        co_return *there;
    auto result = co_await acquire_new(c, requests_of(c).front());
    if (result.response.result() == http::status::conflict) {  // the request may have reached another instance
        if (auto const there = co_await answer_of_another(c))
            co_return *there;
    }
    key_of_this.is_kept = !result.acquired.empty();
    if (key_of_this.is_kept) {  // if this answer is lost, the repeated request gets the lock
        repeated.add(key, {.body = body, .ticket = result.acquired.front(), .valid_until = result.valid_until});
        result.acquired.clear();
    }
    co_return result;
}

// The number by each key, because another instance may sign with another key.
std::vector<std::uint64_t> lock_requests::requests_of(call const& c) const
{
    fields const body(c.r.body(), acquisition_fields);
    std::string what = mode_in(body) == mode::shared ? "s" : "x";
    for (auto const& name : resource_set(body.texts("resources")))
        what.append(std::to_string(name.size())).append(":").append(name);
    auto const key = c.r["Idempotency-Key"];
    return all_.ids.requests_of(c.client, {key.data(), key.size()}, what);
}

// Another instance may have acquired the lock for this request. This instance does not take the lock over. It cannot
// tell a repeated request from the first one that comes late. That one would end the lock of a client that goes on.
asio::awaitable<std::optional<answer>> lock_requests::answer_of_another(call const& c)
{
    fields const body(c.r.body(), acquisition_fields);
    auto const names = resource_set(body.texts("resources"));
    if (!co_await has_request(all_.locks, *names.begin(), requests_of(c)))
        co_return std::nullopt;
    auto a = problem(c.r, http::status::conflict, "in-progress", "Another instance has the lock",
                     "A request with this Idempotency-Key has acquired the lock, and another instance has acquired or "
                     "extended it last. Repeat the request there, or wait until the lock is over.");
    a.set(http::field::retry_after, "1");
    co_return answer(std::move(a));
}

std::optional<response> lock_requests::over_limit(call const& c)
{
    auto const& most = all_.limits;
    if (locks_of(c) >= most.locks)
        all_.loads.forget_ended(clock::now());
    auto const& now = all_.loads.of(c.client);
    if (now.requests >= most.waiting)
        return limit_reached(c.r, "too-many-waiting", "requests that wait for a lock", most.waiting, "--max-waiting");
    if (locks_of(c) >= most.locks)
        return limit_reached(c.r, "too-many-locks", "locks", most.locks, "--max-locks");
    return std::nullopt;
}

// Requests under way count, too.
std::size_t lock_requests::locks_of(call const& c) const
{
    auto const& now = all_.loads.of(c.client);
    return now.requests + now.locks.size() + all_.open_sessions.locks_of(c.client);
}

// @param request for `acquire_options::request`
asio::awaitable<answer> lock_requests::acquire_new(call const& c, std::uint64_t request)
{
    if (auto refusal = over_limit(c))
        co_return std::move(*refusal);
    client_loads::place const place(all_.loads, c.client, {.requests = 1});
    auto const begun = clock::now();
    fields const body(c.r.body(), acquisition_fields);
    auto names = body.texts("resources");
    must_fit(names);
    if (auto refusal = not_permitted(c, names))
        co_return std::move(*refusal);
    auto const session_id = body.word("session");
    auto const owner = all_.open_sessions.find(session_id, c.client);
    if (!owner && !session_id.empty())
        co_return unknown_session(c.r);
    auto const note = body.text("note"), given_label = body.text("owner");
    auto const label = given_label.empty() ? all_.who.name_of(c.client) : given_label;
    auto const mode = mode_in(body);
    acquire_options const how{.ttl = ttl_in(body),
                              .wait = body.milliseconds("wait_ms", 0ms),
                              .renew = owner ? renewal::automatic : renewal::none,
                              .max_hold = mode == mode::shared ? hold_of_one_reader : 0ms,
                              .mode = mode,
                              .may_be_resumed = true,
                              .explain = true,
                              .note = note,
                              .owner = label,
                              .request = request};
    if (how.wait > all_.limits.wait)
        throw wrong_field("wait_ms is " + std::to_string(how.wait.count()) + ", but must be at most "
                          + std::to_string(all_.limits.wait.count()));
    if (auto refusal = how.wait > 0ms ? refusal_of_long_request(all_, c) : std::nullopt)
        co_return std::move(*refusal);
    client_loads::place const long_one(all_.loads, c.client, {.waits = how.wait > 0ms ? 1u : 0u});
    waiting_requests::place const waits(all_.waiting, names, {.owner = label, .note = note, .mode = mode});
    auto [ec, l] = co_await all_.locks.async_acquire(resource_set(std::move(names)), how, runtime::as_result);
    if (detail::outcome_of(ec).kind == detail::outcome_kind::refused)
        throw wrong_field(l.report()->message);
    if (ec)
        co_return not_acquired(c.r, ec, how, l);
    answer result;
    result.valid_until = l.valid_until();
    auto ticket = ticket_of(l);
    if (auto refusal = not_permitted(c, ticket.resources.names()))
        co_return std::move(*refusal);  // the tokens have changed meanwhile: the lock is released
    // Less what the clock of the client may have lost meanwhile.
    auto const waited = std::chrono::floor<milliseconds>((clock::now() - begun) * (clock_rate - 1) / clock_rate);
    result.response = held(c.r, http::status::created, ticket, result.valid_until, waited);
    result.acquired.push_back(ticket);
    if (owner) {
        if (owner->is_over())
            co_return unknown_session(c.r);  // the lock is released
        all_.open_sessions.add(*owner, std::move(l), ticket, how.ttl);
        co_return result;
    }
    l.detach(ec);
    if (ec)
        co_return problem_response(c.r, ec, how, l.report());
    all_.loads.add_lock(c.client, ticket.token, result.valid_until);
    co_return result;
}

asio::awaitable<answer> lock_requests::extend(call const& c)
{
    auto const ticket = all_.ids.ticket_of(c.name());
    if (auto refusal = refusal_of(c, ticket))
        co_return std::move(*refusal);
    fields const body(c.r.body(), {"ttl_ms", "session"});
    auto const session_id = body.word("session");
    auto const owner = all_.open_sessions.find(session_id, c.client);
    if (!owner && !session_id.empty())
        co_return unknown_session(c.r);
    auto const new_token = owner ? all_.ids.token_after_move(*ticket, owner->id()) : std::string();
    co_return co_await prolong(c, *ticket, ttl_in(body), owner, new_token);
}

milliseconds lock_requests::ttl_in(fields const& body) const
{
    return body.milliseconds("ttl_ms", std::min<milliseconds>(default_ttl, all_.limits.ttl), ttl_min, all_.limits.ttl);
}

asio::awaitable<answer> lock_requests::prolong(call const& c, lock_ticket ticket, milliseconds ttl,
                                               std::shared_ptr<session> owner, std::string new_token)
{
    auto& open = all_.open_sessions;
    if (open.move(ticket.token, owner))
        co_return co_await extend_here(c, ticket.token, ttl);
    if (open.find_lock(new_token))  // the request is repeated
        co_return co_await extend_here(c, new_token, ttl);
    if (owner && locks_of(c) >= all_.limits.locks)
        co_return limit_reached(c.r, "too-many-locks", "locks", all_.limits.locks, "--max-locks");

    acquire_options const how{.ttl = ttl,
                              .renew = owner ? renewal::automatic : renewal::none,
                              .may_be_resumed = true,
                              .explain = true,
                              .new_token = new_token};
    auto [ec, l] = co_await all_.locks.async_resume(ticket, how, runtime::as_result);
    if (detail::outcome_of(ec).kind == detail::outcome_kind::refused)
        throw wrong_field(l.report()->message);
    if (ec == errc::lost || ec == errc::not_held || ec == errc::contended)
        co_return unknown_lock(c.r);
    if (ec)
        co_return problem_response(c.r, ec, how, l.report());
    if (!new_token.empty()) {
        auto const former = std::exchange(ticket.token, new_token);
        all_.loads.remove_lock(former);
        for (auto& [client, repeated] : all_.repeated)
            repeated.replace(former, ticket);
    }
    if (auto now = keep(c, ticket, std::move(l), ttl, owner))
        co_return std::move(*now);
    co_return co_await extend_here(c, ticket.token, ttl);
}

// Gives the extended lock to the session, or detaches it. This is no coroutine, because a coroutine could be cancelled
// at its beginning. Then the end of the handle would release a lock on which the client relies.
// @return nothing: another request has put the lock into a session
std::optional<answer> lock_requests::keep(call const& c, lock_ticket const& ticket, lock l, milliseconds ttl,
                                          std::shared_ptr<session> const& owner)
{
    auto& open = all_.open_sessions;
    auto const until = l.valid_until();
    auto refusal = not_permitted(c, ticket.resources.names());  // SIGHUP may have replaced the tokens meanwhile
    bool const is_in_session = open.holder_of(ticket.token) != nullptr;
    if (owner && !owner->is_over() && !is_in_session && !refusal) {
        all_.loads.remove_lock(ticket.token);
        open.add(*owner, std::move(l), ticket, ttl);
        return held(c.r, http::status::ok, ticket, until);
    }
    error_code ec;
    l.detach(ec);                 // a second handle would release the lock of the first one
    if (owner && !is_in_session)  // the session has ended meanwhile, and has left the lock
        all_.loads.add_lock(c.client, ticket.token, until);
    else
        all_.loads.extend_lock(ticket.token, until);
    if (refusal)
        return std::move(*refusal);
    if (ec)
        return unknown_lock(c.r);
    if (!is_in_session)
        return held(c.r, http::status::ok, ticket, until);
    open.move(ticket.token, owner);
    return std::nullopt;
}

asio::awaitable<answer> lock_requests::extend_here(call const& c, std::string token, milliseconds ttl)
{
    auto const extended = all_.open_sessions.find_lock(token);
    auto const [ec] = co_await extended->handle.async_extend(ttl, runtime::as_result);
    if (ec == errc::invalid_argument)
        throw wrong_field("ttl_ms is " + std::to_string(ttl.count()) + ", but must be 20 to "
                          + std::to_string(all_.limits.ttl.count()) + ", and more than the time to wait for a node");
    auto const now = all_.open_sessions.find_lock(token);  // another request may have moved it
    if (ec == errc::lost || ec == errc::not_held || (!ec && !now))
        co_return unknown_lock(c.r);
    if (ec)
        co_return problem_response(c.r, ec);
    now->ttl = ttl;
    now->id = all_.ids.id_of(now->ticket);
    co_return held(c.r, http::status::ok, now->ticket, now->handle.valid_until());
}

asio::awaitable<answer> lock_requests::release(call const& c)
{
    auto const ticket = all_.ids.ticket_of(c.name());
    if (auto refusal = refusal_of(c, ticket))
        co_return std::move(*refusal);
    for (auto& [client, repeated] : all_.repeated)
        repeated.forget(*ticket);
    auto const ec = co_await end_of(*ticket);
    if (ec == errc::not_held || ec == errc::lost || ec == errc::invalid_argument)
        co_return unknown_lock(c.r);
    if (ec)
        co_return unfinished_release(c.r, ec);
    co_return document(c.r, http::status::no_content);
}

asio::awaitable<error_code> lock_requests::end_of(lock_ticket const& t)
{
    if (auto const kept = all_.open_sessions.take(t.token)) {
        auto const [failed] = co_await kept->handle.async_release(runtime::as_result);
        co_return failed;
    }
    all_.loads.remove_lock(t.token);
    auto const [ec] = co_await all_.locks.async_release(t, runtime::as_result);
    co_return ec;
}

std::optional<response> lock_requests::refusal_of(call const& c, std::optional<lock_ticket> const& ticket) const
{
    if (!ticket)
        return bad_id(c.r);
    if (auto refusal = not_permitted(c, ticket->resources.names()))
        return refusal;
    bool const is_met = matches(c.r, [&](std::string_view tag) { return all_.ids.has_etag(*ticket, tag); });
    return is_met ? std::nullopt : std::optional(not_matching(c.r));
}

std::optional<response> lock_requests::not_permitted(call const& c, std::span<std::string const> names) const
{
    auto const* const refused = all_.who.may_not_lock(c.client, names);
    return refused ? std::optional(forbidden(c.r, "lock", *refused)) : std::nullopt;
}

asio::awaitable<void> lock_requests::give_back(lock_ticket t) { co_await end_of(t); }

response lock_requests::held(request const& r, http::status status, lock_ticket const& t,
                             std::optional<clock::time_point> valid_until, std::optional<milliseconds> waited) const
{
    std::array<unsigned char, 2048> memory;  // enough for most answers
    boost::json::monotonic_resource resource(memory.data(), memory.size());
    auto const id = all_.ids.id_of(t);
    auto body = lock_ids::json_of(t, id, &resource);
    body["valid_for_ms"] = valid_until ? boost::json::value(left_until(*valid_until).count()) : boost::json::value();
    if (waited)
        body["waited_ms"] = waited->count();
    auto answer = document(r, status, body);
    answer.set(http::field::etag, all_.ids.etag_of(t));
    answer.set(http::field::location, "/v1/held/" + id);
    return answer;
}

asio::awaitable<answer> lock_requests::show(call const& c)
{
    auto const ticket = all_.ids.ticket_of(c.name());
    if (auto refusal = refusal_of(c, ticket))
        co_return std::move(*refusal);
    // Another instance may have released a lock of a session here, so the nodes are asked in any case.
    auto [ec, until] = co_await held_until(all_.locks, *ticket, all_.limits.drift_factor);
    if (ec == errc::not_held)
        co_return unknown_lock(c.r);
    if (ec)
        co_return problem_response(c.r, ec);
    if (auto const kept = all_.open_sessions.find_lock(ticket->token))
        until = kept->handle.valid_until();
    co_return held(c.r, http::status::ok, *ticket, until);
}

asio::awaitable<answer> lock_requests::inspect(call const& c) { return inspect_name(c, c.name()); }

asio::awaitable<answer> lock_requests::inspect_name(call const& c, std::string name)
{
    if (!all_.who.permits(c.client, &grant::reads, name))
        co_return forbidden(c.r, "read", name);
    auto [ec, info] = co_await all_.locks.async_inspect(name, runtime::as_result);
    if (ec == errc::invalid_argument)
        throw wrong_field(right_name);
    if (ec)
        co_return problem_response(c.r, ec);
    auto seen = document(c.r, http::status::ok, json_of(info, all_.ids));
    seen.set(http::field::etag, etag_of(info, all_.ids));
    co_return seen;
}

// No coroutine: each frame costs an allocation.
asio::awaitable<answer> lock_requests::look(call const& c)
{
    auto const& query = c.target.query;
    auto const name = query.find("name");
    if (name == query.end())
        return list(c);
    must_have_only(c.target, {"name"});
    return inspect_name(c, name->second);
}

asio::awaitable<answer> lock_requests::list(call const& c)
{
    client_loads::turn turn(all_.loads, c.client);
    if (!co_await turn.wait())
        co_return no_turn(c.r);
    auto const& query = c.target.query;
    must_have_only(c.target, {"prefix", "limit", "from"});
    auto const given = query.find("prefix"), from = query.find("from");
    auto const prefix = given == query.end() ? std::string() : given->second;
    auto const& who = all_.who;
    auto const may_read_all = [&] { return who.permits(c.client, &grant::reads, prefix); };
    if (!may_read_all() && !who.permits_anywhere(c.client, &grant::reads))
        co_return forbidden(c.r, "read", prefix);
    auto const limit = limit_in(c.target);
    auto next = from == query.end() ? std::string() : from->second;
    std::vector<node_list_info> nodes;
    json_list locks;
    bool is_over = false;
    for (std::size_t seen = 0; !is_over;) {
        auto const size = std::min(limit - seen, piece_of(locks));
        auto [ec, page] = co_await all_.locks.async_list(escaped(prefix) + '*', {.page_size = size, .from = next},
                                                         runtime::as_result);
        if (ec == errc::invalid_argument)
            throw wrong_field(
                "prefix must have at most 511 bytes, in which each of *?[\\ counts twice, and from must be "
                "the text \"next\" of an earlier page");
        if (ec)
            co_return problem_response(c.r, ec);
        for (auto const& l : page.locks) {
            if (may_read_all() || who.permits(c.client, &grant::reads, l.resource))
                locks.add(json_of(l, all_.ids));
        }
        add_progress(nodes, std::move(page.nodes));
        seen += page.locks.size();
        is_over = page.next.empty() || page.locks.size() < size || seen >= limit || locks.is_full();
        next = std::move(page.next);
    }
    auto const place = next.empty() ? boost::json::value() : boost::json::value(next);
    co_return locks.page(c.r, "locks", {{"next", place}, {"nodes", json_of(nodes)}});
}

asio::awaitable<answer> lock_requests::take_away(call const& c)
{
    if (!all_.who.permits(c.client, &grant::breaks, c.name()))
        co_return forbidden(c.r, "break", c.name());
    auto const condition = condition_of(c.r);
    if (condition.empty() || condition == "*")
        co_return problem(
            c.r, http::status::precondition_required, "no-condition", "If-Match is missing",
            "Inspect the lock, and send its entity tag in If-Match, to break only what you have seen. \"*\" "
            "is no entity tag.");
    auto [failed, seen] = co_await all_.locks.async_inspect(c.name(), runtime::as_result);
    if (failed == errc::invalid_argument)
        throw wrong_field(right_name);
    if (failed)
        co_return problem_response(c.r, failed);
    if (!all_.who.permits(c.client, &grant::breaks, c.name()))  // SIGHUP may have replaced the tokens meanwhile
        co_return forbidden(c.r, "break", c.name());
    if (!matches(c.r, [&](std::string_view tag) { return has_etag(seen, all_.ids, tag); }))
        co_return not_matching(c.r);
    auto [ec, info] = co_await all_.locks.async_break(seen, runtime::as_result);
    if (!ec || info.deleted > 0)  // also if too few nodes have answered
        all_.log.broke(client_in_words(all_, c), seen, info);
    if (ec == errc::not_held || ec == errc::invalid_argument)
        co_return unknown_lock(c.r);
    if (ec)
        co_return problem_response(c.r, ec);
    co_return document(c.r, http::status::ok, json_of(info));
}

}  // namespace redlock::serve
