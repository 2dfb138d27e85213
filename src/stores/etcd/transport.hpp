#pragma once

#include "net/tls_stream.hpp"
#include "stores/etcd/address.hpp"
#include "stores/etcd/json.hpp"
#include "stores/etcd/refusal.hpp"
#include "stores/kit/timer.hpp"

#include <redlock/clock.hpp>
#include <redlock/manager_options.hpp>
#include <redlock/node.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace redlock::stores::etcd {

using kit::timer;

/// A member, and how to connect to it.
struct server {
    etcd::member member;
    bool tls = false;
    net::tls_settings certificates{};
    std::chrono::milliseconds connect_timeout{};
};

/// All members of an address.
std::vector<std::shared_ptr<server const>> servers_of(address const&, manager_options const&);

/** Moves requests and answers over one connection to one server, one at a time, or messages over one stream in both
    directions that never ends.

    Used as a std::shared_ptr, on the executor. The coroutines do not keep the transport alive. The simulation replaces
    @ref http_transport with a transport of its own.
*/
class transport {
public:
    virtual ~transport() = default;

    /// Connects. @return with an error: why the connection failed
    virtual asio::awaitable<node_reply> open() = 0;

    /// Texts of the server will not contain @p secret.
    virtual void hide(std::string /*secret*/) {}

    /// @p timeout: if the answer takes longer, the connection ends. @p token: the authentication token; empty: none.
    virtual asio::awaitable<answer> ask(std::string_view path, std::string body, std::string_view token,
                                        std::chrono::milliseconds timeout) = 0;

    /// Begins a stream with the message @p first, and waits for the server's first message.
    virtual asio::awaitable<answer> begin_stream(std::string_view path, std::string first, std::string_view token,
                                                 std::chrono::milliseconds timeout) = 0;
    virtual asio::awaitable<void> write(std::string message) = 0;  ///< to the stream; one call at a time
    virtual asio::awaitable<answer> read() = 0;                    ///< from the stream; one call at a time

    virtual void close() = 0;
};

/// HTTP, the protocol of etcd's gateway.
class http_transport final : public transport, public std::enable_shared_from_this<http_transport> {
public:
    http_transport(asio::any_io_executor, std::shared_ptr<server const>);

    asio::awaitable<node_reply> open() override;
    void hide(std::string secret) override { secret_ = std::move(secret); }
    asio::awaitable<answer> ask(std::string_view path, std::string body, std::string_view token,
                                std::chrono::milliseconds timeout) override;
    asio::awaitable<answer> begin_stream(std::string_view path, std::string first, std::string_view token,
                                         std::chrono::milliseconds timeout) override;
    asio::awaitable<void> write(std::string message) override;
    asio::awaitable<answer> read() override;
    void close() override;

private:
    asio::awaitable<node_reply> connect(asio::ip::tcp::endpoint);
    void limit(std::chrono::milliseconds);
    void cut();
    answer failure(error_code, bool untouched) const;
    answer decode(unsigned status, std::string_view body);

    asio::any_io_executor executor_;
    std::shared_ptr<server const> const server_;
    std::string secret_;
    std::optional<net::tls_stream> stream_;
    std::optional<asio::ip::basic_resolver<asio::ip::tcp, asio::any_io_executor>> resolver_;
    timer limit_;
    bool closed_ = false;
    bool silent_ = false;    ///< the server did not answer in time
    bool answered_ = false;  ///< the server has answered in etcd's format
    boost::beast::flat_buffer buffer_;
    std::optional<boost::beast::http::response_parser<boost::beast::http::string_body>> response_;
};

/// The parts of a node's environment that tests replace.
struct surroundings {
    std::function<std::shared_ptr<transport>(asio::any_io_executor, std::shared_ptr<server const>)> make_transport =
        [](asio::any_io_executor e, std::shared_ptr<server const> s) {
            return std::make_shared<http_transport>(std::move(e), std::move(s));
        };
    /// The seed of random delays: different for each node, so that clients do not act at the same moment.
    std::minstd_rand::result_type seed = std::random_device()();
};

}  // namespace redlock::stores::etcd
