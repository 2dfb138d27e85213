#include "net/tls_settings.hpp"

#include <boost/test/unit_test.hpp>

#include <openssl/crypto.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <string>

using namespace redlock;

BOOST_AUTO_TEST_SUITE(tls)

namespace {

// The address, or otherwise the name, that the certificate of the server at @p address must have.
std::string verified_name(std::string_view address)
{
    auto const u = net::parse_url(address);
    BOOST_TEST_REQUIRE(u.wrong.empty());
    auto context = net::tls_settings(u, {}).context();
    auto* const parameters = SSL_CTX_get0_param(context.native_handle());
    if (std::unique_ptr<char, void (*)(char*)> const ip(X509_VERIFY_PARAM_get1_ip_asc(parameters),
                                                        [](char* p) { OPENSSL_free(p); });
        ip)
        return ip.get();
    auto const* host = X509_VERIFY_PARAM_get0_host(parameters, 0);
    return host ? host : "nothing at all";
}

}  // namespace

BOOST_AUTO_TEST_CASE(tls_settings_verify_each_form_of_a_host)
{
    BOOST_TEST(verified_name("rediss://redis.example") == "redis.example");
    BOOST_TEST(verified_name("rediss://127.0.0.1") == "127.0.0.1");
    BOOST_TEST(verified_name("rediss://[::1]") == "0:0:0:0:0:0:0:1");
    BOOST_TEST(verified_name("rediss://[fe80::1%lo]") == "FE80:0:0:0:0:0:0:1");  // certificates contain no zone
}

BOOST_AUTO_TEST_SUITE_END()
