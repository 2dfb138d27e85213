#pragma once

#include "stores/kit/location.hpp"

#include <redlock/zookeeper.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace redlock::zk {

using leases::member;

/// What an entry of `config::nodes` says.
struct address {
    std::string name{};  ///< for people: without user, password and parameters
    std::vector<member> members;
    std::string user, password;
    zookeeper_options options;
};

/// @throws std::invalid_argument saying what is wrong with @p url, without secrets
address parse_address(std::string_view url, zookeeper_options defaults);

/// @throws std::invalid_argument naming the option, the value and the limit
void check(zookeeper_options const&);

}  // namespace redlock::zk
