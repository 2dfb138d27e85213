#include "serve/api.hpp"

#include "serve/answers.hpp"
#include "serve/as_result.hpp"
#include "serve/fields.hpp"
#include "serve/lock_id.hpp"
#include "serve/target.hpp"

#include <redlock/beast.hpp>
#include <redlock/prometheus.hpp>

#include <boost/json/array.hpp>

#include <algorithm>
#include <charconv>
#include <functional>
#include <utility>

namespace redlock::serve {

namespace {

namespace http = boost::beast::http;
namespace json = boost::json;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr auto default_ttl = 10s;

std::string client_of(request const& r) { return std::string(r[http::field::authorization]); }

response forbidden(request const& r, std::string_view what, std::string_view name)
{
    return problem(r, http::status::forbidden, "forbidden", "The token does not permit this",
                   "The bearer token does not permit to " + std::string(what) + " \"" + std::string(name) + "\".");
}

response unknown_lock(request const& r)
{
    return problem(r, http::status::not_found, "not-held", "The lock is not held",
                   "It was released, has expired, or was lost. Acquire it again.");
}

response bad_id(request const& r)
{
    return problem(r, http::status::not_found, "unknown-lock", "There is no such lock",
                   "The id is not one that the service has returned.");
}

response not_matching(request const& r)
{
    return problem(r, http::status::precondition_failed, "changed", "The lock has changed",
                   "Its entity tag is not the one of If-Match. Inspect it again.");
}

// Whether the condition of the request is met. Without one, it is.
bool matches(request const& r, std::string_view etag)
{
    auto const wanted = r[http::field::if_match];
    return wanted.empty() || wanted == "*" || wanted == etag;
}

milliseconds left_of(clock::time_point valid_until)
{
    return std::max(std::chrono::floor<milliseconds>(valid_until - clock::now()), milliseconds(0));
}

response held(request const& r, http::status status, lock_ticket const& t, clock::time_point valid_until)
{
    json::array names;
    for (auto const& name : t.resources)
        names.push_back(json::value(name));
    auto const id = id_of(t);
    auto answer = document(r, status,
                           {{"id", id},
                            {"resources", std::move(names)},
                            {"mode", t.mode == mode::shared ? "shared" : "exclusive"},
                            {"valid_for_ms", left_of(valid_until).count()},
                            {"fencing_token", t.fencing_token}});
    answer.set(http::field::etag, etag_of(t));
    answer.set(http::field::location, "/v1/locks/" + id);
    return answer;
}

mode mode_in(fields const& body)
{
    auto const name = body.text("mode");
    if (name.empty() || name == "exclusive")
        return mode::exclusive;
    if (name == "shared")
        return mode::shared;
    throw wrong_field("mode is \"" + name.substr(0, 100) + "\", but must be exclusive or shared");
}

std::size_t number_in(target const& t, std::string const& name, std::size_t otherwise)
{
    auto const given = t.query.find(name);
    if (given == t.query.end())
        return otherwise;
    std::size_t n = 0;
    auto const& text = given->second;
    auto const read = std::from_chars(text.data(), text.data() + text.size(), n);
    if (read.ec != std::errc() || read.ptr != text.data() + text.size())
        throw wrong_field(name + " is \"" + text.substr(0, 100) + "\", but must be a number");
    return n;
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

// GCC 12 destroys the temporaries of `answer{co_await …}` twice.
asio::awaitable<answer> as_answer(asio::awaitable<response> what)
{
    answer a;
    a.response = co_await std::move(what);
    co_return a;
}

response metrics(request const& r, stats const& s)
{
    auto a = document(r, http::status::ok);
    a.set(http::field::content_type, "text/plain; version=0.0.4");
    a.body() = prometheus_text(s);
    a.prepare_payload();
    return a;
}

response page_of(request const& r, lock_page const& page)
{
    json::array all;
    for (auto const& l : page.locks)
        all.push_back(json_of(l));
    return document(r, http::status::ok,
                    {{"locks", std::move(all)}, {"next", page.next.empty() ? json::value() : json::value(page.next)}});
}

response broken(request const& r, break_info const& info)
{
    return document(r, http::status::ok,
                    {{"resource", json::value(info.resource)}, {"deleted", info.deleted}, {"of", info.nodes.size()}});
}

response unauthorized(request const& r)
{
    auto a = problem(r, http::status::unauthorized, "unauthorized", "A bearer token is needed",
                     "The header field Authorization has no token that the service knows.");
    a.set(http::field::www_authenticate, "Bearer");
    return a;
}

/// Counts the requests of a client while they wait.
class waiting_place {
public:
    waiting_place(std::map<std::string, std::size_t>& all, std::string const& client)
        : all_(all), at_(all.try_emplace(client, 0).first)
    {
        ++at_->second;
    }
    ~waiting_place()
    {
        if (--at_->second == 0)
            all_.erase(at_);
    }
    waiting_place(waiting_place const&) = delete;
    waiting_place& operator=(waiting_place const&) = delete;

private:
    std::map<std::string, std::size_t>& all_;
    std::map<std::string, std::size_t>::iterator const at_;
};

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

api::api(lock_manager& locks, access a, limits l) : locks_(locks), access_(std::move(a)), limits_(l) {}

asio::awaitable<answer> api::handle(request const& r)
{
    auto const where = target::read(r.target());
    std::string wrong;
    try {
        if (where)
            co_return co_await route(r, *where);
        wrong = "the target is not a path that is encoded correctly";
    } catch (wrong_field const& e) {
        wrong = e.what();
    }
    co_return answer{problem(r, http::status::bad_request, "bad-request", "The request is wrong", wrong)};
}

asio::awaitable<answer> api::route(request const& r, target const& t)
{
    auto const& path = t.path;
    bool const gets = r.method() == http::verb::get;
    if (path.size() == 1 && gets && (path[0] == "healthz" || path[0] == "readyz"))
        co_return answer{health(r, path[0] == "readyz")};
    if (!access_.knows(r[http::field::authorization])) {
        co_return answer{unauthorized(r)};
    }
    if (path.size() == 1 && gets && path[0] == "metrics")
        co_return answer{metrics(r, locks_.stats())};
    bool const is_locks = path.size() >= 2 && path[0] == "v1" && path[1] == "locks";
    if (is_locks && path.size() == 2 && r.method() == http::verb::post)
        co_return co_await acquire(r);
    if (is_locks && path.size() == 2 && gets)
        co_return co_await as_answer(list(r, t));
    if (is_locks && path.size() == 3 && gets)
        co_return co_await as_answer(inspect(r, path[2]));
    if (is_locks && path.size() == 3 && r.method() == http::verb::patch)
        co_return co_await as_answer(extend(r, path[2]));
    if (is_locks && path.size() == 3 && r.method() == http::verb::delete_)
        co_return co_await as_answer(release(r, path[2]));
    if (is_locks && path.size() == 4 && path[3] == "break" && r.method() == http::verb::post)
        co_return co_await as_answer(take_away(r, path[2]));
    co_return answer{problem(r, http::status::not_found, "unknown-path", "There is no such path",
                             "docs/serve.md lists the paths and their methods.")};
}

asio::awaitable<answer> api::acquire(request const& r)
{
    auto const client = client_of(r);
    auto const key = std::string(r["Idempotency-Key"]);
    if (auto const waits = waiting_.find(client); waits != waiting_.end() && waits->second >= limits_.waiting)
        co_return answer{problem(r, http::status::too_many_requests, "too-many-waiting", "Too many requests wait",
                                 "This client has " + std::to_string(limits_.waiting)
                                     + " requests that wait for a lock. Let some of them end.")};
    waiting_place const place(waiting_, client);
    if (key.empty())
        co_return co_await acquire_new(r, client);

    auto const named = client + '\n' + key;
    auto const body = std::hash<std::string>()(r.body());
    if (auto const* const known = repeats_.find(named, clock::now())) {
        if (known->body != body)
            co_return answer{problem(r, http::status::unprocessable_entity, "key-reused", "The key was used before",
                                     "Another request had the same Idempotency-Key.")};
        if (!known->ticket)
            co_return answer{problem(r, http::status::conflict, "in-progress", "The first request is under way",
                                     "The request with this Idempotency-Key has not ended yet.")};
        co_return answer{held(r, http::status::created, *known->ticket, known->valid_until)};
    }
    if (repeats_.is_full())
        co_return answer{problem(r, http::status::service_unavailable, "too-many-keys", "Too many keys are remembered",
                                 "The service remembers no further Idempotency-Key until locks have expired.")};
    repeats_.add(named, {.body = body, .valid_until = clock::time_point::max()});
    key_under_way key_of_this(repeats_, named);
    auto result = co_await acquire_new(r, client);
    key_of_this.is_kept = result.acquired.has_value();
    if (result.acquired)  // if this answer is lost, the repeated request gets the lock
        repeats_.add(named,
                     {.body = body, .ticket = std::exchange(result.acquired, {}), .valid_until = result.valid_until});
    co_return result;
}

asio::awaitable<answer> api::acquire_new(request const& r, std::string const& client)
{
    fields const body(r.body(), {"resources", "ttl_ms", "wait_ms", "mode", "note"});
    auto names = body.texts("resources");
    for (auto const& name : names) {
        if (!access_.permits(client, &grant::locks, name))
            co_return answer{forbidden(r, "lock", name)};
    }
    attempt_report report;
    auto const note = body.text("note");
    acquire_options const how{.ttl = body.milliseconds("ttl_ms", default_ttl),
                              .wait = body.milliseconds("wait_ms", 0ms),
                              .mode = mode_in(body),
                              .report = &report,
                              .note = note};
    if (how.wait > limits_.wait)
        throw wrong_field("wait_ms is " + std::to_string(how.wait.count()) + ", but must be at most "
                          + std::to_string(limits_.wait.count()));
    auto [ec, l] = co_await locks_.async_acquire(resource_set(std::move(names)), how, as_result);
    if (ec == errc::invalid_argument || ec == errc::unsupported)
        throw wrong_field(report.message);
    if (ec)
        co_return answer{problem_response(r, ec, how)};
    auto const until = l.valid_until();
    auto const ticket = l.detach(ec);
    if (ec)
        co_return answer{problem_response(r, ec, how)};
    co_return answer{held(r, http::status::created, ticket, until), ticket, until};
}

asio::awaitable<response> api::extend(request const& r, std::string_view id)
{
    auto const ticket = ticket_of(id);
    if (auto refusal = refusal_of(r, ticket))
        co_return std::move(*refusal);
    fields const body(r.body(), {"ttl_ms"});
    attempt_report report;
    acquire_options const how{.ttl = body.milliseconds("ttl_ms", default_ttl), .report = &report};
    auto [ec, l] = co_await locks_.async_resume(*ticket, how, as_result);
    if (ec == errc::invalid_argument || ec == errc::unsupported)
        throw wrong_field(report.message);
    if (ec == errc::lost || ec == errc::not_held || ec == errc::contended)
        co_return unknown_lock(r);
    if (ec)
        co_return problem_response(r, ec, how);
    auto const until = l.valid_until();
    l.detach(ec);
    co_return ec ? unknown_lock(r) : held(r, http::status::ok, *ticket, until);
}

asio::awaitable<response> api::release(request const& r, std::string_view id)
{
    auto const ticket = ticket_of(id);
    if (auto refusal = refusal_of(r, ticket))
        co_return std::move(*refusal);
    repeats_.forget(*ticket);
    auto [ec] = co_await locks_.async_release(*ticket, as_result);
    if (ec == errc::not_held || ec == errc::lost || ec == errc::invalid_argument)
        co_return unknown_lock(r);
    co_return ec ? problem_response(r, ec) : document(r, http::status::no_content);
}

std::optional<response> api::refusal_of(request const& r, std::optional<lock_ticket> const& ticket) const
{
    if (!ticket)
        return bad_id(r);
    for (auto const& name : ticket->resources) {
        if (!access_.permits(client_of(r), &grant::locks, name))
            return forbidden(r, "lock", name);
    }
    return matches(r, etag_of(*ticket)) ? std::nullopt : std::optional(not_matching(r));
}

asio::awaitable<void> api::give_back(lock_ticket t) { co_await locks_.async_release(std::move(t), as_result); }

asio::awaitable<response> api::inspect(request const& r, std::string name)
{
    if (!access_.permits(client_of(r), &grant::reads, name))
        co_return forbidden(r, "read", name);
    auto [ec, info] = co_await locks_.async_inspect(name, as_result);
    if (ec == errc::invalid_argument)
        throw wrong_field("the name of the lock must have 1 to 512 bytes, and no mark of another key");
    if (ec)
        co_return problem_response(r, ec);
    auto answer = document(r, http::status::ok, json_of(info));
    answer.set(http::field::etag, etag_of(info));
    co_return answer;
}

asio::awaitable<response> api::list(request const& r, target const& t)
{
    auto const given = t.query.find("prefix"), from = t.query.find("from");
    auto const prefix = given == t.query.end() ? std::string() : given->second;
    if (!access_.permits(client_of(r), &grant::reads, prefix))
        co_return forbidden(r, "read", prefix);
    list_options const how{.page_size = number_in(t, "limit", list_options().page_size),
                           .from = from == t.query.end() ? std::string() : from->second};
    auto [ec, page] = co_await locks_.async_list(escaped(prefix) + '*', how, as_result);
    if (ec == errc::invalid_argument)
        throw wrong_field("limit must be 1 to 1000, and from the text \"next\" of an earlier page");
    if (ec)
        co_return problem_response(r, ec);
    co_return page_of(r, page);
}

asio::awaitable<response> api::take_away(request const& r, std::string name)
{
    if (!access_.permits(client_of(r), &grant::breaks, name))
        co_return forbidden(r, "break", name);
    if (r[http::field::if_match].empty())
        co_return problem(r, http::status::precondition_required, "no-condition", "If-Match is missing",
                          "Inspect the lock, and send its entity tag in If-Match, to break only what you have seen.");
    auto [failed, seen] = co_await locks_.async_inspect(name, as_result);
    if (failed)
        co_return problem_response(r, failed);
    if (!matches(r, etag_of(seen)))
        co_return not_matching(r);
    auto [ec, info] = co_await locks_.async_break(std::move(seen), as_result);
    if (ec == errc::not_held || ec == errc::invalid_argument)
        co_return unknown_lock(r);
    if (ec)
        co_return problem_response(r, ec);
    co_return broken(r, info);
}

response api::health(request const& r, bool wants_ready) const
{
    auto const nodes = locks_.stats().nodes;
    auto const up = static_cast<std::size_t>(std::ranges::count(nodes, true, &node_stats::connected));
    bool const is_good = up >= nodes.size() / 2 + 1 && !(wants_ready && stopping_);
    return document(r, is_good ? http::status::ok : http::status::service_unavailable,
                    {{"nodes", nodes.size()}, {"connected", up}, {"stopping", stopping_}});
}

}  // namespace redlock::serve
