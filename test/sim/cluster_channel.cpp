#include "sim/cluster.hpp"
#include "sim/process.hpp"
#include "sim/world.hpp"
#include "stores/etcd/refusal.hpp"

#include <redlock/error.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <utility>

namespace redlock::sim {

namespace {

namespace json = etcd_v3::json;
using etcd_v3::answer;

constexpr auto as_result = asio::as_tuple(asio::use_awaitable);

}  // namespace

cluster_channel::cluster_channel(world& w, process& p, cluster& c, asio::any_io_executor on)
    : world_(w), process_(p), cluster_(c), executor_(std::move(on)), wire_(std::make_shared<wire>(w, p, c)), ready_(executor_)
{
    wire_->start(executor_, *this);
}

asio::awaitable<node_reply> cluster_channel::open()
{
    state_ = state::opening;
    wire_->open();
    while (state_ == state::opening) {
        ready_->expires_at(clock::time_point::max());
        co_await ready_->async_wait(as_result);
    }
    co_return state_ == state::open ? node_reply() : node_reply{.untouched = true, .error = errc::node_unreachable, .text = why_};
}

void cluster_channel::opened(std::shared_ptr<client> const& there)
{
    state_ = there ? state::open : state::closed;
    there_ = there;
    if (there)
        process_.contact_changed(cluster_);
    else
        why_ = "no connection";
    ready_->cancel();
}

// Who talks to a leader that is none any more waits.
asio::awaitable<answer> cluster_channel::ask(std::string_view path, std::string body, std::string_view, std::chrono::milliseconds patience)
{
    if (state_ == state::open) {
        auto const weak = weak_from_this();
        auto carry_out = [weak, &c = cluster_, path = std::string(path), body = std::move(body)](auto const&) -> std::function<void()> {
            return [weak, said = json::serialize(c.carry_out(path, body))] {
                if (auto const self = weak.lock())
                    self->told(said);
            };
        };
        wire_->send({.carry_out = std::move(carry_out), .lost = [] {}, .waits = [from = process_.index(), &c = cluster_] { return c.behind_until(from); }});
    }
    return next(clock::now() + patience, false);
}

asio::awaitable<answer> cluster_channel::stream(std::string_view, std::string first, std::string_view, std::chrono::milliseconds patience)
{
    send(std::move(first));
    return next(clock::now() + patience, true);
}

asio::awaitable<void> cluster_channel::write(std::string message)
{
    send(std::move(message));
    co_return;
}

asio::awaitable<answer> cluster_channel::read()
{
    return next(clock::time_point::max(), true);
}

void cluster_channel::send(std::string message)
{
    if (state_ != state::open)
        return;
    // Of what has been decided since, a member that is behind hears when it is behind no more.
    auto tell = [&w = world_, &c = cluster_, to = process_.index(), there = there_](std::string const& what) {
        w.at(c.behind_until(to), [there, what] {
            if (auto const alive = there.lock())
                alive->tell(what);
        });
    };
    auto carry_out = [&c = cluster_, there = there_, message = std::move(message), tell](auto const&) -> std::function<void()> {
        c.hear(there, message, tell);
        return [] {};
    };
    wire_->send({.carry_out = std::move(carry_out), .lost = [] {}});
}

// What is heard next.
asio::awaitable<answer> cluster_channel::next(clock::time_point limit, bool untouched)
{
    while (state_ == state::open && heard_.empty() && clock::now() < limit) {
        ready_->expires_at(limit);
        co_await ready_->async_wait(as_result);
    }
    if (!heard_.empty()) {
        auto const said = json::parse(heard_.front()).as_object();
        heard_.pop_front();
        co_return said.contains("error") ? answer{{}, etcd_v3::refusal(said)} : answer{said, {}};
    }
    if (state_ == state::open)
        why_ = "it has stopped answering";
    close();
    co_return answer{{}, {.untouched = untouched, .error = untouched ? errc::node_unreachable : errc::connection_lost, .text = why_}};
}

void cluster_channel::told(std::string const& message)
{
    heard_.push_back(message);
    ready_->cancel();
}

void cluster_channel::broken(std::string_view why, std::vector<std::function<void()>>)
{
    state_ = state::closed;
    why_ = why;
    ready_->cancel();
}

void cluster_channel::close()
{
    state_ = state::closed;
    wire_->leave();
    ready_->cancel();
}

}  // namespace redlock::sim
