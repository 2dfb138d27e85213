#pragma once

#include "stores/kit/lease_node.hpp"
#include "stores/kit/location.hpp"

#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>
#include <redlock/store.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::kit {

/// The settings of the node for the address @p a, with a random seed.
/// @param kind such as "etcd" @param servers the word for all servers together @param keys_max most keys of one command
template <class Options>
lease_settings settings_for(address<Options> const& a, std::string_view kind, std::string_view servers,
                            std::size_t keys_max, manager_options const& c, store_context context)
{
    return {.name = a.name,
            .kind = kind,
            .servers = servers,
            .members = a.members.size(),
            .keys_max = keys_max,
            .timeout = a.options.timeout,
            .context = std::move(context),
            .log = logger(c, a.name)};
}

/// A store of servers whose locks end with a session or lease.
/// @param parse reads an address. It gets the options that the address does not set.
/// @param make makes the node for an address
template <class Options>
store lease_store(std::vector<std::string> schemes, Options options,
                  address<Options> (*parse)(std::string_view url, Options defaults),
                  std::shared_ptr<node> (*make)(address<Options>, manager_options const&, store_context))
{
    auto make_node = [options = std::move(options), parse, make](std::string_view url, manager_options const& c,
                                                                 store_context const& context) {
        auto where = parse(url, options);
        where.credentials = c.credentials;
        return make(std::move(where), c, context);
    };
    return {.schemes = std::move(schemes), .make = std::move(make_node)};
}

}  // namespace redlock::stores::kit
