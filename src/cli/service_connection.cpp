#include "cli/service_connection.hpp"

#include "runtime/as_result.hpp"
#include "runtime/within.hpp"

#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/this_coro.hpp>

#include <openssl/ssl.h>

#include <sys/un.h>

namespace redlock::cli {

service_connection::service_connection(asio::any_io_executor executor, service_url const& url,
                                       net::tls_settings const& tls)
    : url_(url), context_(tls.context()), stream_(executor, context_)
{
}

asio::awaitable<error_code> service_connection::open(std::chrono::milliseconds limit)
{
    error_code failure = co_await connect(limit);
    if (failure || !url_.has_tls)
        co_return failure;
    SSL_set_tlsext_host_name(stream_.native_handle(), url_.host.c_str());
    auto const [refused] = co_await within(limit, stream_.async_handshake(asio::ssl::stream_base::client, as_result));
    failure = refused;
    co_return failure;
}

asio::awaitable<error_code> service_connection::connect(std::chrono::milliseconds limit)
{
    if (!url_.socket.empty()) {
        if (url_.socket.size() >= sizeof(sockaddr_un::sun_path))
            co_return error_code(asio::error::name_too_long);
        asio::local::stream_protocol::endpoint const place(url_.socket);
        auto const [failure] = co_await within(limit, socket().async_connect(place, as_result));
        co_return failure;
    }
    asio::ip::tcp::resolver resolver(socket().get_executor());
    auto const [unresolved, places] = co_await within(limit, resolver.async_resolve(url_.host, url_.port, as_result));
    error_code failure = unresolved;
    if (failure)
        co_return failure;
    for (auto const& place : places) {
        error_code ignored;
        socket().close(ignored);
        asio::generic::stream_protocol::endpoint const to(place.endpoint());
        auto const [unreachable] = co_await within(limit, socket().async_connect(to, as_result));
        failure = unreachable;
        if (!failure)
            break;
    }
    co_return failure;
}

}  // namespace redlock::cli
