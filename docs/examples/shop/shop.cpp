#include "shop.hpp"

#include "page.hpp"

#include <redlock/prometheus.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/json.hpp>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <utility>

namespace shop {

namespace json = boost::json;
using namespace std::chrono_literals;
using redlock::error_code;
using redlock::system_error;

namespace {

constexpr std::int64_t count_max = 1000;

struct wanted {
    std::string item;
    std::int64_t count = 0;
};

// Parses the body of an order. @throws std::invalid_argument naming the wrong member
wanted read_order(std::string const& body)
{
    error_code ec;
    auto const value = json::parse(body, ec);
    if (ec)
        throw std::invalid_argument("the body is no JSON: " + ec.message());
    auto const* const o = value.if_object();
    if (!o)
        throw std::invalid_argument("the body must be an object: {\"item\": \"espresso\", \"count\": 1}");
    wanted w;
    auto const* const item = o->if_contains("item");
    if (!item || !item->is_string() || item->get_string().empty() || item->get_string().size() > 64)
        throw std::invalid_argument("\"item\" must be a text of 1 to 64 bytes");
    w.item = item->get_string();
    auto const* const count = o->if_contains("count");
    w.count = count && count->is_int64() ? count->get_int64() : 0;
    if (w.count < 1 || w.count > count_max)
        throw std::invalid_argument("\"count\" must be a whole number from 1 to " + std::to_string(count_max));
    return w;
}

double ms(redlock::clock::duration d)
{
    return std::round(std::chrono::duration<double, std::milli>(d).count() * 10) / 10;
}

}  // namespace

response make_response(request const& to, http::status status, std::string_view type, std::string body)
{
    response r(status, to.version() != 0 ? to.version() : 11);
    r.keep_alive(to.keep_alive());
    r.set(http::field::content_type, type);
    r.set(http::field::cache_control, "no-store");
    r.body() = std::move(body);
    r.prepare_payload();
    return r;
}

response problem(request const& to, http::status status, std::string_view type, std::string_view title,
                 std::string_view detail)
{
    auto body = json::serialize(
        json::object{{"type", type}, {"title", title}, {"status", static_cast<unsigned>(status)}, {"detail", detail}});
    return make_response(to, status, "application/problem+json", std::move(body));
}

// Counts a request that waits for the lock of an item, until end() or the destructor.
class shop::waiting_note {
public:
    waiting_note(shop& s, std::string item) : shop_(s), item_(std::move(item))
    {
        std::scoped_lock const guard(shop_.mutex_);
        ++shop_.waiting_[item_];
    }
    ~waiting_note() { end(); }
    waiting_note(waiting_note const&) = delete;
    waiting_note& operator=(waiting_note const&) = delete;
    void end()
    {
        if (std::exchange(ended_, true))
            return;
        std::scoped_lock const guard(shop_.mutex_);
        if (--shop_.waiting_[item_] == 0)
            shop_.waiting_.erase(item_);
    }

private:
    shop& shop_;
    std::string const item_;
    bool ended_ = false;
};

// Lists a request that holds the lock of an item, until the destructor.
class shop::holding_note {
public:
    holding_note(shop& s, std::string item, redlock::lock const& l, std::size_t votes) : shop_(s)
    {
        std::scoped_lock const guard(shop_.mutex_);
        place_ = shop_.held_.insert(shop_.held_.end(), {std::move(item), &l, votes});
    }
    ~holding_note()
    {
        std::scoped_lock const guard(shop_.mutex_);
        shop_.held_.erase(place_);
    }
    holding_note(holding_note const&) = delete;
    holding_note& operator=(holding_note const&) = delete;

private:
    shop& shop_;
    std::list<held_item>::iterator place_;
};

shop::shop(asio::any_io_executor executor, settings const& s, nodes* own)
    : settings_(s),
      own_(own),
      locks_(std::move(executor), s.locks),
      stock_(s.database),
      latency_ms_(s.locks.nodes.size(), -1)
{
    stock_.fill(s.goods);
}

shop::~shop() { database_.join(); }

asio::awaitable<void> shop::close() { co_await locks_.async_shutdown(asio::as_tuple(asio::use_awaitable)); }

asio::awaitable<response> shop::handle(request const& r, redlock::request_deadline deadline)
{
    auto const path = path_of(r);
    // The server removes the body for HEAD.
    auto const asked = r.method() == http::verb::head ? http::verb::get : r.method();
    auto const is = [&](http::verb verb, std::string_view target) { return asked == verb && path == target; };
    if (is(http::verb::get, "/")) {
        auto answer = make_response(r, http::status::ok, "text/html; charset=utf-8", std::string(page));
        answer.set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; script-src "
                                              "'unsafe-inline'; connect-src 'self'; img-src data:");
        co_return answer;
    }
    if (is(http::verb::post, "/orders"))
        co_return co_await place_order(r, deadline);
    if (is(http::verb::get, "/stock")) {
        auto const items = co_await on_database([](stock& s) { return s.items(); });
        json::array list;
        for (auto const& i : items)
            list.push_back(json::object{{"item", i.name}, {"left", i.left}, {"sold", i.sold}});
        co_return make_response(r, http::status::ok, "application/json",
                                json::serialize(json::object{{"items", std::move(list)}}));
    }
    if (is(http::verb::get, "/healthz"))
        co_return health(r);
    if (is(http::verb::get, "/locks.json"))
        co_return locks_json(r);
    if (is(http::verb::get, "/metrics"))
        co_return metrics(r);
    if (r.method() == http::verb::post && path.starts_with("/demo/") && own_)
        co_return co_await control(r);
    for (auto const* known : {"/", "/events", "/orders", "/stock", "/healthz", "/locks.json", "/metrics"}) {
        if (path == known) {
            auto answer = problem(r, http::status::method_not_allowed, "about:blank", "Method not allowed",
                                  "See the header Allow.");
            answer.set(http::field::allow, path == "/orders" ? "POST" : path == "/events" ? "GET" : "GET, HEAD");
            co_return answer;
        }
    }
    co_return problem(r, http::status::not_found, "about:blank", "Not found",
                      "There is /, /stock, /orders, /healthz, /locks.json and /metrics.");
}

