#include "tools/serve/session.hpp"

#include "tools/serve/answers.hpp"
#include "runtime/as_result.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/json/array.hpp>
#include <boost/json/serialize.hpp>

#include <utility>
#include <vector>

namespace redlock::serve {

namespace {

using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

constexpr auto look_time = 1s;
constexpr std::size_t waiters_max = 64;  // in one event

}  // namespace

session::session(asio::any_io_executor e, lock_manager& m, waiting_requests const& w, access const& who,
                 lock_ids const& ids, std::string id, std::string client, options how,
                 std::function<void(std::string const&)> lost)
    : executor_(e),
      manager_(m),
      waiting_(w),
      who_(who),
      ids_(ids),
      id_(std::move(id)),
      client_(std::move(client)),
      how_(how),
      lost_(std::move(lost)),
      events_(e, id_, how.grace > 0ms, [this](auto& token) { return told(token); }),
      grace_timer_(e),
      look_timer_(e)
{
    events_.add("session", {{"session", id_}, {"grace_ms", how_.grace.count()}});
}

void session::attached(std::size_t connection)
{
    connection_ = connection;
    grace_timer_.cancel();
    for (auto const& [token, l] : locks_)
        events_.tell_validity(token);
}

std::optional<event_queue::held_lock> session::told(std::string const& token) const
{
    auto const l = find(token);
    if (!l)
        return std::nullopt;
    return event_queue::held_lock{json_of(*l), l->handle.valid_until()};
}

boost::json::object session::json_of(session_lock const& l) const { return lock_ids::json_of(l.ticket, l.id); }

void session::add(std::shared_ptr<session_lock> l)
{
    l->number = ++added_;
    locks_.insert_or_assign(l->ticket.token, l);
    asio::co_spawn(
        executor_, [self = shared_from_this(), l] { return self->watch(l); }, asio::detached);
    if (how_.wanted && !std::exchange(looks_, true))
        asio::co_spawn(
            executor_, [self = shared_from_this()] { return self->look_for_waiters(); }, asio::detached);
}

std::shared_ptr<session_lock> session::find(std::string const& token) const
{
    auto const known = locks_.find(token);
    return known == locks_.end() ? nullptr : known->second;
}

std::shared_ptr<session_lock> session::take(std::string const& token)
{
    auto l = find(token);
    locks_.erase(token);
    if (l)
        l->timer.cancel();
    return l;
}

bool session::holds(session_lock const& l) const { return find(l.ticket.token).get() == &l; }

// The manager renews at a third of the ttl, so this looks a little later. If half of the ttl is over, the renewal has
// failed.
asio::awaitable<void> session::watch(std::shared_ptr<session_lock> l)
{
    auto told = l->handle.valid_until();  // by the answer to the request
    bool is_expiring = false;
    while (holds(*l)) {
        auto const now = clock::now(), until = l->handle.valid_until(), half = until - l->ttl / 2;
        if (until != std::exchange(told, until)) {
            is_expiring = false;
            events_.tell_validity(l->ticket.token);
        } else if (now >= half && !std::exchange(is_expiring, true)) {
            events_.add("expiring", json_of(*l), until);
        }
        auto const next = std::max(until - l->ttl * 5 / 8, now + std::max<clock::duration>(l->ttl / 24, 1ms));
        l->timer.expires_after((is_expiring ? next : std::min(next, half)) - now);
        auto const ended =
            co_await (l->handle.async_wait_lost(runtime::as_result) || l->timer.async_wait(runtime::as_result));
        auto const* const lost = std::get_if<0>(&ended);
        if (lost && std::get<0>(*lost) == errc::lost && holds(*l)) {
            take(l->ticket.token);
            events_.add("lost", json_of(*l), l->handle.valid_until());
            lost_(l->ticket.token);
        }
        if (lost)
            co_return;
    }
}

asio::awaitable<void> session::look_for_waiters()
{
    while (!over_ && !locks_.empty()) {
        look_timer_.expires_after(look_time);
        co_await look_timer_.async_wait(runtime::as_result);
        auto const all = locks_;
        for (auto const& [token, l] : all)
            co_await look_for_waiters_of(*l);
    }
    looks_ = false;
}

asio::awaitable<void> session::look_for_waiters_of(session_lock& l)
{
    boost::json::array waiters;
    for (auto const& name : l.ticket.resources) {
        if (!holds(l))
            co_return;
        if (waiters.size() == waiters_max)
            break;
        if (!who_.permits(client_, &grant::reads, name))
            continue;
        auto [ec, info] = co_await manager_.async_inspect(name, runtime::as_result);
        if (ec)
            co_return;
        auto const [first, last] = waiting_.all().equal_range(name);
        for (auto w = first; w != last && waiters.size() < waiters_max; ++w)
            waiters.push_back(serve::json_of(
                {.owner = w->second.owner, .note = w->second.note, .shares = w->second.mode == mode::shared}));
        for (auto w = info.waiters.begin(); w != info.waiters.end() && waiters.size() < waiters_max; ++w)
            waiters.push_back(serve::json_of(*w));
    }
    auto const text = boost::json::serialize(waiters);
    if (text != std::exchange(l.waiters, text) && !waiters.empty() && holds(l)) {
        auto data = json_of(l);
        data["waiters"] = std::move(waiters);
        events_.add("wanted", std::move(data));
    }
}

void session::wait_for_reconnection(std::uint64_t stream, std::function<void()> ends)
{
    grace_timer_.expires_after(how_.grace);
    grace_timer_.async_wait([this, ends = std::move(ends), stream](boost::system::error_code ec) {
        if (!ec && events_.is_current(stream))  // the client may have reconnected while this call was due
            ends();
    });
}

void session::end(at_end how)
{
    over_ = true;
    grace_timer_.cancel();
    look_timer_.cancel();
    for (auto const& [token, l] : std::exchange(locks_, {})) {
        boost::system::error_code ignored;
        if (how == at_end::leave)
            l->handle.detach(ignored);
        l->handle = lock();
        l->timer.cancel();
    }
    events_.close();
}

void session::stop()
{
    for (auto const& [token, l] : std::exchange(locks_, {})) {
        boost::system::error_code ec;
        auto const until = l->handle.valid_until();
        l->handle.detach(ec);
        if (ec)
            events_.add("lost", json_of(*l), until);
        l->handle = lock();
    }
    events_.add("stopping", {});
    end(at_end::release);
}

}  // namespace redlock::serve
