#pragma once

#include "net/url.hpp"

#include <redlock/manager_options.hpp>

#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/stream_base.hpp>

#include <openssl/types.h>

#include <memory>

namespace redlock::net {

/// The TLS settings that the connections of one node share. The certificates are read once.
class tls_settings {
public:
    /// For a node without TLS; reads nothing.
    tls_settings() = default;

    /// @throws std::invalid_argument that names the unusable file
    tls_settings(url const&, tls_options const&);

    /// Returns a context for one connection.
    boost::asio::ssl::context context() const;

private:
    std::shared_ptr<SSL_CTX> shared_;
};

}  // namespace redlock::net
