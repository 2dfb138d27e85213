#pragma once

#include <string>
#include <string_view>

namespace redlock::cli {

/// The address of an instance of `redlock serve`.
struct service_url {
    std::string host{}, port{};  ///< empty: there is a @ref socket instead
    std::string socket{};
    std::string token{};  ///< the bearer token; empty: none
    bool has_tls = false;

    /// The address for messages, without the token: "http://127.0.0.1:8642", "unix:/run/redlock".
    std::string name() const;

    /// Whether an address is that of a service: http://, https://, or unix: without //, which is a server.
    static bool is_one(std::string_view url) noexcept;

    /// @throws std::invalid_argument that does not contain the token
    static service_url read(std::string_view url);
};

}  // namespace redlock::cli
