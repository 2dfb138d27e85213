#include "stores/make_node.hpp"

#include "net/url.hpp"
#include "net/url_text.hpp"
#include "stores/memory/memory_connection.hpp"
#include "stores/redis/cluster_node.hpp"
#include "stores/redis/redis_node.hpp"
#include "stores/redis/sentinel_transport.hpp"
#include "stores/redis/socket_transport.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::stores {

namespace {

using namespace std::string_view_literals;

constexpr std::array always_known{"redis"sv,          "rediss"sv,          "valkey"sv,          "valkeys"sv,
                                  "redis-sentinel"sv, "rediss-sentinel"sv, "valkey-sentinel"sv, "valkeys-sentinel"sv,
                                  "redis-cluster"sv,  "rediss-cluster"sv,  "valkey-cluster"sv,  "valkeys-cluster"sv,
                                  "unix"sv,           "memory"sv};

// Schemes of the library's optional components. A program that links a component adds it to manager_options::stores.
constexpr std::pair<std::string_view, std::string_view> components[] = {
    {"postgresql"sv, "postgresql"sv}, {"postgres"sv, "postgresql"sv}, {"mysql"sv, "mysql"sv},
    {"mariadb"sv, "mysql"sv},         {"etcd"sv, "etcd"sv},           {"etcds"sv, "etcd"sv},
    {"zookeeper"sv, "zookeeper"sv},
};

[[noreturn]] void refuse(std::string const& what) { throw std::invalid_argument("redlock::manager_options: " + what); }

std::string_view scheme_of(std::string_view url)
{
    auto const end = url.find("://");
    return end == url.npos ? std::string_view() : url.substr(0, end);
}

std::map<std::string, store const*, std::less<>> by_scheme(manager_options const& c)
{
    std::map<std::string, store const*, std::less<>> known;
    for (std::size_t i = 0; i < c.stores.size(); ++i) {
        auto const& s = c.stores[i];
        if (s.schemes.empty() || !s.make)
            refuse(fmt::format("stores[{}] has no {}", i, s.make ? "schemes" : "make"));
        for (auto const& scheme : s.schemes) {
            if (scheme.empty() || scheme.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789+.-") != scheme.npos)
                refuse(fmt::format(
                    "stores[{}] has the scheme \"{}\", but schemes are lower-case letters, digits and +.-", i, scheme));
            if (std::find(always_known.begin(), always_known.end(), scheme) != always_known.end())
                refuse(fmt::format("stores[{}] has the scheme \"{}\", which is always known", i, scheme));
            if (!known.emplace(scheme, &s).second)
                refuse(fmt::format("stores[{}] has the scheme \"{}\", which is listed twice", i, scheme));
        }
    }
    return known;
}

void refuse_component(std::string_view scheme, std::size_t i)
{
    auto const* const known =
        std::find_if(std::begin(components), std::end(components), [&](auto& c) { return c.first == scheme; });
    if (known != std::end(components))
        refuse(fmt::format("nodes[{0}]: {1}:// is in the component redlock::{2}: link it, and name it in "
                           "manager_options::stores: {{redlock::{2}()}}",
                           i, scheme, known->second));
}

std::shared_ptr<node> make_known(net::url const& url, manager_options const& c,
                                 std::shared_ptr<redis::group> const& group)
{
    if (url.transport == net::transport::memory)
        return memory::make_memory_connection(url.host, c.test_clock);
    auto const to_server = [c](net::url const& server) { return redis::make_socket_transport(server, c); };
    if (url.topology == net::topology::cluster)
        return redis::make_cluster_node(url, c, group, to_server);
    auto way = url.topology == net::topology::sentinel ? redis::make_sentinel_transport(url, c, to_server)
                                                       : to_server(url);
    return redis::make_redis_node(url, c, group, std::move(way));
}

std::shared_ptr<node> make_of(store const& s, std::size_t i, std::string const& url, manager_options const& c,
                              store_context const& context)
{
    std::shared_ptr<node> made;
    try {
        made = s.make(url, c, context);
    } catch (std::invalid_argument const& e) {
        refuse(fmt::format("nodes[{}]: {}", i, e.what()));
    }
    if (!made)
        refuse(fmt::format("nodes[{}]: the store of \"{}://\" made no node", i, scheme_of(url)));
    return made;
}

}  // namespace

std::vector<std::shared_ptr<node>> make_nodes(manager_options const& c, std::shared_ptr<runtime::runtime> runtime)
{
    std::vector<std::shared_ptr<node>> nodes;
    auto const stores = by_scheme(c);
    auto const group = std::make_shared<redis::group>(std::move(runtime));
    store_context const context{.claim = [group](std::string const& name, std::string const& identity) {
        return group->claim(name, identity);
    }};
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < c.nodes.size(); ++i) {
        auto const address = net::with_lower_scheme(c.nodes[i]);
        auto const scheme = scheme_of(address);
        if (auto const other = stores.find(scheme); other != stores.end()) {
            nodes.push_back(make_of(*other->second, i, address, c, context));
        } else {
            refuse_component(scheme, i);
            auto const url = net::parse_url(c.nodes[i]);
            if (!url.wrong.empty())
                refuse(fmt::format("nodes[{}]: {}", i, url.wrong));
            if (url.transport != net::transport::memory && c.test_clock)
                refuse(fmt::format("nodes[{}] is \"{}\", but test_clock is set, which works only with memory:// nodes",
                                   i, url.name()));
            nodes.push_back(make_known(url, c, group));
        }
        auto const& name = nodes.back()->name();
        if (auto [other, fresh] = seen.emplace(name, i); !fresh)
            refuse(fmt::format("nodes[{}] is \"{}\", the same server as nodes[{}]; one server has one vote", i, name,
                               other->second));
    }
    return nodes;
}

}  // namespace redlock::stores
