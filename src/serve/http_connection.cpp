#include "serve/http_connection.hpp"

#include "serve/as_result.hpp"
#include "serve/call_on.hpp"

#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/write.hpp>

#include <chrono>
#include <exception>
#include <optional>
#include <utility>

namespace redlock::serve {

namespace {

namespace beast = boost::beast;
namespace http = boost::beast::http;
using boost::system::error_code;
using namespace asio::experimental::awaitable_operators;
using namespace std::chrono_literals;

constexpr auto idle_time = 60s, transfer_time = 10s;
constexpr std::size_t header_max = 16 * 1024, body_max = 256 * 1024;
constexpr std::size_t early_input_max = 64 * 1024;  // while a request is under way

// Ends when the client has gone. It keeps what the client sends early.
template <class Stream>
asio::awaitable<void> until_gone(Stream& s, beast::flat_buffer& input)
{
    while (input.size() < early_input_max) {
        auto [ec, size] = co_await s.async_read_some(input.prepare(512), as_result);
        if (ec)
            co_return;
        input.commit(size);
    }
    asio::steady_timer never(s.get_executor(), asio::steady_timer::time_point::max());
    co_await never.async_wait(as_result);
}

// @return whether it has ended in time
template <class T>
asio::awaitable<std::optional<T>> within(std::chrono::seconds limit, asio::awaitable<T> what)
{
    asio::steady_timer timer(co_await asio::this_coro::executor, limit);
    auto ended = co_await (std::move(what) || timer.async_wait(asio::use_awaitable));
    co_return ended.index() == 0 ? std::optional<T>(std::get<0>(std::move(ended))) : std::nullopt;
}

using parser_type = http::request_parser<http::string_body>;

template <class Stream>
asio::awaitable<error_code> read_header(Stream& s, beast::flat_buffer& input, parser_type& parser)
{
    auto [ec, size] = co_await http::async_read_header(s, input, parser, as_result);
    co_return ec;
}

template <class Stream>
asio::awaitable<error_code> read_rest(Stream& s, beast::flat_buffer& input, parser_type& parser)
{
    auto [ec, size] = co_await http::async_read(s, input, parser, as_result);
    co_return ec;
}

template <class Stream>
asio::awaitable<error_code> write(Stream& s, response& r)
{
    auto [ec, size] = co_await http::async_write(s, r, as_result);
    co_return ec;
}

template <class Stream>
asio::awaitable<error_code> write_header(Stream& s, response& r)
{
    http::response_serializer<http::string_body> serializer(r);
    auto [ec, size] = co_await http::async_write_header(s, serializer, as_result);
    co_return ec;
}

template <class Stream>
asio::awaitable<error_code> write_text(Stream& s, std::string const& text)
{
    auto [ec, size] = co_await asio::async_write(s, asio::buffer(text), as_result);
    co_return ec;
}

asio::awaitable<error_code> shake_hands(asio::ssl::stream<http_connection::socket&>& s)
{
    auto [ec] = co_await s.async_handshake(asio::ssl::stream_base::server, as_result);
    co_return ec;
}

asio::awaitable<error_code> say_goodbye(asio::ssl::stream<http_connection::socket&>& s)
{
    auto [ec] = co_await s.async_shutdown(as_result);
    co_return ec;
}

// The answer to what is no request, or too large. Empty: there is nobody to answer.
std::optional<response> refusal_of(request const& r, error_code ec)
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

http_connection::http_connection(socket s, api& a, asio::any_io_executor of_api, asio::ssl::context* tls)
    : socket_(std::move(s)), api_(a), of_api_(std::move(of_api)), tls_(tls)
{
}

void http_connection::stop()
{
    asio::post(socket_.get_executor(), [self = shared_from_this()] {
        self->stopping_ = true;
        error_code ignored;
        if (self->is_idle_)
            self->socket_.close(ignored);
    });
}

void http_connection::close()
{
    asio::post(socket_.get_executor(), [self = shared_from_this()] {
        error_code ignored;
        self->socket_.close(ignored);
    });
}

asio::awaitable<void> http_connection::run()
{
    auto const self = shared_from_this();
    try {
        if (tls_) {
            asio::ssl::stream<socket&> s(socket_, *tls_);
            auto const ready = co_await within(transfer_time, shake_hands(s));
            if (ready && !*ready) {
                co_await answer_all(s);
                co_await within(1s, say_goodbye(s));
            }
        } else {
            co_await answer_all(socket_);
        }
    } catch (std::exception const&) {  // the connection is over
    }
    error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_both, ignored);
    socket_.close(ignored);
}

template <class Stream>
asio::awaitable<void> http_connection::answer_all(Stream& s)
{
    beast::flat_buffer input(header_max + body_max);
    while (co_await answer_one(s, input) && !stopping_) {
    }
}

// @return whether the connection stays open
template <class Stream, class Buffer>
asio::awaitable<bool> http_connection::answer_one(Stream& s, Buffer& input)
{
    parser_type parser;
    parser.header_limit(header_max);
    parser.body_limit(body_max);
    is_idle_ = true;
    auto read = co_await within(idle_time, read_header(s, input, parser));
    is_idle_ = false;
    if (read && !*read)
        read = co_await within(transfer_time, read_rest(s, input, parser));
    if (!read)
        co_return false;
    auto const asked = parser.release();
    if (*read) {
        if (auto refusal = refusal_of(asked, *read))
            co_await within(transfer_time, write(s, *refusal));
        co_return false;
    }

    answer result;  // there may be one although the client has gone
    auto const ended = co_await (handle(asked, result) || until_gone(s, input));
    bool is_sent = false;
    if (ended.index() == 0) {
        bool const stays = result.response.keep_alive() && !stopping_;
        result.response.keep_alive(stays);
        is_sent = co_await send(s, result);
        if (is_sent && result.events)
            co_await (send_events(s, *result.events) || until_gone(s, input));
    }
    if (result.events)  // the session must learn of its end on its own executor
        asio::post(of_api_, [stream = std::move(result.events)] {});
    if (!is_sent && result.acquired)
        co_await give_back(*result.acquired);
    co_return is_sent&& result.response.keep_alive();
}

template <class Stream>
asio::awaitable<bool> http_connection::send(Stream& s, answer& a)
{
    std::optional<error_code> written;
    if (a.events)
        written = co_await within(transfer_time, write_header(s, a.response));
    else
        written = co_await within(transfer_time, write(s, a.response));
    co_return written && !*written;
}

template <class Stream>
asio::awaitable<void> http_connection::send_events(Stream& s, event_stream& events)
{
    for (;;) {
        std::optional<std::string> text;
        auto const start = [&]() -> asio::awaitable<void> { text = co_await events.next(); };
        co_await call_on(of_api_, start);
        if (!text)
            co_return;
        if (text->empty())
            continue;
        auto const written = co_await within(transfer_time, write_text(s, *text));
        if (!written || *written)
            co_return;
    }
}

asio::awaitable<void> http_connection::handle(request const& asked, answer& result)
{
    auto const start = [&]() -> asio::awaitable<void> { result = co_await api_.handle(asked); };
    co_await call_on(of_api_, start);
}

asio::awaitable<void> http_connection::give_back(lock_ticket t)
{
    auto const start = [&]() -> asio::awaitable<void> { co_await api_.give_back(std::move(t)); };
    co_await call_on(of_api_, start);
}

}  // namespace redlock::serve
