#pragma once

#include "stores/kit/location.hpp"

#include <redlock/etcd.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace redlock::etcd_v3 {

using leases::member;

/// What an entry of `config::nodes` says.
struct address {
    std::string name{};  ///< for people: without user, password and parameters
    std::vector<member> members;
    std::string user, password;
    bool tls = false;
    etcd_options options;
};

/// @throws std::invalid_argument saying what is wrong with @p url, without secrets
address parse_address(std::string_view url, etcd_options defaults);

/// @throws std::invalid_argument naming the option, the value and the limit
void check(etcd_options const&);

}  // namespace redlock::etcd_v3
