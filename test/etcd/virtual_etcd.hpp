#pragma once

#include "stores/etcd/etcd_node.hpp"
#include "stores/etcd/refusal.hpp"
#include "support/etcd_gateway.hpp"

#include <redlock/error.hpp>
#include <redlock/manager_options.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/json/parse.hpp>

#include <chrono>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::test {

/// An etcd server in the test's own event loop. With a virtual_clock, waiting for its leases takes no time.
class virtual_etcd final : public etcd_gateway {
public:
    explicit virtual_etcd(boost::asio::io_context& context) : etcd_gateway("1"), look_(context.get_executor())
    {
        look_later();
    }

    bool has(std::string const& key) const { return all().contains(key); }

    object refusal() const { return error("etcdserver: too many requests", 8); }

    /// A leader that was paused at @p stopped goes on.
    void resume_leader(clock::time_point stopped)
    {
        for (auto const& id : leases_that_a_stopped_leader_ends(stopped))
            end(id);
    }

private:
    clock::time_point time() const override { return clock::now(); }

    // The server looks for expired leases twice a second.
    void look_later()
    {
        look_.expires_after(std::chrono::milliseconds(500));
        look_.async_wait([this](boost::system::error_code ec) {
            if (ec)
                return;
            for (auto const& id : leases_that_are_over())
                end(id);
            look_later();
        });
    }

    stores::etcd::timer look_;
};

/// Faults of the network between a node and the server.
struct etcd_network {
    bool half_open = false;  ///< nothing arrives, in either direction
    std::string refused{};   ///< the server refuses requests that contain this text
};

/// The connection of a node to the server, in the place of HTTP.
class virtual_transport final : public stores::etcd::transport, public std::enable_shared_from_this<virtual_transport> {
public:
    virtual_transport(boost::asio::any_io_executor on, virtual_etcd& s, etcd_network& n)
        : server_(s), network_(n), ready_(std::move(on))
    {
    }

    boost::asio::awaitable<node_reply> open() override
    {
        if (network_.half_open)
            co_await wait(clock::now() + std::chrono::seconds(1));
        closed_ = closed_ || network_.half_open;
        co_return closed_ ? node_reply{.untouched = true, .error = errc::node_unreachable, .text = "no connection"}
                          : node_reply();
    }

    boost::asio::awaitable<stores::etcd::answer> ask(std::string_view path, std::string body, std::string_view,
                                                     std::chrono::milliseconds timeout) override
    {
        auto const limit = clock::now() + timeout;
        if (!closed_ && !network_.half_open)
            heard_.push_back(is_refused(body) ? server_.refusal() : server_.carry_out(path, body));
        return next(limit);
    }

    boost::asio::awaitable<stores::etcd::answer> begin_stream(std::string_view, std::string first, std::string_view,
                                                              std::chrono::milliseconds timeout) override
    {
        auto const limit = clock::now() + timeout;
        send(first);
        return next(limit);
    }

    boost::asio::awaitable<void> write(std::string message) override
    {
        send(message);
        co_return;
    }

    boost::asio::awaitable<stores::etcd::answer> read() override { return next(clock::time_point::max()); }

    void close() override
    {
        closed_ = true;
        ready_.cancel();
    }

private:
    bool is_refused(std::string const& body) const
    {
        return !network_.refused.empty() && body.find(network_.refused) != body.npos;
    }

    void send(std::string const& message)
    {
        if (closed_ || network_.half_open)
            return;
        server_.hear(weak_from_this(), message, [this, weak = weak_from_this()](std::string const& said) {
            auto const self = weak.lock();
            if (!self || closed_ || network_.half_open)
                return;
            heard_.push_back(boost::json::parse(said).as_object());
            ready_.cancel();
        });
    }

    boost::asio::awaitable<stores::etcd::answer> next(clock::time_point limit)
    {
        while (!closed_ && heard_.empty() && clock::now() < limit)
            co_await wait(limit);
        if (closed_ || heard_.empty()) {
            closed_ = true;
            co_return stores::etcd::answer{{}, {.error = errc::connection_lost, .text = "it has stopped answering"}};
        }
        auto const said = std::move(heard_.front());
        heard_.pop_front();
        co_return said.contains("error") ? stores::etcd::refusal(said) : stores::etcd::answer{said, {}};
    }

    boost::asio::awaitable<void> wait(clock::time_point limit)
    {
        ready_.expires_at(limit);
        co_await ready_.async_wait(boost::asio::as_tuple(boost::asio::use_awaitable));
    }

    virtual_etcd& server_;
    etcd_network& network_;
    stores::etcd::timer ready_;
    std::deque<stores::etcd::json::object> heard_;
    bool closed_ = false;
};

/// The shipped node, on this network.
inline std::shared_ptr<node> make_virtual_node(virtual_etcd& s, etcd_network& n, std::chrono::seconds session,
                                               manager_options const& c = {})
{
    stores::etcd::address where{.name = "etcd://virtual",
                                .members = {{.host = "virtual"}},
                                .user = {},
                                .password = {},
                                .options = {.session = session, .timeout = std::chrono::seconds(1)}};
    auto make_transport = [&s, &n](boost::asio::any_io_executor on, auto const&) {
        return std::make_shared<virtual_transport>(std::move(on), s, n);
    };
    return stores::etcd::make_etcd_node(std::move(where), c, {.claim = [](auto&, auto&) { return std::string(); }},
                                        {.make_transport = std::move(make_transport), .seed = 1});
}

/// The settings of a manager with one such node.
inline manager_options virtual_settings(virtual_etcd& s, etcd_network& n, std::chrono::seconds session)
{
    store one{.schemes = {"virtual"},
              .make = [&s, &n, session](std::string_view, manager_options const& c, store_context const&) {
                  return make_virtual_node(s, n, session, c);
              }};
    return {.nodes = {"virtual://one"}, .stores = {std::move(one)}, .node_timeout = std::chrono::seconds(3)};
}

}  // namespace redlock::test
