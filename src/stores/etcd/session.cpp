#include "stores/etcd/session.hpp"

#include "core/told_time.hpp"
#include "net/log_in.hpp"
#include "net/secrets.hpp"
#include "runtime/as_result.hpp"
#include "stores/etcd/layout.hpp"
#include "stores/etcd/watches.hpp"

#include <redlock/error.hpp>

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

namespace redlock::stores::etcd {

namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t key_watch = std::uint64_t(1) << 32;  // the owner uses lower numbers
constexpr unsigned beats_max = 3;

asio::awaitable<void> wait_until(timer& t, clock::time_point when)
{
    t.expires_at(when);
    co_await t.async_wait(runtime::as_result);
}

// Whether a connection cannot be used after the answer: the outcome of a request is unknown, or the token is not valid.
bool is_useless_after(answer const& a) { return a.why.error && (!a.why.untouched || a.missing == missing::token); }

}  // namespace

session::session(asio::any_io_executor e, std::shared_ptr<server const> where, std::shared_ptr<address const> a,
                 std::shared_ptr<leases> l, std::uint32_t number, surroundings const& outside, owner& o)
    : server_(std::move(where)),
      address_(std::move(a)),
      leases_(std::move(l)),
      number_(number),
      owner_(&o),
      commands_(outside.make_transport(e, server_)),
      keeper_(outside.make_transport(e, server_)),
      watcher_(outside.make_transport(e, server_)),
      wake_(e),
      due_(e),
      beat_(e)
{
}

asio::awaitable<node_reply> session::run()
{
    auto const self = shared_from_this();
    if (auto why = co_await greet(); why.error)
        end(std::move(why));
    if (owner_)
        owner_->up();
    if (owner_) {
        auto const e = co_await asio::this_coro::executor;
        if (!leases_->reads_only())
            asio::co_spawn(e, keep_lease_alive(self), asio::detached);
        asio::co_spawn(e, hear(self), asio::detached);
        asio::co_spawn(e, talk(self), asio::detached);
    }
    co_await send();
    co_return why_;
}

// The greeting: authenticate, get a lease, and make this connection the one that counts.

asio::awaitable<node_reply> session::greet()
{
    auto why = co_await commands_->open();
    if (!why.error && owner_)
        why = co_await authenticate();
    if (why.error || !owner_)
        co_return why;
    auto opened = co_await take_over();
    if (opened.why.error || !owner_)
        co_return opened.why;
    why = owner_->check_server(opened.content);
    if (why.error || !owner_)
        co_return why;
    co_return co_await open_others();
}

asio::awaitable<node_reply> session::authenticate()
{
    credentials who;
    try {
        who = net::log_in(address_->credentials,
                          {.node = address_->name, .in_address = {address_->user, address_->password}});
    } catch (std::exception const& e) {
        co_return node_reply{.untouched = true, .error = errc::node_unreachable, .text = e.what()};
    }
    if (who.user.empty())
        co_return node_reply{};
    for (auto const& c : {commands_, keeper_, watcher_})
        c->hide(std::string(net::secret_of(who.password, who.user)));
    auto body = json::serialize(json::object{{"name", who.user}, {"password", who.password}});
    auto const a = co_await commands_->ask("/v3/auth/authenticate", std::move(body), {},
                                           server_->connect_timeout + address_->options.timeout);
    token_ = text_in(a.content, "token");
    co_return a.missing == missing::authentication ? node_reply{} : a.why;
}

asio::awaitable<answer> session::take_over()
{
    auto const timeout = server_->connect_timeout + address_->options.timeout;
    if (leases_->reads_only()) {
        auto const look = transaction_text{{}, {get(leases_->key())}, {}}.request();
        co_return co_await commands_->ask("/v3/kv/txn", look, token_, timeout);
    }
    for (;;) {
        if (!leases_->open()) {
            auto const sent = clock::now();
            auto a = co_await grant(*commands_, timeout);
            if (a.why.error || !owner_)
                co_return a;
            leases_->begin(std::string(text_in(a.content, "ID")),
                           core::told_time<std::chrono::seconds>(number_in(a.content, "TTL")), sent);
        }
        auto const count_me = transaction_text{{}, {raise_to(leases_->key(), number_, leases_->lease())}, {}}.request();
        auto a = co_await commands_->ask("/v3/kv/txn", count_me, token_, timeout);
        if (!a.why.error || !owner_ || a.missing != missing::lease)
            co_return a;
        owner_->lost();
        if (!owner_)
            co_return a;
    }
}

asio::awaitable<node_reply> session::open_others()
{
    node_reply why;
    if (!leases_->reads_only())
        why = co_await keeper_->open();
    if (!why.error && owner_)
        why = co_await watcher_->open();
    if (why.error || !owner_)
        co_return why;
    auto const first = co_await watcher_->begin_stream("/v3/watch", watch_message(leases_->key(), key_watch, -1),
                                                       token_, server_->connect_timeout + address_->options.timeout);
    auto const& result = object_in(first.content, "result");
    if (is_true(result, "canceled"))
        co_return refusal(json::object{{"error", text_in(result, "cancel_reason")}}).why;
    if (first.why.error == errc::node_unreachable)
        co_return node_reply{
            .untouched = true, .error = first.why.error, .text = "it does not stream /v3/watch: " + first.why.text};
    co_return first.why;
}

