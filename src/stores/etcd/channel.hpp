#pragma once

#include "stores/etcd/address.hpp"
#include "stores/etcd/json.hpp"
#include "stores/etcd/wire.hpp"

#include <redlock/clock.hpp>
#include <redlock/config.hpp>
#include <redlock/node.hpp>

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
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

using timer = asio::basic_waitable_timer<clock, asio::wait_traits<clock>, asio::any_io_executor>;

/// A member, and how to come to it.
struct server {
    etcd::member member;
    std::string password{};  ///< to keep out of what is told
    bool tls = false;
    net::tls_settings certificates{};
    std::chrono::milliseconds connect_timeout{};
};

/// All members of an address.
std::vector<std::shared_ptr<server const>> servers_of(address const&, config const&);

/// What became of a request.
struct answer {
    json::object content{};
    node_reply why{};  ///< with an error: there is no answer, or a refusal. `untouched`: nothing was done for it
};

/** One connection to one server: one request at a time, or one stream in either direction, for ever.

    Used as a std::shared_ptr, on the executor. Its coroutines do not keep it. A simulation puts another one in the
    place of the one that ships.
*/
class channel {
public:
    virtual ~channel() = default;

    /// Connects. With an error: why that failed.
    virtual asio::awaitable<node_reply> open() = 0;

    /// @p patience: then the connection ends. @p token: what the server wants to know who we are by; empty: nothing.
    virtual asio::awaitable<answer> ask(std::string_view path, std::string body, std::string_view token,
                                        std::chrono::milliseconds patience) = 0;

    /// Begins a stream with its first message, and waits for the first one that comes.
    virtual asio::awaitable<answer> stream(std::string_view path, std::string first, std::string_view token,
                                           std::chrono::milliseconds patience) = 0;
    virtual asio::awaitable<void> write(std::string message) = 0;  ///< of a stream, after that; one at a time
    virtual asio::awaitable<answer> read() = 0;                    ///< likewise

    virtual void close() = 0;
};

/// Over HTTP, as the gateway speaks it.
class http_channel final : public channel, public std::enable_shared_from_this<http_channel> {
public:
    http_channel(asio::any_io_executor, std::shared_ptr<server const>);

    asio::awaitable<node_reply> open() override;
    asio::awaitable<answer> ask(std::string_view path, std::string body, std::string_view token,
                                std::chrono::milliseconds patience) override;
    asio::awaitable<answer> stream(std::string_view path, std::string first, std::string_view token,
                                   std::chrono::milliseconds patience) override;
    asio::awaitable<void> write(std::string message) override;
    asio::awaitable<answer> read() override;
    void close() override;

private:
    asio::awaitable<node_reply> connect(asio::ip::tcp::endpoint);
    void limit(std::chrono::milliseconds);
    void cut();
    answer failure(error_code, bool untouched) const;
    answer interpret(unsigned status, std::string_view body);

    asio::any_io_executor executor_;
    std::shared_ptr<server const> const server_;
    std::optional<etcd::wire> wire_;
    std::optional<asio::ip::basic_resolver<asio::ip::tcp, asio::any_io_executor>> resolver_;
    timer limit_;
    bool closed_ = false;
    bool silent_ = false;    ///< it has not answered in time
    bool answered_ = false;  ///< it is a server that speaks our language
    boost::beast::flat_buffer buffer_;
    std::optional<boost::beast::http::response_parser<boost::beast::http::string_body>> stream_;
};

/// What a node takes from the world.
struct surroundings {
    std::function<std::shared_ptr<channel>(asio::any_io_executor, std::shared_ptr<server const>)> make_channel =
        [](asio::any_io_executor e, std::shared_ptr<server const> s) {
            return std::make_shared<http_channel>(std::move(e), std::move(s));
        };
    /// So that clients are never in step with each other.
    std::minstd_rand::result_type seed = std::random_device()();
};

}  // namespace redlock::stores::etcd
