#include "make_node.hpp"

#include "memory/memory_connection.hpp"
#include "redis/redis_node.hpp"
#include "redis/url.hpp"

#include <fmt/format.h>

#include <map>
#include <stdexcept>
#include <string>

namespace redlock {

std::vector<std::shared_ptr<node>> make_nodes(config const& c)
{
    std::vector<std::shared_ptr<node>> nodes;
    auto group = std::make_shared<redis::group>();
    std::map<std::string, std::size_t> seen;
    for (std::size_t i = 0; i < c.nodes.size(); ++i) {
        auto const url = redis::parse_url(c.nodes[i]);
        if (!url.wrong.empty())
            throw std::invalid_argument(fmt::format("redlock::config: nodes[{}]: {}", i, url.wrong));
        auto const name = url.name();
        if (auto [other, fresh] = seen.emplace(name, i); !fresh)
            throw std::invalid_argument(fmt::format(
                "redlock::config: nodes[{}] is \"{}\", the same server as nodes[{}]; one server has one vote", i, name, other->second));
        if (url.transport == redis::transport::memory)
            nodes.push_back(make_memory_connection(url.host, c.test_clock));
        else if (c.test_clock)
            throw std::invalid_argument(fmt::format(
                "redlock::config: nodes[{}] is \"{}\", but test_clock is set, by which only memory:// nodes go", i, name));
        else
            nodes.push_back(redis::make_redis_node(url, c, group));
    }
    return nodes;
}

}  // namespace redlock