// Transactions, one after the other.

asio::awaitable<void> session::send()
{
    while (owner_) {
        auto request = owner_->next();
        if (!owner_)
            break;
        if (request.empty()) {
            co_await wait_until(wake_, clock::time_point::max());
            continue;
        }
        auto a = co_await commands_->ask("/v3/kv/txn", std::move(request), token_, 3 * address_->options.timeout);
        if (!owner_)
            break;
        auto const why = a.why;
        bool const is_over = is_useless_after(a);
        owner_->answered(std::move(a));
        if (is_over)
            end(why);
    }
}

void session::wake() { wake_.cancel(); }

// Leases.

asio::awaitable<answer> session::grant(transport& on, std::chrono::milliseconds timeout)
{
    return on.ask("/v3/lease/grant", fmt::format(R"({{"TTL":"{}"}})", address_->options.session.count()), token_,
                  timeout);
}

asio::awaitable<void> session::keep_lease_alive(std::shared_ptr<session> self)
{
    auto& s = *self;
    while (s.owner_) {
        if (auto const due = s.leases_->due(); clock::now() < due) {
            co_await wait_until(s.due_, due);
            continue;
        }
        auto const sent = clock::now();
        auto const a = co_await s.grant(*s.keeper_, s.leases_->ttl() / 3);
        if (!s.owner_)
            co_return;
        if (is_useless_after(a))
            co_return s.end(a.why);
        if (a.why.error) {  // for example, the database is full; releases still work
            s.ask_again_soon();
            continue;
        }
        s.leases_->renew(std::string(text_in(a.content, "ID")),
                         core::told_time<std::chrono::seconds>(number_in(a.content, "TTL")), sent);
        s.wake();
    }
}

void session::ask_again_soon()
{
    leases_->ask_again_at(clock::now() + leases_->ttl() / 20);
    due_.cancel();
}

void session::lose()
{
    if (owner_)
        owner_->lost();
    end({.untouched = true, .error = errc::node_unreachable, .text = "its lease has ended"});
}

// Watches.

void session::watch(std::string message)
{
    messages_.push_back(std::move(message));
    beat_.cancel();
}

asio::awaitable<void> session::talk(std::shared_ptr<session> self)
{
    auto& s = *self;
    for (auto next_beat = clock::now() + s.address_->options.timeout; s.owner_;) {
        if (s.messages_.empty())
            co_await wait_until(s.beat_, next_beat);
        if (!s.owner_)
            co_return;
        if (clock::now() >= next_beat) {
            if (++s.unanswered_beats_ > beats_max)
                co_return s.end(
                    {.untouched = true, .error = errc::node_unreachable, .text = "it has stopped answering"});
            s.messages_.push_back(R"({"progress_request":{}})");
            next_beat = clock::now() + s.address_->options.timeout;
        }
        while (!s.messages_.empty() && s.owner_) {
            auto message = std::move(s.messages_.front());
            s.messages_.pop_front();
            co_await s.watcher_->write(std::move(message));
        }
    }
}

asio::awaitable<void> session::hear(std::shared_ptr<session> self)
{
    auto& s = *self;
    while (s.owner_) {
        auto const a = co_await s.watcher_->read();
        if (!s.owner_)
            co_return;
        if (a.why.error)
            co_return s.end(a.why);
        s.unanswered_beats_ = 0;
        s.read(object_in(a.content, "result"));
    }
}

void session::read(json::object const& result)
{
    auto const watch = static_cast<std::uint64_t>(number_in(result, "watch_id"));
    if (is_true(result, "canceled"))
        return owner_->touched(watch, 0);
    for (std::size_t i = 0; owner_; ++i) {
        auto const& event = object_in(result, "events", i);
        if (event.empty())
            return;
        if (watch == key_watch)
            return lose();
        owner_->touched(watch, number_in(object_in(event, "kv"), "mod_revision"));
    }
}

// The end.

void session::end(node_reply why)
{
    if (!owner_)
        return;
    why_ = std::move(why);
    close();
}

void session::close_transports()
{
    for (auto const& c : {commands_, keeper_, watcher_})
        c->close();
}

void session::close()
{
    owner_ = nullptr;
    close_transports();
    for (auto* const t : {&wake_, &due_, &beat_})
        t->cancel();
}

void session::end_leases()
{
    owner_ = nullptr;
    for (auto const& c : {keeper_, watcher_})
        c->close();
    for (auto* const t : {&wake_, &due_, &beat_})
        t->cancel();
    asio::co_spawn(wake_.get_executor(), revoke(shared_from_this()), asio::detached);
}

asio::awaitable<void> session::revoke(std::shared_ptr<session> self)
{
    for (auto const& lease : self->leases_->all())
        co_await self->commands_->ask("/v3/lease/revoke", fmt::format(R"({{"ID":"{}"}})", lease), self->token_,
                                      self->address_->options.timeout);
    self->commands_->close();
}

}  // namespace redlock::stores::etcd
