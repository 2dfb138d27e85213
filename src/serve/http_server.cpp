#include "serve/http_server.hpp"

#include "serve/as_result.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <optional>
#include <tuple>
#include <unistd.h>
#include <utility>

namespace redlock::serve {

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

constexpr auto idle_time = 60s, transfer_time = 10s;
constexpr std::size_t header_max = 16 * 1024, body_max = 256 * 1024;
constexpr std::size_t early_input_max = 64 * 1024;  // while a request is under way

// Ends when the client has gone. It keeps what the client sends early.
asio::awaitable<void> until_gone(http_server::socket& s, beast::flat_buffer& input)
{
    while (input.size() < early_input_max) {
        auto [ec, size] = co_await s.async_read_some(input.prepare(2048), as_result);
        if (ec)
            co_return;
        input.commit(size);
    }
    asio::steady_timer never(s.get_executor(), asio::steady_timer::time_point::max());
    co_await never.async_wait(as_result);
}

// @return whether it has ended in time
template <class T>
asio::awaitable<std::optional<T>> within(asio::any_io_executor e, std::chrono::seconds limit, asio::awaitable<T> what)
{
    asio::steady_timer timer(e, limit);
    auto ended = co_await (std::move(what) || timer.async_wait(asio::use_awaitable));
    co_return ended.index() == 0 ? std::optional<T>(std::get<0>(std::move(ended))) : std::nullopt;
}

asio::awaitable<boost::system::error_code> read_header(http_server::socket& s, beast::flat_buffer& input,
                                                       http::request_parser<http::string_body>& parser)
{
    auto [ec, size] = co_await http::async_read_header(s, input, parser, as_result);
    co_return ec;
}

asio::awaitable<boost::system::error_code> read_rest(http_server::socket& s, beast::flat_buffer& input,
                                                     http::request_parser<http::string_body>& parser)
{
    auto [ec, size] = co_await http::async_read(s, input, parser, as_result);
    co_return ec;
}

asio::awaitable<boost::system::error_code> write(http_server::socket& s, response& r)
{
    auto [ec, size] = co_await http::async_write(s, r, as_result);
    co_return ec;
}

// The answer to what is no request, or too large. Empty: there is nobody to answer.
std::optional<response> refusal_of(request const& r, boost::system::error_code ec)
{
    if (ec == http::error::end_of_stream || ec.category() != make_error_code(http::error::end_of_stream).category())
        return std::nullopt;
    auto const status = ec == http::error::body_limit     ? http::status::payload_too_large
                        : ec == http::error::header_limit ? http::status::request_header_fields_too_large
                                                          : http::status::bad_request;
    auto answer = problem(r, status, "bad-request", "The request is wrong", ec.message());
    answer.keep_alive(false);
    return answer;
}

}  // namespace

http_server::http_server(asio::any_io_executor e, api& a, std::size_t connections_max)
    : executor_(e), api_(a), connections_max_(connections_max), acceptor_(e)
{
}

void http_server::listen(listen_address const& a)
{
    acceptor_.open(a.endpoint.protocol());
    if (a.socket.empty())
        acceptor_.set_option(asio::socket_base::reuse_address(true));
    acceptor_.bind(a.endpoint);
    socket_path_ = a.socket;
    acceptor_.listen();
    url_ = url_of(a, acceptor_.local_endpoint());
    asio::co_spawn(
        executor_, [self = shared_from_this()] { return self->accept(); }, asio::detached);
}

void http_server::stop()
{
    stopping_ = true;
    boost::system::error_code ignored;
    acceptor_.close(ignored);
    if (!socket_path_.empty())
        ::unlink(socket_path_.c_str());
    for (auto& c : connections_) {
        if (c.is_idle)
            c.stream.close(ignored);
    }
}

void http_server::close()
{
    boost::system::error_code ignored;
    for (auto& c : connections_)
        c.stream.close(ignored);
}

asio::awaitable<void> http_server::accept()
{
    asio::steady_timer pause(executor_);
    while (!stopping_) {
        if (connections_.size() >= connections_max_) {
            pause.expires_after(10ms);
            co_await pause.async_wait(as_result);
            continue;
        }
        auto [ec, s] = co_await acceptor_.async_accept(as_result);
        if (stopping_)
            co_return;
        if (ec) {  // such as too many open files
            pause.expires_after(100ms);
            co_await pause.async_wait(as_result);
            continue;
        }
        connections_.push_back({std::move(s)});
        auto const at = std::prev(connections_.end());
        asio::co_spawn(
            executor_, [self = shared_from_this(), at] { return self->serve(at); }, asio::detached);
    }
}

asio::awaitable<void> http_server::serve(place at)
{
    auto const self = shared_from_this();
    beast::flat_buffer input(header_max + body_max);
    try {
        while (co_await serve_one(*at, input) && !stopping_) {
        }
    } catch (std::exception const&) {  // the connection is over
    }
    boost::system::error_code ignored;
    at->stream.shutdown(asio::socket_base::shutdown_both, ignored);
    connections_.erase(at);
}

asio::awaitable<void> http_server::handle(request const& asked, answer& result)
{
    result = co_await api_.handle(asked);
}

// @return whether the connection stays open
asio::awaitable<bool> http_server::serve_one(connection& c, beast::flat_buffer& input)
{
    auto& s = c.stream;
    http::request_parser<http::string_body> parser;
    parser.header_limit(header_max);
    parser.body_limit(body_max);
    c.is_idle = true;
    auto read = co_await within(executor_, idle_time, read_header(s, input, parser));
    c.is_idle = false;
    if (read && !*read)
        read = co_await within(executor_, transfer_time, read_rest(s, input, parser));
    if (!read)
        co_return false;
    auto const asked = parser.release();
    if (*read) {
        if (auto refusal = refusal_of(asked, *read))
            co_await within(executor_, transfer_time, write(s, *refusal));
        co_return false;
    }

    answer result;  // there may be one although the client has gone
    auto const ended = co_await (handle(asked, result) || until_gone(s, input));
    bool const stays = ended.index() == 0 && result.response.keep_alive() && !stopping_;
    bool is_sent = false;
    if (ended.index() == 0) {
        result.response.keep_alive(stays);
        auto const written = co_await within(executor_, transfer_time, write(s, result.response));
        is_sent = written && !*written;
    }
    if (!is_sent && result.acquired)
        co_await api_.give_back(*result.acquired);
    co_return is_sent&& stays;
}

}  // namespace redlock::serve
