#pragma once

#include "stores/kit/location.hpp"

#include <redlock/etcd.hpp>

#include <string_view>

namespace redlock::stores::etcd {

using kit::member;

using address = kit::address<etcd_options>;

/// @throws std::invalid_argument saying what is wrong with @p url, without secrets
address parse_address(std::string_view url, etcd_options defaults);

/// @throws std::invalid_argument naming the option, the value and the limit
void check(etcd_options const&);

}  // namespace redlock::stores::etcd
