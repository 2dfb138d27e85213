#pragma once

#include "net/log_in.hpp"

#include <redlock/manager_options.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <utility>

namespace redlock::stores::kit {

/// The contents that the addresses of all databases share.
struct database_address {
    std::string name{};      ///< for people: without user, password and parameters
    bool read_only = false;  ///< as in `manager_options`
    std::chrono::milliseconds max_ttl = manager_options().max_ttl;
    credentials_function credentials{};
};

/// @p a with user and password for the next connection. @throws std::runtime_error if `manager_options::credentials`
/// throws
template <class Address>
std::shared_ptr<Address const> logged_in(std::shared_ptr<Address const> const& a)
{
    if (!a->credentials)
        return a;
    auto changed = *a;
    changed.use(net::log_in(a->credentials, {.node = a->name, .in_address = a->log_in()}));
    return std::make_shared<Address const>(std::move(changed));
}

}  // namespace redlock::stores::kit
