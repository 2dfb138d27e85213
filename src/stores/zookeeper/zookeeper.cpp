#include "stores/zookeeper/address.hpp"
#include "stores/zookeeper/zookeeper_node.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

namespace redlock::inline v0 {

store zookeeper(zookeeper_options options)
{
    try {
        zk::check(options);
    } catch (std::invalid_argument const& e) {
        throw std::invalid_argument(std::string("redlock::zookeeper_options: ") + e.what());
    }
    auto make = [options = std::move(options)](std::string_view url, config const& settings, store_context const& context) {
        return zk::make_zookeeper_node(zk::parse_address(url, options), settings, context);
    };
    return {.schemes = {"zookeeper"}, .make = std::move(make)};
}

}  // namespace redlock