// The service carries out an order with an Idempotency-Key once, and repeats its answer for each further request.
asio::awaitable<response> shop::place_order(request const& r, redlock::request_deadline deadline)
{
    wanted w;
    std::string wrong;
    try {
        w = read_order(r.body());
    } catch (std::invalid_argument const& e) {
        wrong = e.what();
    }
    if (!wrong.empty())
        co_return problem(r, http::status::bad_request, "urn:shop:bad-order", "This is no order", wrong);
    auto const key = std::string(r["Idempotency-Key"]);
    if (key.size() > 128)
        co_return problem(r, http::status::bad_request, "urn:shop:bad-key", "This is no key",
                          "Idempotency-Key is longer than 128 bytes.");
    // The name comes from the client. Only known items get a lock, because a fencing counter stays for ever.
    if (!co_await knows(w.item)) {
        auto const said = answer_to({stock::sale::outcome::unknown_item}, w.item, w.count);
        co_return make_response(r, static_cast<http::status>(said.status), "application/problem+json", said.body);
    }
    if (key.empty())
        co_return co_await sell(r, w.item, w.count, 0, deadline);

    stock::claimed const mine =
        co_await on_database([&](stock& s) { return s.begin(key, r.body(), 2 * settings_.request_timeout + 1min); });
    if (mine.what == stock::claim::in_flight)
        co_return problem(r, http::status::conflict, "urn:shop:in-flight", "Still at it",
                          "A request with this Idempotency-Key is being worked at.");
    if (mine.what == stock::claim::other_body)
        co_return problem(r, http::status::unprocessable_entity, "urn:shop:reused-key", "Another request",
                          "This Idempotency-Key was used with another body.");
    if (mine.before)
        co_return make_response(r, static_cast<http::status>(mine.before->status),
                                mine.before->status < 400 ? "application/json" : "application/problem+json",
                                mine.before->body);

    // The database has the answers 201 and 410. After any other outcome, and after a cancellation, the client may try
    // again with the same key.
    std::exception_ptr failure;
    std::optional<response> answer;
    try {
        answer = co_await sell(r, w.item, w.count, mine.number, deadline);
    } catch (...) {
        failure = std::current_exception();
    }
    if (failure || (answer->result_int() != 201 && answer->result_int() != 410))
        asio::post(database_, [this, claim = mine.number] {
            try {
                stock_.give_up(claim);
            } catch (std::exception const&) {  // the claim expires
            }
        });
    if (failure)
        std::rethrow_exception(failure);
    co_return std::move(*answer);
}

