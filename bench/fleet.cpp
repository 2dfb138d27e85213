#include "fleet.hpp"

#include "redis/reply.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdexcept>
#include <string_view>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

namespace redlock::bench {

namespace {

int connect_unix(std::string const& path)
{
    int const s = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof address.sun_path - 1);
    if (::connect(s, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0)
        return s;
    ::close(s);
    return -1;
}

int connect_tcp(redis::url const& node)
{
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* found = nullptr;
    if (::getaddrinfo(node.host.c_str(), node.port.c_str(), &hints, &found) != 0)
        return -1;
    int s = -1;
    for (auto* a = found; a && s < 0; a = a->ai_next) {
        s = ::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (::connect(s, a->ai_addr, a->ai_addrlen) != 0) {
            ::close(s);
            s = -1;
        }
    }
    ::freeaddrinfo(found);
    if (s >= 0) {
        int const on = 1;
        ::setsockopt(s, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    }
    return s;
}

template <class T>
T number(std::string_view digits)
{
    T value{};
    std::from_chars(digits.data(), digits.data() + digits.size(), value);
    return value;
}

std::unique_ptr<testbed::plain_client> observe(redis::url const& node)
{
    return std::make_unique<testbed::plain_client>(testbed::plain_client::connected{connect_to(node)});
}

}  // namespace

int connect_to(redis::url const& node)
{
    int const s = node.transport == redis::transport::unix_socket ? connect_unix(node.path) : connect_tcp(node);
    if (s < 0)
        throw std::runtime_error(fmt::format("cannot connect to {}: {}", node.name(), std::strerror(errno)));
    testbed::plain_client client(testbed::plain_client::connected{::dup(s)});
    auto const say = [&](std::vector<std::string> const& command) {
        auto const reply = client.ask(command);
        if (!reply.empty() && reply[0] == '-') {
            ::close(s);
            throw std::runtime_error(fmt::format("{} refuses {}: {}", node.name(), command[0], redis::presentable(reply.substr(1), {node.password})));
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

fleet::fleet(std::vector<std::string> urls) : urls_(std::move(urls))
{
    look_up_addresses();
}

void fleet::look_up_addresses()
{
    for (auto const& u : urls_) {
        auto address = redis::parse_url(u);
        if (!address.wrong.empty())
            throw std::runtime_error("nodes: " + address.wrong);
        if (address.transport == redis::transport::tls || address.transport == redis::transport::memory)
            throw std::runtime_error(fmt::format(
                "nodes: {}: the floor, a raw client, speaks neither TLS nor memory://; name a plain port", address.name()));
        addresses_.push_back(std::move(address));
    }
    for (auto const& a : addresses_)
        observers_.push_back(observe(a));
}

std::string fleet::version()
{
    auto const info = observers_.front()->ask({"INFO", "server"});
    if (auto const valkey = redis::value_after(info, "valkey_version:"); !valkey.empty())
        return fmt::format("Valkey {}", valkey);
    return fmt::format("Redis {}", redis::value_after(info, "redis_version:"));
}

fleet::counters fleet::count()
{
    // What a client sends for its locks. The servers count what a script calls, too: each `contend` one SET, and one of the others.
    constexpr std::array sent{"set", "evalsha", "eval", "delifeq", "delex", "zadd", "zincrby", "client|caching"};
    constexpr std::array called{"hset", "hdel"};
    counters sum;
    for (std::size_t i = 0; i < size(); ++i) {
        if (own(i) && own(i)->pid() <= 0)
            continue;  // it was killed
        try {
            auto const info = observers_[i]->ask({"INFO", "everything"});
            auto const calls = [&](auto const* name) {
                return number<std::uint64_t>(redis::value_after(info, fmt::format("cmdstat_{}:calls=", name), ","));
            };
            for (auto const* name : sent)
                sum.commands += calls(name);
            for (auto const* name : called)
                sum.commands -= calls(name);
            sum.reads += number<std::uint64_t>(redis::value_after(info, "total_reads_processed:"));
            sum.cpu_seconds += number<double>(redis::value_after(info, "used_cpu_sys:")) + number<double>(redis::value_after(info, "used_cpu_user:"));
        } catch (std::runtime_error const&) {  // it was killed since, and is there again
            observers_[i] = observe(addresses_[i]);
        }
    }
    return sum;
}

}  // namespace redlock::bench
