#include "stores/etcd/address.hpp"
#include "stores/etcd/etcd_node.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

namespace redlock::inline v0 {

store etcd(etcd_options options)
{
    try {
        etcd_v3::check(options);
    } catch (std::invalid_argument const& e) {
        throw std::invalid_argument(std::string("redlock::etcd_options: ") + e.what());
    }
    auto make = [options = std::move(options)](std::string_view url, config const& settings, store_context const& context) {
        return etcd_v3::make_etcd_node(etcd_v3::parse_address(url, options), settings, context);
    };
    return {.schemes = {"etcd", "etcds"}, .make = std::move(make)};
}

}  // namespace redlock
