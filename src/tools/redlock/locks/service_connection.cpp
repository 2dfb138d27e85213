#include "tools/redlock/locks/service_connection.hpp"

#include "tools/redlock/args/output.hpp"
#include "net/url_text.hpp"
#include "runtime/as_result.hpp"
#include "runtime/strand.hpp"
#include "runtime/within.hpp"

#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <memory>
#include <sys/un.h>
#include <system_error>

namespace redlock::cli {

namespace {

// A failure in words; empty: there is none. The time limit is the only reason why an operation is cancelled and the
// caller goes on.
std::string words_of(error_code failure, std::chrono::milliseconds limit)
{
    return !failure                                    ? ""
           : failure == asio::error::operation_aborted ? "no answer within " + in_words(limit)
                                                       : failure.message();
}

}  // namespace

service_connection::service_connection(asio::any_io_executor executor, service_url const& url,
                                       net::tls_settings const& tls)
    : tls_stream(executor), url_(url), tls_settings_(tls)
{
}

asio::awaitable<std::string> service_connection::open(std::chrono::milliseconds limit)
{
    auto trouble = co_await connect(limit);
    if (!trouble.empty() || !url_.has_tls)
        co_return trouble;
    auto const [refused] =
        co_await runtime::within(limit, async_handshake(tls_settings_, url_.host, runtime::as_result));
    co_return words_of(refused, limit);
}

asio::awaitable<std::string> service_connection::connect(std::chrono::milliseconds limit)
{
    asio::generic::stream_protocol::endpoint place;
    if (url_.socket.size() >= sizeof(sockaddr_un::sun_path))
        co_return words_of(asio::error::name_too_long, limit);
    if (!url_.socket.empty()) {
        place = asio::local::stream_protocol::endpoint(url_.socket);
    } else {
        auto const found = co_await find_address(limit);
        if (found.address.empty())
            co_return found.failure.empty() ? words_of(asio::error::operation_aborted, limit) : found.failure;
        auto const port = net::to_number(url_.port, 1, 65'535).value_or(0);
        place = asio::ip::tcp::endpoint(asio::ip::make_address(found.address), static_cast<unsigned short>(port));
    }
    auto const [failure] = co_await runtime::within(limit, plain().async_connect(place, runtime::as_result));
    co_return words_of(failure, limit);
}

// The resolver of Asio cannot be interrupted, and resolves one name after the other.
asio::awaitable<net::reached> service_connection::find_address(std::chrono::milliseconds limit)
{
    if (net::is_address(url_.host))
        co_return net::reached{.address = url_.host};
    std::shared_ptr<net::name_lookup> lookup;
    try {
        lookup = net::name_lookup::start(url_.host, url_.port);
    } catch (std::system_error const& e) {
        co_return net::reached{.failure = std::string("cannot start a thread to resolve its name: ") + e.what()};
    }
    auto const search = std::make_shared<net::address_search>(runtime::strand(get_executor()), limit);
    auto slot = (co_await asio::this_coro::cancellation_state).slot();
    if (slot.is_connected())
        slot.assign([search](asio::cancellation_type) { search->cancel(); });
    net::known_addresses const none;
    auto find = search->async_find(std::move(lookup), none, asio::use_awaitable);
    auto found = co_await std::move(find);
    if (slot.is_connected())
        slot.clear();
    co_return found;
}

}  // namespace redlock::cli