//[place_order
asio::awaitable<response> shop::sell(request const& r, std::string item, std::int64_t count, std::int64_t claim,
                                     redlock::request_deadline deadline)
{
    redlock::acquire_options how{.ttl = settings_.ttl, .wait = deadline.wait(settings_.work + 100ms), .explain = true};
    if (r["Prefer"] == "wait=0")
        how.wait = 0ms;
    auto const asked = std::chrono::steady_clock::now();
    waiting_note waits(*this, item);

    std::optional<stock::sale> sale;  // a sale in the database counts, even if the lock is lost
    auto work = [&](redlock::lock& held) -> asio::awaitable<void> {
        waits.end();
        holding_note const holds(*this, item, held, note_votes(held.report()));
        asio::steady_timer others(co_await asio::this_coro::executor, settings_.work);
        co_await others.async_wait(asio::use_awaitable);  // stands for the rest of an order: prices, payment, mail
        auto const took = std::chrono::floor<std::chrono::milliseconds>(std::chrono::steady_clock::now() - asked);
        sale = co_await on_database(
            [&, fence = held.fencing_token()](stock& s) { return s.sell(item, count, fence, took.count(), claim); });
    };

    std::optional<response> failed;
    try {
        redlock::lock none;
        if (settings_.unguarded)
            co_await work(none);
        else
            co_await locks_.with_lock("item:" + item, how, work);
    } catch (redlock::lock_error const& e) {
        if (e.code() == asio::error::operation_aborted && !sale)
            throw;  // the caller has cancelled the order
        failed = redlock::problem_response(r, e, how);
    } catch (system_error const&) {  // of the work
        if (!sale)
            throw;
    }
    if (!sale) {
        ++this->count.refused;
        co_return std::move(*failed);
    }
    auto const said = answer_to(*sale, item, count);
    ++(said.status == 201 ? this->count.orders : this->count.refused);
    auto reply = make_response(r, static_cast<http::status>(said.status),
                               said.status == 201 ? "application/json" : "application/problem+json", said.body);
    if (said.status == 503)
        reply.set(http::field::retry_after, "1");
    co_return reply;
}
//]

asio::awaitable<bool> shop::knows(std::string const& item)
{
    {
        std::scoped_lock const guard(mutex_);
        if (known_.contains(item))
            co_return true;
    }
    bool const there = co_await on_database([&](stock& s) { return s.knows(item); });
    std::scoped_lock const guard(mutex_);
    if (there)
        known_.insert(item);
    co_return there;
}

std::size_t shop::note_votes(std::shared_ptr<redlock::attempt_report const> report)
{
    if (!report)  // settings_.unguarded
        return 0;
    std::scoped_lock const guard(mutex_);
    std::size_t granted = 0;
    for (std::size_t i = 0; i < report->nodes.size() && i < latency_ms_.size(); ++i) {
        auto const& node = report->nodes[i];
        granted += node.vote == redlock::vote::granted ? 1 : 0;
        if (node.round_trip.count() > 0)
            latency_ms_[i] = static_cast<double>(node.round_trip.count()) / 1000;
    }
    return granted;
}

