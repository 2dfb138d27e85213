#include "tools/redlock/locks/service_client.hpp"

#include "tools/redlock/args/early_exit.hpp"
#include "tools/redlock/args/output.hpp"
#include "tools/redlock/locks/service_requests.hpp"
#include "tools/redlock/args/watched_input.hpp"
#include "net/url.hpp"
#include "runtime/as_result.hpp"
#include "tools/serve/random_id.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <numeric>
#include <stdexcept>
#include <utility>

namespace redlock::cli {

namespace {

using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;
using std::chrono::milliseconds;

constexpr auto silence_at_first = 500ms;  // before the first look at an instance that does not answer
constexpr auto silence_later = 3s;        // before the next one
constexpr auto find_limit = 2'000ms;      // for each of the requests that find an acquired lock
constexpr auto find_pause = 50ms;
constexpr int finds_max = 10;

// The field stopping is not there if this is another service, such as a proxy that does not know the path.
bool says_stopping(boost::json::object const& health)
{
    auto const* const value = health.if_contains("stopping");
    return value && value->is_bool() && value->get_bool();
}

}  // namespace

bool service_client::presence::is_ready() const { return answer.is_good() && !says_stopping(answer.body); }

/// Releases in the background what a request with an idempotency key may have acquired, unless its end is known.
class service_client::open_acquisition {
public:
    open_acquisition(service_client& c, std::size_t instance, service_request const& q)
        : client_(c), instance_(instance), request_(q)
    {
    }
    ~open_acquisition()
    {
        auto const client = client_.weak_from_this().lock();
        if (client && !is_known)
            asio::co_spawn(client->executor_, end(client, instance_, request_), asio::detached);
    }
    open_acquisition(open_acquisition const&) = delete;
    open_acquisition& operator=(open_acquisition const&) = delete;

