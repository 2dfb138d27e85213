#include "fleet.hpp"

#include "net/secrets.hpp"
#include "stores/redis/reply.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <fcntl.h>
#include <stdexcept>
#include <string_view>
#include <unistd.h>

namespace redlock::bench {

namespace asio = boost::asio;

namespace {

int connect_blocking(net::url const& node)
{
    asio::io_context context;
    if (node.transport == net::transport::unix_socket) {
        asio::local::stream_protocol::socket s(context);
        s.connect(node.path);
        return s.release();
    }
    asio::ip::tcp::socket s(context);
    asio::connect(s, asio::ip::tcp::resolver(context).resolve(node.host, node.port));
    s.set_option(asio::ip::tcp::no_delay(true));
    return s.release();
}

template <class T>
T number(std::string_view digits)
{
    T value{};
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

std::unique_ptr<testbed::plain_client> observe(net::url const& node)
{
    return std::make_unique<testbed::plain_client>(testbed::plain_client::connected{connect_to(node)});
}

}  // namespace

int connect_to(net::url const& node)
{
    int s = -1;
    try {
        s = connect_blocking(node);
    } catch (boost::system::system_error const& e) {
        throw std::runtime_error(fmt::format("cannot connect to {}: {}", node.name(), e.code().message()));
    }
    ::fcntl(s, F_SETFD, FD_CLOEXEC);
    testbed::plain_client client(testbed::plain_client::connected{::dup(s)});
    auto const say = [&](std::vector<std::string> const& command) {
        auto const reply = client.ask(command);
        if (!reply.empty() && reply[0] == '-') {
            ::close(s);
            throw std::runtime_error(fmt::format("{} refuses {}: {}", node.name(), command[0],
                                                 net::presentable(reply.substr(1), {node.password})));
        }
    };
    if (!node.password.empty())
        say({"AUTH", node.user.empty() ? "default" : node.user, node.password});
    if (node.database != 0)
        say({"SELECT", std::to_string(node.database)});
    return s;
}

fleet::fleet(std::size_t count, std::string const& program)
{
    for (std::size_t i = 0; i < count; ++i) {
        own_.push_back(std::make_unique<testbed::local_server>(std::vector<std::string>{}, program));
        urls_.push_back(own_.back()->url());
    }
    look_up_addresses();
}

fleet::fleet(std::vector<std::string> urls) : urls_(std::move(urls)) { look_up_addresses(); }

void fleet::look_up_addresses()
{
    for (auto const& u : urls_) {
        auto address = net::parse_url(u);
        if (!address.wrong.empty())
            throw std::runtime_error("nodes: " + address.wrong);
        if (address.transport == net::transport::tls || address.transport == net::transport::memory
            || address.topology != net::topology::server)
            throw std::runtime_error(fmt::format("nodes: {}: the floor, a raw client, speaks neither TLS nor "
                                                 "memory://, and asks no Sentinel or cluster; name a plain port",
                                                 address.name()));
        addresses_.push_back(std::move(address));
    }
    for (auto const& a : addresses_)
        observers_.push_back(observe(a));
}

std::string fleet::version()
{
    auto const info = observers_.front()->ask({"INFO", "server"});
    if (auto const valkey = stores::redis::value_after(info, "valkey_version:"); !valkey.empty())
        return fmt::format("Valkey {}", valkey);
    return fmt::format("Redis {}", stores::redis::value_after(info, "redis_version:"));
}

fleet::counters fleet::count()
{
    // These commands are sent for locks. The servers also count the calls of scripts: each `contend` calls SET, and
    // HSET or HDEL, so those calls are subtracted from the SETs. An acquisition of any one of several locks calls HSET
    // or HDEL for each lock, so the difference may be too low.
    constexpr std::array sent{"evalsha", "eval", "delifeq", "delex", "zadd", "zincrby", "client|caching", "exists"};
    constexpr std::array called{"hset", "hdel"};
    counters sum;
    for (std::size_t i = 0; i < size(); ++i) {
        if (own(i) && own(i)->pid() <= 0)
            continue;  // the server is killed
        try {
            auto const info = observers_[i]->ask({"INFO", "everything"});
            auto const calls = [&](auto const* name) {
                return number<std::uint64_t>(
                    stores::redis::value_after(info, fmt::format("cmdstat_{}:calls=", name), ","));
            };
            for (auto const* name : sent)
                sum.commands += calls(name);
            auto sets = calls("set");
            for (auto const* name : called)
                sets -= std::min(sets, calls(name));
            sum.commands += sets;
            sum.reads += number<std::uint64_t>(stores::redis::value_after(info, "total_reads_processed:"));
            sum.cpu_seconds += number<double>(stores::redis::value_after(info, "used_cpu_sys:"))
                               + number<double>(stores::redis::value_after(info, "used_cpu_user:"));
        } catch (std::runtime_error const&) {  // the server was restarted, so the connection broke
            observers_[i] = observe(addresses_[i]);
        }
    }
    return sum;
}

}  // namespace redlock::bench
