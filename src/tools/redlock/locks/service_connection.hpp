#pragma once

#include "tools/redlock/args/service_url.hpp"

#include "net/addresses.hpp"
#include "net/tls_stream.hpp"

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>

#include <chrono>
#include <string>

namespace redlock::cli {

namespace asio = boost::asio;

/// A connection to a service.
class service_connection : public net::tls_stream {
public:
    service_connection(asio::any_io_executor, service_url const&, net::tls_settings const&);

    /// @param limit  for each of the steps: to find the host, to connect, to agree on TLS
    /// @return why there is no connection; empty: there is one
    asio::awaitable<std::string> open(std::chrono::milliseconds limit);

    bool is_kept = false;  ///< whether the service keeps the connection open after its answer

private:
    asio::awaitable<std::string> connect(std::chrono::milliseconds limit);
    asio::awaitable<net::reached> find_address(std::chrono::milliseconds limit);

    service_url const& url_;
    net::tls_settings const tls_settings_;
};

}  // namespace redlock::cli
