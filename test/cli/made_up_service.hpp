#pragma once

#include "cli/running_service.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace redlock::test {

/// An answer as it is sent. @param fields  of the header, each with an end of line
inline std::string answer_of(std::string const& status, std::string const& body, std::string const& fields = "")
{
    return fmt::format("HTTP/1.1 {}\r\n{}Content-Length: {}\r\n\r\n{}", status, fields, body.size(), body);
}

/// The answer of an instance that is there.
inline std::string healthy() { return answer_of("200 OK", R"({"nodes":1,"connected":1,"voting":1,"stopping":false})"); }

inline bool asks_for_health(http::request<http::string_body> const& r) { return r.target() == "/healthz"; }

/// A service whose answers are made up.
class made_up_service {
public:
    using request = http::request<http::string_body>;

    /// @param a  called by several threads; returns the bytes after which the connection ends. Nothing: there is no
    ///           answer, and the connection stays
    explicit made_up_service(std::function<std::optional<std::string>(request const&)> a) : answer_(std::move(a))
    {
        asio::co_spawn(context_, accept(), asio::detached);
        for (int i = 0; i < 4; ++i)
            threads_.emplace_back([this] { context_.run(); });
    }
    ~made_up_service()
    {
        context_.stop();
        for (auto& t : threads_)
            t.join();
    }
    made_up_service(made_up_service const&) = delete;
    made_up_service& operator=(made_up_service const&) = delete;

    std::string url() const { return fmt::format("http://127.0.0.1:{}", port_); }

    /// All requests so far.
    std::vector<request> requests() const
    {
        std::scoped_lock const l(mutex_);
        return requests_;
    }

    /// How many of them have this method, and a target that begins so.
    std::ptrdiff_t count(verb method, std::string_view target) const
    {
        return std::ranges::count_if(requests(), [&](auto const& r) {
            return r.method() == method && std::string_view(r.target()).starts_with(target);
        });
    }

private:
    using tcp = asio::ip::tcp;
    static constexpr auto with_error = asio::as_tuple(asio::use_awaitable);

    asio::awaitable<void> accept()
    {
        for (;;) {
            auto const strand = asio::make_strand(context_);
            auto [ec, client] = co_await acceptor_.async_accept(strand, with_error);
            if (!ec)
                asio::co_spawn(strand, serve(std::move(client)), asio::detached);
        }
    }

    asio::awaitable<void> serve(tcp::socket client)
    {
        boost::beast::flat_buffer input;
        request asked;
        auto const [unread, size] = co_await http::async_read(client, input, asked, with_error);
        if (unread)
            co_return;
        {
            std::scoped_lock const l(mutex_);
            requests_.push_back(asked);
        }
        auto const text = answer_(asked);
        if (text) {
            co_await asio::async_write(client, asio::buffer(*text), with_error);
            boost::system::error_code ignored;
            client.shutdown(tcp::socket::shutdown_send, ignored);
        }
        char byte = 0;  // the client closes the connection
        co_await client.async_read_some(asio::buffer(&byte, 1), with_error);
    }

    std::function<std::optional<std::string>(request const&)> const answer_;
    mutable std::mutex mutex_;
    std::vector<request> requests_;
    asio::io_context context_;
    tcp::acceptor acceptor_{context_, {asio::ip::make_address("127.0.0.1"), 0}};
    unsigned short const port_ = acceptor_.local_endpoint().port();
    std::vector<std::thread> threads_;
};

/// Passes a request on to a service. @return the bytes of its answer
inline std::string passed_on(http::request<http::string_body> const& r, service const& to)
{
    http_headers more;
    for (auto const* const name : {"Idempotency-Key", "If-Match"}) {
        if (r.count(name) > 0)
            more.emplace_back(name, std::string(r[name]));
    }
    auto const a = to.ask(r.method(), std::string(r.target()), r.body(), more);
    return answer_of(fmt::format("{} Passed on", a.status), a.body, a.etag.empty() ? "" : "ETag: " + a.etag + "\r\n");
}

}  // namespace redlock::test
