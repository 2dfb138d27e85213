#pragma once

#include "net/url.hpp"

#include <redlock/config.hpp>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream_base.hpp>

#include <openssl/types.h>

#include <memory>

namespace redlock::net {

/// What the connections of one node share for TLS: certificates are read once.
class tls_settings {
public:
    /// For a node without TLS: nothing is read.
    tls_settings() = default;

    /// @throws std::invalid_argument naming the file that cannot be used
    tls_settings(url const&, tls_options const&);

    /// For one connection.
    boost::asio::ssl::context context() const;

private:
    std::shared_ptr<SSL_CTX> shared_;
};

}  // namespace redlock::net