asio::awaitable<response> shop::control(request const& r)
{
    // /demo/restock or /demo/nodes/NUMBER/WHAT
    auto const path = std::string(path_of(r));
    if (path == "/demo/restock") {
        co_await on_database([](stock& s) { return s.restock(), true; });
        co_return make_response(r, http::status::no_content, "text/plain", {});
    }
    constexpr std::string_view prefix = "/demo/nodes/";
    bool done = false;
    if (path.size() > prefix.size() + 2 && path.starts_with(prefix) && path[prefix.size() + 1] == '/')
        done = own_->act(path.substr(prefix.size() + 2), static_cast<std::size_t>(path[prefix.size()] - '0'));
    if (!done)
        co_return problem(r, http::status::conflict, "about:blank", "That cannot be done",
                          "There is stop, resume, kill and start, of nodes 1 to 5.");
    co_return make_response(r, http::status::no_content, "text/plain", {});
}

response shop::health(request const& r) const
{
    auto const s = locks_.stats();
    auto const voting =
        std::count_if(s.nodes.begin(), s.nodes.end(), [](auto& n) { return n.connected && n.quarantine.count() == 0; });
    // Before the first lock, the manager has no connections.
    bool const fresh = s.rounds == 0;
    bool const well = fresh || 2 * static_cast<std::size_t>(voting) > s.nodes.size();
    return make_response(r, well ? http::status::ok : http::status::service_unavailable, "application/json",
                         json::serialize(json::object{{"well", well}, {"nodes", s.nodes.size()}, {"voting", voting}}));
}

response shop::locks_json(request const& r) const
{
    auto const s = locks_.stats();
    json::array per_node, held, waiting;
    for (auto const& n : s.nodes) {
        per_node.push_back(json::object{{"node", n.name},
                                        {"connected", n.connected},
                                        {"granted", n.granted},
                                        {"denied", n.denied},
                                        {"unknown", n.unknown},
                                        {"quarantine_ms", n.quarantine.count()},
                                        {"last_error", n.last_error ? n.last_error.message() : std::string()}});
    }
    {
        std::scoped_lock const guard(mutex_);
        for (auto const& h : held_)
            held.push_back(json::object{{"resource", "item:" + h.item}, {"valid_ms", ms(h.lock->remaining())}});
        for (auto const& [item, count] : waiting_)
            waiting.push_back(json::object{{"resource", "item:" + item}, {"count", count}});
    }
    return make_response(r, http::status::ok, "application/json",
                         json::serialize(json::object{{"held", std::move(held)},
                                                      {"waiting", std::move(waiting)},
                                                      {"nodes", std::move(per_node)},
                                                      {"acquired", s.acquired},
                                                      {"contended", s.contended},
                                                      {"no_quorum", s.no_quorum},
                                                      {"quarantined", s.quarantined},
                                                      {"lost", s.lost},
                                                      {"renewals", s.renewals}}));
}

response shop::metrics(request const& r) const
{
    std::string text;
    auto const say = [&](std::string const& name, char const* type, char const* help, auto value) {
        text += "# HELP " + name + ' ' + help + "\n# TYPE " + name + ' ' + type + '\n' + name + ' '
                + std::to_string(value) + '\n';
    };
    say("shop_requests_total", "counter", "Requests.", count.requests.load());
    say("shop_orders_total", "counter", "Orders that were placed.", count.orders.load());
    say("shop_orders_refused_total", "counter", "Orders that were not.", count.refused.load());
    say("shop_errors_total", "counter", "Requests that failed unexpectedly.", count.errors.load());
    say("shop_connections", "gauge", "Open connections.", count.connections.load());
    text += redlock::prometheus_text(locks_.stats());
    return make_response(r, http::status::ok, content_type(redlock::metrics_format::prometheus), std::move(text));
}

