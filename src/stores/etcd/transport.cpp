#include "stores/etcd/transport.hpp"

#include "net/secrets.hpp"
#include "net/url_text.hpp"
#include "runtime/as_result.hpp"
#include "stores/etcd/refusal.hpp"

#include <redlock/error.hpp>

#include <boost/asio/ssl/error.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/chunk_encode.hpp>
#include <boost/beast/http/empty_body.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/json/parse.hpp>
#include <fmt/format.h>
#include <openssl/ssl.h>

#include <memory>
#include <utility>
#include <vector>

namespace redlock::stores::etcd {

namespace http = boost::beast::http;

namespace {

constexpr std::size_t body_max = 16 << 20;
constexpr std::string_view asks_for_port =
    "; is this the client port of an etcd server (--listen-client-urls, mostly 2379)?";

http::request<http::string_body> make_request(server const& s, std::string_view path, std::string_view token)
{
    http::request<http::string_body> r(http::verb::post, path, 11);
    r.set(http::field::host, net::to_string(s.member));
    r.set(http::field::content_type, "application/json");
    if (!token.empty())
        r.set(http::field::authorization, token);
    return r;
}

}  // namespace

std::vector<std::shared_ptr<server const>> servers_of(address const& a, manager_options const& c)
{
    std::vector<std::shared_ptr<server const>> all;
    for (auto const& m : a.members) {
        net::url host;
        host.host = m.host;
        auto certificates = a.tls ? net::tls_settings(host, c.tls) : net::tls_settings();
        all.push_back(std::make_shared<server>(server{m, a.tls, std::move(certificates), c.connect_timeout}));
    }
    return all;
}

http_transport::http_transport(asio::any_io_executor e, std::shared_ptr<server const> s)
    : executor_(std::move(e)), server_(std::move(s)), limit_(executor_)
{
}

void http_transport::close()
{
    closed_ = true;
    cut();
}

void http_transport::cut()
{
    error_code ignored;
    limit_.cancel();
    if (resolver_)
        resolver_->cancel();
    if (stream_)
        stream_->plain().close(ignored);
}

// The connection ends after @p d.
void http_transport::limit(std::chrono::milliseconds d)
{
    limit_.expires_after(d);
    limit_.async_wait([weak = weak_from_this()](error_code ec) {
        if (auto const self = weak.lock(); !ec && self) {
            self->silent_ = true;
            self->cut();
        }
    });
}

answer http_transport::failure(error_code ec, bool untouched) const
{
    auto words = silent_ ? std::string(answered_ ? "it has stopped answering" : "it does not answer") : ec.message();
    if (!answered_)
        words += asks_for_port;
    if (!answered_ && !server_->tls)
        words += " If it requires TLS there, its URL begins with etcds://";
    return {{},
            {.untouched = untouched,
             .error = untouched ? errc::node_unreachable : errc::connection_lost,
             .text = std::move(words)}};
}

asio::awaitable<node_reply> http_transport::open()
{
    auto const& m = server_->member;
    std::vector<asio::ip::tcp::endpoint> found;
    node_reply why{.untouched = true, .error = errc::node_unreachable};
    error_code not_an_address;
    if (auto const a = asio::ip::make_address(m.host, not_an_address); !not_an_address) {
        found.emplace_back(a, static_cast<std::uint16_t>(std::stoi(m.port)));
    } else {
        limit(server_->connect_timeout);
        resolver_.emplace(executor_);
        auto const [ec, results] = co_await resolver_->async_resolve(m.host, m.port, runtime::as_result);
        for (auto const& r : results)
            found.push_back(r.endpoint());
        why.text = fmt::format("cannot resolve {}: {}", m.host, silent_ ? "no answer" : ec.message());
    }
    for (auto const& where : found) {
        if (closed_)
            break;
        why = co_await connect(where);
        if (!why.error)
            break;
    }
    limit_.cancel();
    co_return why;
}

asio::awaitable<node_reply> http_transport::connect(asio::ip::tcp::endpoint where)
{
    silent_ = false;
    buffer_.reserve(16 * 1024);
    stream_.emplace(executor_);
    limit(server_->connect_timeout);
    auto const [ec] = co_await stream_->plain().async_connect(where, runtime::as_result);
    if (ec)
        co_return node_reply{.untouched = true,
                             .error = errc::node_unreachable,
                             .text = (silent_ ? "it does not answer" : ec.message()) + std::string(asks_for_port)};
    error_code ignored;
    stream_->plain().set_option(asio::ip::tcp::no_delay(true), ignored);
    // A reset discards unsent bytes when the client gives up the connection.
    stream_->plain().set_option(asio::socket_base::linger(true, 0), ignored);
    if (!server_->tls)
        co_return node_reply{};
    limit(server_->connect_timeout);
    auto const [failed] =
        co_await stream_->async_handshake(server_->certificates, server_->member.host, runtime::as_result);
    if (!failed)
        co_return node_reply{};
    auto why = failure(failed, true).why;
    auto const verified = SSL_get_verify_result(stream_->tls());
    why.text += verified == X509_V_OK ? " If it speaks no TLS there, its URL begins with etcd://"
                                      : std::string(": ") + X509_verify_cert_error_string(verified);
    co_return why;
}

asio::awaitable<answer> http_transport::ask(std::string_view path, std::string body, std::string_view token,
                                            std::chrono::milliseconds timeout)
{
    limit(timeout);
    auto request = make_request(*server_, path, token);
    request.body() = std::move(body);
    request.prepare_payload();
    auto const [not_written, written] = co_await http::async_write(*stream_, request, runtime::as_result);
    if (not_written)
        co_return failure(not_written, false);
    http::response_parser<http::string_body> response;
    response.body_limit(body_max);
    auto const [not_read, size] = co_await http::async_read(*stream_, buffer_, response, runtime::as_result);
    limit_.cancel();
    if (not_read)
        co_return failure(not_read, false);
    auto a = decode(response.get().result_int(), response.get().body());
    if (!response.keep_alive())
        close();
    co_return a;
}

// The body of the request never ends. Servers read a body while they answer only if the connection is not used again.
asio::awaitable<answer> http_transport::begin_stream(std::string_view path, std::string first, std::string_view token,
                                                     std::chrono::milliseconds timeout)
{
    limit(timeout);
    auto const head = make_request(*server_, path, token);
    http::request<http::empty_body> request(head.base());
    request.set(http::field::connection, "close");
    request.chunked(true);
    http::request_serializer<http::empty_body> serializer(request);
    auto const [not_written, written] = co_await http::async_write_header(*stream_, serializer, runtime::as_result);
    if (not_written)
        co_return failure(not_written, true);
    co_await write(std::move(first));
    response_.emplace();
    response_->body_limit(boost::none);
    auto a = co_await read();
    limit_.cancel();
    co_return a;
}

asio::awaitable<void> http_transport::write(std::string message)
{
    message += '\n';
    // The reader reports errors.
    co_await asio::async_write(*stream_, http::make_chunk(asio::buffer(message)), runtime::as_result);
}

asio::awaitable<answer> http_transport::read()
{
    for (;;) {
        auto& body = response_->get().body();
        if (auto const end = body.find('\n'); end != body.npos) {
            auto const line = body.substr(0, end);
            body.erase(0, end + 1);
            co_return decode(response_->get().result_int(), line);
        }
        if (response_->is_done())
            co_return body.empty() ? failure(http::error::end_of_stream, true)
                                   : decode(response_->get().result_int(), std::exchange(body, {}));
        auto const [ec, size] = co_await http::async_read_some(*stream_, buffer_, *response_, runtime::as_result);
        if (ec)
            co_return failure(ec, true);
    }
}

answer http_transport::decode(unsigned status, std::string_view body)
{
    error_code ec;
    auto said = json::parse(body, ec);
    if (ec || !said.is_object()) {
        auto const words =
            fmt::format("HTTP {}: {}", status, body.substr(0, body.find_first_of("\r\n")).substr(0, 200));
        auto const hint = words.find("HTTPS") != words.npos
                              ? std::string("; it requires TLS on this port: its URL begins with etcds://")
                              : std::string(asks_for_port) + " It must be etcd 3.4 or newer";
        return {
            {},
            {.untouched = !answered_, .error = errc::unexpected_reply, .text = net::without(words, {secret_}) + hint}};
    }
    answered_ = true;
    auto& content = said.get_object();
    if (status == 200 && !content.if_contains("error"))
        return {std::move(content), {}};
    return refusal(content, secret_);
}

}  // namespace redlock::stores::etcd
