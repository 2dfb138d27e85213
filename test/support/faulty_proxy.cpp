#include "support/faulty_proxy.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include <array>
#include <chrono>
#include <string_view>

namespace redlock::test {

namespace asio = boost::asio;
using asio::ip::tcp;
using namespace std::chrono_literals;

namespace {

constexpr auto token = asio::as_tuple(asio::use_awaitable);

asio::awaitable<void> pause_for(std::chrono::milliseconds d)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, d);
    co_await timer.async_wait(token);
}

}  // namespace

struct faulty_proxy::session : std::enable_shared_from_this<session> {
    session(faulty_proxy& p, tcp::socket s) : proxy(p), client(std::move(s)), server(p.context_) {}

    void start()
    {
        asio::co_spawn(proxy.context_, [self = shared_from_this()] { return self->open(); }, asio::detached);
    }

    asio::awaitable<void> open()
    {
        if (proxy.fault_ == fault::refuse) {
            close();
            co_return;
        }
        auto [ec] = co_await server.async_connect({asio::ip::address_v4::loopback(), proxy.server_port_}, token);
        if (ec) {
            close();
            co_return;
        }
        boost::system::error_code ignored;
        client.set_option(tcp::no_delay(true), ignored);
        server.set_option(tcp::no_delay(true), ignored);
        asio::co_spawn(proxy.context_, [self = shared_from_this()] { return self->pump(self->client, self->server, false); }, asio::detached);
        co_await pump(server, client, true);
    }

    asio::awaitable<void> pump(tcp::socket& from, tcp::socket& to, bool replies)
    {
        auto const self = shared_from_this();
        std::array<char, 4096> buffer;
        for (;;) {
            auto [ec, size] = co_await from.async_read_some(asio::buffer(buffer), token);
            if (ec)
                break;
            while (proxy.fault_ == fault::half_open || (replies && proxy.fault_ == fault::deaf)) {
                if (replies && proxy.fault_ == fault::deaf) {
                    size = 0;  // this one is lost for good; what follows would make no sense, so nothing does
                    reset_later = true;
                }
                co_await pause_for(5ms);
            }
            if (size == 0 || reset_later)
                break;
            if (proxy.fault_ == fault::delay)
                co_await pause_for(std::chrono::milliseconds(proxy.delay_ms));
            std::string_view const bytes(buffer.data(), size);
            if (replies && proxy.fault_ == fault::reset) {
                co_await asio::async_write(to, asio::buffer(bytes.substr(0, (size + 1) / 2)), token);
                break;
            }
            if (replies && proxy.fault_ == fault::trickle) {
                for (char const& c : bytes) {
                    co_await asio::async_write(to, asio::buffer(&c, 1), token);
                    co_await asio::post(asio::use_awaitable);
                }
                continue;
            }
            auto [failed, written] = co_await asio::async_write(to, asio::buffer(bytes), token);
            if (failed)
                break;
            if (replies && proxy.fault_ == fault::garbage)
                co_await asio::async_write(to, asio::buffer(std::string_view("\x01?garbage\r\n$-5\r\n")), token);
        }
        close();
    }

    void close()
    {
        boost::system::error_code ignored;
        for (auto* s : {&client, &server}) {
            s->set_option(asio::socket_base::linger(true, 0), ignored);
            s->close(ignored);
        }
    }

    faulty_proxy& proxy;
    tcp::socket client;
    tcp::socket server;
    bool reset_later = false;
};

faulty_proxy::faulty_proxy(std::uint16_t port)
    : acceptor_(context_, {asio::ip::address_v4::loopback(), 0}), server_port_(port), port_(acceptor_.local_endpoint().port())
{
    accept();
}

void faulty_proxy::start()
{
    thread_ = std::thread([this] { context_.run(); });
}

faulty_proxy::~faulty_proxy()
{
    context_.stop();
    if (thread_.joinable())
        thread_.join();
}

void faulty_proxy::accept()
{
    acceptor_.async_accept([this](boost::system::error_code ec, tcp::socket s) {
        if (ec)
            return;
        ++connections;
        std::make_shared<session>(*this, std::move(s))->start();
        accept();
    });
}

}  // namespace redlock::test