asio::awaitable<void> shop::watch_times()
{
    asio::steady_timer next(co_await asio::this_coro::executor, std::chrono::steady_clock::now());
    for (;;) {
        next.expires_at(next.expiry() + lock_times::step);
        co_await next.async_wait(asio::use_awaitable);
        auto const s = locks_.stats();
        std::scoped_lock const guard(mutex_);
        times_.add(s);
    }
}

asio::awaitable<std::string> shop::state()
{
    {
        std::scoped_lock const guard(mutex_);
        auto const now = std::chrono::steady_clock::now();
        if (making_state_ || (!state_.empty() && now < state_made_ + 200ms))
            co_return state_;
        making_state_ = true;
    }
    std::exception_ptr failure;
    std::string made;
    try {
        made = co_await make_state();
    } catch (...) {
        failure = std::current_exception();
    }
    std::scoped_lock const guard(mutex_);
    making_state_ = false;
    if (failure)
        std::rethrow_exception(failure);
    state_ = std::move(made);
    state_made_ = std::chrono::steady_clock::now();
    co_return state_;
}

asio::awaitable<std::string> shop::make_state()
{
    struct books {
        std::vector<item> items;
        std::vector<order> orders;
        std::int64_t oversold;
    };
    books const b = co_await on_database([](stock& s) { return books{s.items(), s.latest_orders(12), s.oversold()}; });
    // Inspecting any resource asks all nodes, so it shows which nodes answer.
    std::tuple<error_code, redlock::lock_info> const looked =
        co_await locks_.async_inspect("who-answers", asio::as_tuple(asio::use_awaitable));
    auto const s = locks_.stats();

    json::array items, orders, per_node, held, waiting, times_waited, times_held;
    for (auto const& i : b.items)
        items.push_back(json::object{{"item", i.name}, {"left", i.left}, {"sold", i.sold}, {"was", i.was}});
    for (auto const& o : b.orders)
        orders.push_back(json::object{{"order", o.number},
                                      {"item", o.item},
                                      {"count", o.count},
                                      {"ms", o.ms},
                                      {"fence", o.fence},
                                      {"at_ms", o.age_ms}});
    std::scoped_lock const guard(mutex_);
    for (std::size_t i = 0; i < s.nodes.size(); ++i) {
        auto const& seen = std::get<1>(looked).nodes;
        bool const answers = s.nodes[i].connected && i < seen.size() && !seen[i].error;
        per_node.push_back(
            json::object{{"node", i + 1},
                         {"state", !answers                            ? "away"
                                   : s.nodes[i].quarantine.count() > 0 ? "quarantined"
                                                                       : "up"},
                         {"ms", answers && latency_ms_[i] >= 0 ? json::value(latency_ms_[i]) : json::value()},
                         {"quarantine_ms", s.nodes[i].quarantine.count()}});
    }
    for (auto const& h : held_)
        held.push_back(json::object{{"item", h.item},
                                    {"valid_ms", ms(h.lock->remaining())},
                                    {"ttl_ms", settings_.ttl.count()},
                                    {"votes", h.votes}});
    for (auto const& [item, count] : waiting_)
        waiting.push_back(json::object{{"item", item}, {"count", count}});
    auto const percentiles = [](auto const& p) { return p ? json::value{p->p50, p->p99} : json::value(); };
    for (auto const& [wait, hold] : times_.points()) {
        times_waited.push_back(percentiles(wait));
        times_held.push_back(percentiles(hold));
    }
    co_return json::serialize(json::object{
        {"items", std::move(items)},
        {"orders", std::move(orders)},
        {"nodes", std::move(per_node)},
        {"held", std::move(held)},
        {"waiting", std::move(waiting)},
        {"oversold", b.oversold},
        {"demo", own_ != nullptr},
        {"majority", s.nodes.size() / 2 + 1},
        {"times", json::object{{"wait", std::move(times_waited)}, {"hold", std::move(times_held)}}},
        {"stats",
         json::object{
             {"acquired", s.acquired}, {"contended", s.contended}, {"lost", s.lost}, {"no_quorum", s.no_quorum}}}});
}

}  // namespace shop
