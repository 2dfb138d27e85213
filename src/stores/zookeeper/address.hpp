#pragma once

#include "stores/kit/location.hpp"

#include <redlock/zookeeper.hpp>

#include <string_view>

namespace redlock::stores::zookeeper {

using kit::member;

using address = kit::address<zookeeper_options>;

/// @throws std::invalid_argument if @p url is not valid; the message contains no secrets
address parse_address(std::string_view url, zookeeper_options defaults);

/// @throws std::invalid_argument naming the option, the value and the limit
void check(zookeeper_options const&);

}  // namespace redlock::stores::zookeeper
