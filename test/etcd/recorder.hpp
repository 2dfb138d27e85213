#pragma once

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace redlock::test {

/// A proxy between client and server, in the test's own event loop. It can keep a request for later.
class recorder {
public:
    recorder(boost::asio::io_context& context, std::uint16_t server)
        : context_(context),
          acceptor_(context, {boost::asio::ip::address_v4::loopback(), 0}),
          server_(boost::asio::ip::address_v4::loopback(), server)
    {
        boost::asio::co_spawn(context, accept(), boost::asio::detached);
    }

    std::string url(std::string const& rest = {}) const
    {
        return "etcd://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()) + rest;
    }

    /// Keeps the next request that contains @p words, and does not send it.
    void keep(std::string words) { wanted_ = std::move(words); }

    /// The server carries out the next request that contains @p words, but the connection ends before the answer.
    void cut_after(std::string words) { last_ = std::move(words); }
    std::string const& kept() const noexcept { return kept_; }

    /// Sends the kept request. @return the answer
    std::string replay()
    {
        boost::asio::ip::tcp::socket to(context_);
        to.connect(server_);
        boost::asio::write(to, boost::asio::buffer(kept_));
        boost::beast::flat_buffer buffer;
        boost::beast::http::response<boost::beast::http::string_body> answer;
        boost::beast::http::read(to, buffer, answer);
        return answer.body();
    }

private:
    using tcp = boost::asio::ip::tcp;
    using socket = std::shared_ptr<tcp::socket>;
    static constexpr auto as_result = boost::asio::as_tuple(boost::asio::use_awaitable);

    boost::asio::awaitable<void> accept()
    {
        for (;;) {
            auto client = std::make_shared<tcp::socket>(context_), server = std::make_shared<tcp::socket>(context_);
            auto [ec] = co_await acceptor_.async_accept(*client, as_result);
            if (ec)
                co_return;
            co_await server->async_connect(server_, as_result);
            auto const cut = std::make_shared<bool>(false);
            boost::asio::co_spawn(context_, pass(client, server, cut, true), boost::asio::detached);
            boost::asio::co_spawn(context_, pass(server, client, cut, false), boost::asio::detached);
        }
    }

    boost::asio::awaitable<void> pass(socket from, socket to, std::shared_ptr<bool> cut, bool requests)
    {
        for (std::array<char, 16 * 1024> buffer;;) {
            auto [ec, n] = co_await from->async_read_some(boost::asio::buffer(buffer), as_result);
            std::string_view const bytes(buffer.data(), n);
            if (requests && !last_.empty() && bytes.find(last_) != bytes.npos) {
                *cut = true;
                last_.clear();
            } else if (!requests && *cut) {
                ec = boost::asio::error::eof;
            }
            if (requests && !wanted_.empty() && bytes.find(wanted_) != bytes.npos) {
                kept_ = bytes;
                wanted_.clear();
            } else if (!ec) {
                co_await boost::asio::async_write(*to, boost::asio::buffer(bytes), as_result);
            }
            if (ec) {
                from->close(ec);
                to->close(ec);
                co_return;
            }
        }
    }

    boost::asio::io_context& context_;
    tcp::acceptor acceptor_;
    tcp::endpoint const server_;
    std::string wanted_, kept_, last_;
};

}  // namespace redlock::test
