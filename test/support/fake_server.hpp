#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace redlock::test {

/// A server on loopback whose answers the test decides. It runs in the event loop of the test.
class fake_server {
public:
    /// Gets received bytes, and returns the bytes to send. Nothing: closes the connection.
    using answer = std::function<std::optional<std::string>(std::string_view)>;

    fake_server(boost::asio::io_context& context, answer a)
        : acceptor_(context, {boost::asio::ip::address_v4::loopback(), 0}), answer_(std::move(a))
    {
        accept();
    }

    std::string url() const { return "redis://127.0.0.1:" + std::to_string(acceptor_.local_endpoint().port()); }

    int connections = 0;

private:
    struct session {
        boost::asio::ip::tcp::socket socket;
        std::array<char, 4096> buffer{};
        std::string out;
    };

    void accept()
    {
        acceptor_.async_accept([this](boost::system::error_code ec, boost::asio::ip::tcp::socket socket) {
            if (ec)
                return;
            ++connections;
            read(std::make_shared<session>(session{std::move(socket), {}, {}}));
            accept();
        });
    }

    void read(std::shared_ptr<session> s)
    {
        s->socket.async_read_some(
            boost::asio::buffer(s->buffer), [this, s, here = alive()](boost::system::error_code ec, std::size_t n) {
                if (ec || here.expired())
                    return;
                auto out = answer_({s->buffer.data(), n});
                if (!out || here.expired())
                    return;
                s->out = std::move(*out);
                boost::asio::async_write(s->socket, boost::asio::buffer(s->out),
                                         [this, s, here](boost::system::error_code failed, std::size_t) {
                                             if (!failed && !here.expired())
                                                 read(s);
                                         });
            });
    }

    std::weak_ptr<char const> alive() const { return alive_; }

    boost::asio::ip::tcp::acceptor acceptor_;
    answer answer_;
    std::shared_ptr<char const> const alive_ = std::make_shared<char const>();  ///< connections may outlast the server
};

}  // namespace redlock::test
