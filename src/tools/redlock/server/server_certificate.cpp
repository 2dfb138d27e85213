#include "tools/redlock/server/server_certificate.hpp"

#include "net/tls_settings.hpp"
#include "net/url.hpp"
#include "runtime/as_result.hpp"
#include "runtime/within.hpp"

#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/write.hpp>

#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <openssl/x509_vfy.h>

#include <array>
#include <cstring>
#include <ctime>
#include <memory>

namespace redlock::cli {

namespace {

std::chrono::sys_seconds time_of(ASN1_TIME const* t)
{
    std::tm parts{};
    if (ASN1_TIME_to_tm(t, &parts) != 1)
        return {};
    return std::chrono::sys_seconds(std::chrono::seconds(::timegm(&parts)));
}

server_certificate read(SSL* connection)
{
    std::unique_ptr<X509, decltype(&X509_free)> const shown(SSL_get1_peer_certificate(connection), X509_free);
    if (!shown)
        return {.unread = "it shows no certificate"};
    auto const verdict = SSL_get_verify_result(connection);
    return {.begins = time_of(X509_get0_notBefore(shown.get())),
            .ends = time_of(X509_get0_notAfter(shown.get())),
            .complaint = verdict == X509_V_OK ? "" : X509_verify_cert_error_string(verdict)};
}

}  // namespace

// Uses its own connection, without verification: it continues although the certificate may be invalid.
asio::awaitable<server_certificate> certificate_of(std::string url, redlock::manager_options const& c)
{
    auto const where = net::parse_url(url);
    auto const executor = co_await asio::this_coro::executor;
    auto const limit = c.connect_timeout;
    net::tls_settings const tls(where, c.tls);
    auto context = tls.context();
    asio::ip::tcp::resolver resolver(executor);
    asio::ssl::stream<asio::ip::tcp::socket> stream(executor, context);
    SSL_set_verify(stream.native_handle(), SSL_VERIFY_NONE, nullptr);
    SSL_set_tlsext_host_name(stream.native_handle(), where.host.c_str());

    auto [unresolved, places] =
        co_await runtime::within(limit, resolver.async_resolve(where.host, where.port, runtime::as_result));
    if (unresolved)
        co_return server_certificate{.unread = unresolved.message()};
    auto [unreachable, place] =
        co_await runtime::within(limit, asio::async_connect(stream.lowest_layer(), places, runtime::as_result));
    if (unreachable)
        co_return server_certificate{.unread = unreachable.message()};
    auto [refused] =
        co_await runtime::within(limit, stream.async_handshake(asio::ssl::stream_base::client, runtime::as_result));
    if (refused)
        co_return server_certificate{.unread = refused.message()};
    auto const seen = read(stream.native_handle());
    // If the client disconnects before the server has accepted it, the server may count it as a refused client. So wait
    // until the server answers a command; the answer does not matter.
    std::array<char, 64> bytes{"QUIT\r\n"};
    co_await runtime::within(
        limit, asio::async_write(stream, asio::buffer(bytes.data(), std::strlen(bytes.data())), runtime::as_result));
    co_await runtime::within(limit, stream.async_read_some(asio::buffer(bytes), runtime::as_result));
    co_return seen;
}

}  // namespace redlock::cli