    bool is_known = false;

private:
    service_client& client_;
    std::size_t const instance_;
    service_request const& request_;
};

service_client::service_client(asio::any_io_executor executor, settings const& s, std::string_view command)
    : executor_(std::move(executor)), connect_timeout_(s.locks.connect_timeout)
{
    for (auto const& u : s.services) {
        try {
            net::url host;
            host.host = u.host;
            instances_.push_back({u, u.has_tls ? net::tls_settings(host, s.locks.tls) : net::tls_settings()});
        } catch (std::invalid_argument const& e) {
            throw early_exit(wrong_configuration, fmt::format("redlock {}: {}", command, e.what()));
        }
    }
}

service_client::~service_client() = default;

asio::awaitable<service_answer> service_client::ask(service_request q)
{
    std::vector<service_answer> answers(size());
    bool may_be_second = false;
    indices left(size());
    std::iota(left.begin(), left.end(), std::size_t(0));
    while (!left.empty()) {
        auto const chosen = co_await choose(left, q.limit, answers);
        if (!chosen)
            break;
        auto& a = answers[*chosen] = co_await ask_instance(*chosen, q);
        a.may_be_second = a.may_be_second || may_be_second;
        // An instance without a majority of the nodes answers so, and another one may have the majority.
        if (current_ == chosen && (a.is_of_no_use() || a.is("urn:redlock:unavailable")))
            current_.reset();
        if (!a.is_of_no_use())
            co_return std::move(a);
        may_be_second = may_be_second || a.is_lost();
        std::erase(left, *chosen);
        // Two addresses may lead to the same instance. The lock of the first key is released.
        if (!q.idempotency_key.empty())
            q.idempotency_key = serve::random_id();
    }
    service_answer none;
    for (auto const& a : answers) {
        none.trouble.append(none.trouble.empty() ? "no service answers: " : "; ").append(a.words());
        none.is_reached = none.is_reached || a.is_reached;
    }
    co_return none;
}

// An instance that is there but not ready is better than none: it tells why.
asio::awaitable<std::optional<std::size_t>> service_client::choose(indices const& from, milliseconds limit,
                                                                   std::vector<service_answer>& answers)
{
    if (current_ && std::ranges::find(from, *current_) != from.end())
        co_return current_;
    auto seen = co_await look_at(from, std::min(limit, connect_timeout_));
    std::optional<std::size_t> found;
    bool is_ready = false;
    for (std::size_t i = 0; i < from.size(); ++i) {
        if (seen[i].is_there() && (!found || (!is_ready && seen[i].is_ready()))) {
            found = from[i];
            is_ready = seen[i].is_ready();
        }
        answers[from[i]] = std::move(seen[i].answer);
    }
    current_ = found;
    co_return found;
}

// Ends as soon as one of them is ready.
asio::awaitable<std::vector<service_client::presence>> service_client::look_at(indices const& which, milliseconds limit)
{
    std::vector<decltype(asio::co_spawn(executor_, look_at_one(0, limit), asio::deferred))> looks;
    for (auto const i : which)
        looks.push_back(asio::co_spawn(executor_, look_at_one(i, limit), asio::deferred));
    auto const until_ready = [](std::exception_ptr const& failure, presence const& p) {
        return !failure && p.is_ready() ? asio::cancellation_type::terminal : asio::cancellation_type::none;
    };
    auto [order, failures, seen] =
        co_await asio::experimental::make_parallel_group(std::move(looks)).async_wait(until_ready, asio::use_awaitable);
    co_return std::move(seen);
}

asio::awaitable<service_client::presence> service_client::look_at_one(std::size_t instance, milliseconds limit)
{
    auto& to = instances_[instance];
    presence p{.answer = {.from = to.url.name()}};
    asio::steady_timer timer(executor_, limit);
    auto const question = service_requests::health();
    auto const first =
        co_await (exchange(executor_, to, question, limit, p.answer) || timer.async_wait(runtime::as_result));
    if (first.index() == 1 && !p.is_there()) {
        p.answer.trouble = "no answer within " + in_words(limit);
        p.answer.is_late = true;
    }
    p.answer.sent = {};  // this question asks for no work
    co_return p;
}

asio::awaitable<service_answer> service_client::ask_instance(std::size_t instance, service_request const& q)
{
    if (q.idempotency_key.empty())
        co_return co_await ask_once(instance, q);
    open_acquisition acquisition(*this, instance, q);
    auto a = co_await ask_once(instance, q);
    acquisition.is_known = !a.is_lost();
    if (acquisition.is_known || a.is_late)
        co_return a;
    // Another instance would have to wait for a lock that this one has acquired.
    auto found = co_await find_acquired(instance, q);
    acquisition.is_known = found.has_value();
    co_return found && found->is_good() ? std::move(*found) : std::move(a);
}

asio::awaitable<service_answer> service_client::ask_once(std::size_t instance, service_request const& q)
{
    auto& to = instances_[instance];
    service_answer a{.from = to.url.name()};
    asio::steady_timer timer(executor_, q.limit);
    auto const first = co_await (exchange(executor_, to, q, std::min(q.limit, connect_timeout_), a)
                                 || timer.async_wait(runtime::as_result)
                                 || wait_for_silence(instance, !q.idempotency_key.empty()));
    if (first.index() != 0 && a.status == 0) {
        a.trouble = first.index() == 1 ? "no answer within " + in_words(q.limit) : "it stands still";
        a.is_late = true;
    }
    co_return a;
}

// An answer may take long, because a client waits for a lock. So an instance that does not answer a question on another
// connection stands still or is away. If no other instance answers either, an acquisition keeps its place in the queue.
asio::awaitable<void> service_client::wait_for_silence(std::size_t instance, bool has_place)
{
    indices others;
    for (std::size_t i = 0; i < size(); ++i) {
        if (i != instance)
            others.push_back(i);
    }
    if (has_place && others.empty())
        co_return co_await wait_for_ever();
    for (milliseconds silence = silence_at_first;; silence = silence_later) {
        co_await pause(silence);
        auto const seen = co_await look_at_one(instance, connect_timeout_);
        if (seen.is_there())
            continue;
        if (!has_place)
            co_return;
        auto const seen_of_others = co_await look_at(others, connect_timeout_);
        if (std::ranges::any_of(seen_of_others, &presence::is_there))
            co_return;
    }
}

asio::awaitable<void> service_client::pause(milliseconds d) const
{
    asio::steady_timer timer(executor_, d);
    co_await timer.async_wait(runtime::as_result);
}

// A request with the same key but without a body acquires nothing. The service refuses the key if it belongs to a lock,
// or to a request that is under way. Only then the whole request is repeated, to get the id of the lock. Otherwise it
// would wait for the lock once more.
asio::awaitable<std::optional<service_answer>> service_client::find_acquired(std::size_t instance, service_request q)
{
    q.limit = std::min(q.limit, find_limit);
    auto question = q;
    question.body.clear();
    for (int i = 0; i < finds_max; ++i) {
        co_await pause(find_pause);  // the service may not have noticed yet that the first connection has ended
        for (auto const* const next : {&question, &q}) {
            auto a = co_await ask_once(instance, *next);
            if (a.is("urn:redlock:key-reused") || a.is("urn:redlock:in-progress"))
                continue;
            co_return a.trouble.empty() ? std::optional(std::move(a)) : std::nullopt;
        }
    }
    co_return std::nullopt;
}

asio::awaitable<void> service_client::end(std::shared_ptr<service_client> self, std::size_t instance, service_request q)
{
    if (auto const found = co_await self->find_acquired(instance, std::move(q)))
        self->give_back(*found);
}

void service_client::give_back(service_answer const& a)
{
    auto const* const id = a.is_good() ? a.body.if_contains("id") : nullptr;
    if (id && id->is_string())
        asio::co_spawn(executor_, release(shared_from_this(), std::string(id->get_string())), asio::detached);
}

asio::awaitable<void> service_client::release(std::shared_ptr<service_client> self, std::string id)
{
    co_await self->ask(service_requests::release(id));
}

}  // namespace redlock::cli
