#include "stores/redis/sentinel_transport.hpp"

#include "stores/redis/decoder.hpp"
#include "net/url_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <string>
#include <utility>

namespace redlock::stores::redis {

namespace {

class sentinel_transport final : public transport, transport::owner, inquiry::owner {
public:
    sentinel_transport(net::url const& server, manager_options const& c, transport_factory make_transport)
        : server_(server),
          make_transport_(std::move(make_transport)),
          inquiry_(sentinels_of(server), true, ask_for_master(server.service), c, make_transport_, *this)
    {
    }
    ~sentinel_transport() override { abandon(); }

    void start(std::shared_ptr<runtime::runtime> const& by, transport::owner& o) override
    {
        runtime_ = by;
        owner_ = &o;
        inquiry_.start(by);
    }

    void open(std::shared_ptr<batch> greeting) override
    {
        waiting_ = std::move(greeting);
        inquiry_.ask();
    }

    void server_accepted() override { way_->server_accepted(); }
    void send(std::shared_ptr<batch> const& b) override { way_->send(b); }

    void cut() override
    {
        if (way_)
            way_->cut();
    }

    void close() override
    {
        owner_ = nullptr;
        inquiry_.close();
        if (way_)
            way_->close();
        drop_references();
    }

    void abandon() override
    {
        owner_ = nullptr;
        inquiry_.abandon();
        if (way_)
            way_->abandon();
        drop_references();
    }

private:
    void drop_references()
    {
        waiting_.reset();
        runtime_.reset();
    }

    // Answers of the Sentinels

    node_reply answered(reply const& answer, net::url const&) override
    {
        net::place master;
        auto why = read_master(answer, server_.service, master);
        if (why.error)
            return why;
        if (waiting_) {
            connect(master);
        } else if (way_ && master != master_) {
            why_left_ = "the Sentinels have another master, " + net::to_string(master);
            way_->cut();
        }
        return {};
    }

    void nobody_knows(node_reply why) override
    {
        if (std::exchange(waiting_, {}))
            owner_->ended({.error = why.error, .text = "no Sentinel tells who the master is: " + why.text});
    }

    void connect(net::place const& master)
    try {
        if (!way_ || master != master_) {
            auto const way = make_transport_(server_.of(master));
            if (way_)
                way_->close();
            way_ = way;
            master_ = master;
            way_->start(runtime_, *this);
        }
        why_left_.clear();
        way_->open(std::exchange(waiting_, {}));
    } catch (std::exception const& e) {  // e.g. no certificate fits the address, or no memory
        waiting_.reset();
        owner_->ended({.error = errc::node_unreachable, .text = e.what()});
    }

    // Events of the transport to the master

    void connecting() override { owner_->connecting(); }

    void answered(std::shared_ptr<batch> const& b) override
    {
        auto const deposed = std::any_of(b->replies.begin(), b->replies.end(), [](auto& r) { return is_deposed(r); });
        owner_->answered(b);
        if (deposed && owner_) {
            why_left_ = "it is a replica now";
            way_->cut();
        }
    }

    void push_arrived(std::string_view key) override { owner_->push_arrived(key); }
    void changed(std::string_view key) override { owner_->changed(key); }

    void ended(node_reply why) override
    {
        if (!why_left_.empty())
            why.text = std::exchange(why_left_, {});
        else
            why.text = net::to_string(master_) + ": " + why.text;
        owner_->ended(std::move(why));
    }

    net::url const server_;
    transport_factory const make_transport_;
    inquiry inquiry_;
    std::shared_ptr<runtime::runtime> runtime_;
    transport::owner* owner_ = nullptr;  ///< null after close or abandon
    std::shared_ptr<batch> waiting_;     ///< the greeting for the master, until the master is known
    net::place master_;                  ///< the server that `way_` leads to
    std::shared_ptr<transport> way_;
    std::string why_left_;
};

}  // namespace

std::vector<net::url> sentinels_of(net::url const& u)
{
    std::vector<net::url> all;
    for (auto const& p : u.asked) {
        auto sentinel = u.of(p);
        sentinel.user = u.sentinel_user;
        sentinel.password = u.sentinel_password;
        sentinel.database = 0;
        sentinel.transport = u.sentinel_transport.value_or(u.transport);
        all.push_back(std::move(sentinel));
    }
    return all;
}

redis::request ask_for_master(std::string_view service)
{
    redis::request r;
    r.push("SENTINEL", "GET-MASTER-ADDR-BY-NAME", service);
    return r;
}

node_reply read_master(reply const& answer, std::string_view service, net::place& master)
{
    if (answer.is_error()) {
        auto r = decode_error(answer.text);
        if (r.error == errc::server_error && r.untouched)
            return {.error = errc::unsupported_server, .text = "this is no Sentinel"};
        return r;
    }
    if (answer.type == redlock::stores::redis::resp::type::null)
        return {.error = errc::node_unreachable, .text = fmt::format("it knows no master by the name \"{}\"", service)};
    if (answer.elements.size() != 2)
        return {.error = errc::unexpected_reply, .text = "its answer contains no address"};
    auto const& host = answer.elements[0];
    auto const port = net::to_number(answer.elements[1], 1, 65'535);
    if (host.empty() || !(net::is_host_name(host) || net::is_v6_address(host)) || !port)
        return {.error = errc::unexpected_reply, .text = "its answer is not an address"};
    master = {host, std::to_string(*port)};
    return {};
}

bool is_deposed(reply const& r) noexcept { return r.is_error() && r.text.starts_with("READONLY"); }

std::shared_ptr<transport> make_sentinel_transport(net::url const& server, manager_options const& c,
                                                   transport_factory make_transport)
{
    return std::make_shared<sentinel_transport>(server, c, std::move(make_transport));
}

}  // namespace redlock::stores::redis
