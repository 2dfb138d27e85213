#include "net/tls_settings.hpp"

#include <boost/asio/ip/address.hpp>

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace redlock::net {

namespace {

[[noreturn]] void refuse(std::string_view field, std::string_view file)
{
    char why[256] = "";
    ERR_error_string_n(ERR_get_error(), why, sizeof why);
    throw std::invalid_argument(
        fmt::format("redlock::manager_options: tls.{} is \"{}\", which cannot be used: {}", field, file, why));
}

}  // namespace

tls_settings::tls_settings(url const& u, tls_options const& o) : shared_(SSL_CTX_new(TLS_client_method()), SSL_CTX_free)
{
    auto* const c = shared_.get();
    if (!c)
        throw std::bad_alloc();
    SSL_CTX_set_min_proto_version(c, TLS1_2_VERSION);
    if (o.ca_file.empty())
        SSL_CTX_set_default_verify_paths(c);
    else if (SSL_CTX_load_verify_file(c, o.ca_file.c_str()) != 1)
        refuse("ca_file", o.ca_file);
    if (!o.certificate_file.empty()) {
        if (SSL_CTX_use_certificate_chain_file(c, o.certificate_file.c_str()) != 1)
            refuse("certificate_file", o.certificate_file);
        if (SSL_CTX_use_PrivateKey_file(c, o.private_key_file.c_str(), SSL_FILETYPE_PEM) != 1
            || SSL_CTX_check_private_key(c) != 1)
            refuse("private_key_file", o.private_key_file);
    }
    SSL_CTX_set_verify(c, o.verify ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
    // Each connection inherits the name to verify from this context.
    auto* const parameters = SSL_CTX_get0_param(c);
    // Only the alternative names count, and a wildcard stands for a whole label (RFC 9525).
    X509_VERIFY_PARAM_set_hostflags(parameters,
                                    X509_CHECK_FLAG_NEVER_CHECK_SUBJECT | X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS);
    boost::system::error_code not_an_address;
    auto address = boost::asio::ip::make_address(u.host, not_an_address);
    if (address.is_v6())  // the zone is local, so certificates do not contain it
        address = boost::asio::ip::address_v6(address.to_v6().to_bytes());
    if (1
        != (not_an_address ? X509_VERIFY_PARAM_set1_host(parameters, u.host.c_str(), 0)
                           : X509_VERIFY_PARAM_set1_ip_asc(parameters, address.to_string().c_str())))
        throw std::invalid_argument(fmt::format(
            "redlock::manager_options: a certificate cannot name the host \"{}\", so TLS cannot verify it", u.host));
}

boost::asio::ssl::context tls_settings::context() const
{
    if (!shared_)
        return boost::asio::ssl::context(boost::asio::ssl::context::tls_client);
    SSL_CTX_up_ref(shared_.get());
    return boost::asio::ssl::context(shared_.get());
}

}  // namespace redlock::net
