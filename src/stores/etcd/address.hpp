#pragma once

#include "stores/kit/location.hpp"

#include <redlock/etcd.hpp>

#include <string_view>

namespace redlock::stores::etcd {

using kit::member;

using address = kit::address<etcd_options>;

/// @throws std::invalid_argument if @p url is not valid; the message contains no secrets
address parse_address(std::string_view url, etcd_options defaults);

/// @throws std::invalid_argument naming the option, the value and the limit
void check(etcd_options const&);

}  // namespace redlock::stores::etcd
