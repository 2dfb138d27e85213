#pragma once

#include "stores/kit/database_node.hpp"

#include <redlock/manager_options.hpp>
#include <redlock/store.hpp>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::kit {

/// A store of databases.
/// @param parse reads an address. It gets the options that the address does not name.
/// @param describe returns the parameters of the node behind an address
template <class Options, class Address>
store database_store(std::vector<std::string> schemes, Options options,
                     Address (*parse)(std::string_view url, Options defaults),
                     database (*describe)(std::shared_ptr<Address const> const&, manager_options const&))
{
    auto make = [options = std::move(options), parse, describe](std::string_view url, manager_options const& settings,
                                                                store_context const& context) {
        auto parsed = parse(url, options);
        parsed.read_only = settings.read_only;
        parsed.max_ttl = settings.max_ttl;
        parsed.credentials = settings.credentials;
        return make_database_node(describe(std::make_shared<Address const>(std::move(parsed)), settings), settings,
                                  context);
    };
    return {.schemes = std::move(schemes), .make = std::move(make)};
}

}  // namespace redlock::stores::kit
