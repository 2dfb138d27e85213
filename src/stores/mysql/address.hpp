#pragma once

#include "stores/kit/database_address.hpp"

#include <redlock/manager_options.hpp>
#include <redlock/mysql.hpp>

#include <cstdint>
#include <string>
#include <string_view>

namespace redlock::stores::mysql {

enum class security { off, verified, unverified };

/// The contents of an entry of `manager_options::nodes`.
struct address : kit::database_address {
    std::string host{}, user{}, password{}, database{};
    std::string socket{};  ///< empty: host and port
    std::uint16_t port = 3306;
    security tls = security::off;
    std::string ssl_ca{}, ssl_cert{}, ssl_key{};
    mysql_options options{};

    redlock::credentials log_in() const { return {user, password}; }
    void use(redlock::credentials);  ///< changes user and password
};

/// @throws std::invalid_argument if @p url is not valid; the message contains no secrets
address parse_address(std::string_view url, mysql_options defaults);

/// @throws std::invalid_argument naming the option, the value and the limit
void check(mysql_options const&);

/// @p text without the password, and in one line.
std::string presentable(std::string_view text, address const&);

}  // namespace redlock::stores::mysql
