#include "server.hpp"

#include "page.hpp"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>

#include <cstdio>
#include <optional>
#include <string>
#include <utility>

namespace shop {

using namespace std::chrono_literals;
using redlock::error_code;
using redlock::system_error;

namespace {

constexpr auto patience = 30s;  // timeout for the arrival of a request, and for sending an answer
constexpr std::size_t body_max = 16 * 1024;
constexpr std::uint32_t header_max = 8 * 1024;

bool is_same(std::string_view a, std::string_view b) { return boost::beast::iequals(a, b); }

// Whether a page of another site has made the browser send the request. Such a page must not place orders for its
// visitors.
bool comes_from_elsewhere(request const& r)
{
    auto const origin = r[http::field::origin];
    if (origin.empty())  // not from a browser, or from one that sends no Origin with this request
        return is_same(r["Sec-Fetch-Site"], "cross-site");
    auto const host = origin.find("://");
    return host == origin.npos || !is_same(origin.substr(host + 3), r[http::field::host]);
}

}  // namespace

server::server(asio::io_context& context, shop& s, settings const& how, std::uint16_t port)
    : context_(context),
      strand_(asio::make_strand(context)),
      shop_(s),
      settings_(how),
      acceptor_(strand_, {asio::ip::address_v4::loopback(), port}),
      place_is_free_(strand_),
      all_gone_(strand_, asio::steady_timer::time_point::max())
{
}

void server::start() { asio::co_spawn(strand_, accept(), asio::detached); }

asio::awaitable<void> server::accept()
{
    while (!stopping_) {
        error_code ec;
        if (connections_.size() >= settings_.connections_max) {  // further connections wait in the backlog
            place_is_free_.expires_at(asio::steady_timer::time_point::max());
            co_await place_is_free_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
            continue;
        }
        tcp::socket socket =
            co_await acceptor_.async_accept(asio::make_strand(context_), asio::redirect_error(asio::use_awaitable, ec));
        if (ec == asio::error::operation_aborted || stopping_)
            co_return;
        if (ec) {  // for example, no descriptor is free: try again later
            asio::steady_timer pause(strand_, 50ms);
            co_await pause.async_wait(asio::use_awaitable);
            continue;
        }
        error_code ignored;
        socket.set_option(tcp::no_delay(true), ignored);
        auto const c = std::make_shared<connection>(std::move(socket));
        connections_.push_back(c);
        ++shop_.count.connections;
        asio::co_spawn(c->stream.get_executor(), serve(c),
                       [this, c](std::exception_ptr) { asio::post(strand_, [this, c] { finish(c); }); });
    }
}

void server::finish(std::shared_ptr<connection> const& c)
{
    connections_.remove(c);
    place_is_free_.cancel();
    --shop_.count.connections;
    if (connections_.empty() && stopping_)
        all_gone_.cancel();
}

asio::awaitable<void> server::serve(std::shared_ptr<connection> c)
{
    for (bool goes_on = true; goes_on && !stopping_;) {
        http::request_parser<http::string_body> parser;
        parser.body_limit(body_max);
        parser.header_limit(header_max);
        c->stream.expires_after(patience);
        error_code ec;
        co_await http::async_read_header(c->stream, c->input, parser, asio::redirect_error(asio::use_awaitable, ec));
        // The client waits before it sends the body. In HTTP/1.0, the field has no meaning.
        if (!ec && !parser.is_done() && parser.get().version() >= 11
            && is_same(parser.get()[http::field::expect], "100-continue"))
            co_await asio::async_write(c->stream, asio::buffer(std::string_view("HTTP/1.1 100 Continue\r\n\r\n")),
                                       asio::redirect_error(asio::use_awaitable, ec));
        if (!ec)
            co_await http::async_read(c->stream, c->input, parser, asio::redirect_error(asio::use_awaitable, ec));
        c->stream.expires_never();
        if (ec == http::error::body_limit || ec == http::error::header_limit || ec == http::error::buffer_overflow) {
            auto r = problem(parser.get(),
                             ec == http::error::body_limit ? http::status::payload_too_large
                                                           : http::status::request_header_fields_too_large,
                             "about:blank", "Too large", "A body may have 16 KiB, a header 8 KiB.");
            r.keep_alive(false);
            c->stream.expires_after(patience);
            co_await http::async_write(c->stream, r, asio::redirect_error(asio::use_awaitable, ec));
            break;
        }
        if (ec == http::error::end_of_stream || ec == boost::beast::error::timeout
            || ec == asio::error::operation_aborted)
            break;
        if (ec) {
            auto r = problem(parser.get(), http::status::bad_request, "about:blank", "This is no HTTP", ec.message());
            r.keep_alive(false);
            c->stream.expires_after(patience);
            co_await http::async_write(c->stream, r, asio::redirect_error(asio::use_awaitable, ec));
            break;
        }
        ++shop_.count.requests;
        request const r = parser.release();
        c->works = true;
        if (r.method() == http::verb::get && path_of(r) == "/events") {
            co_await stream_events(*c, r);
            break;
        }
        if (r.method() == http::verb::post && comes_from_elsewhere(r)) {
            auto const refusal = problem(r, http::status::forbidden, "about:blank", "From elsewhere",
                                         "Another site's page may not order here.");
            c->stream.expires_after(patience);
            co_await http::async_write(c->stream, refusal, asio::redirect_error(asio::use_awaitable, ec));
        } else {
            co_await answer(*c, r);
        }
        c->works = false;
        goes_on = !ec && r.keep_alive() && c->stream.socket().is_open();
    }
    error_code ignored;
    c->stream.socket().shutdown(tcp::socket::shutdown_send, ignored);
}

//[answer
asio::awaitable<void> server::answer(connection& c, request const& r)
{
    std::optional<response> reply;
    error_code failed;
    try {
        redlock::request_deadline const deadline(r, settings_.request_timeout);
        auto work = [&] { return shop_.handle(r, deadline); };
        // The slot cancels the work when the server stops.
        reply = co_await asio::co_spawn(c.stream.get_executor(),
                                        redlock::run_request(c.stream.socket(), c.input, deadline, work),
                                        asio::bind_cancellation_slot(c.cancel.slot(), asio::use_awaitable));
    } catch (system_error const& e) {
        failed = e.code();
    } catch (std::invalid_argument const& e) {
        reply = problem(r, http::status::bad_request, "about:blank", "Bad request", e.what());
    } catch (std::exception const& e) {
        std::fprintf(stderr, "redlock_shop: %s\n", e.what());
        reply = problem(r, http::status::internal_server_error, "about:blank", "The server is at fault",
                        "Its log says more.");
        ++shop_.count.errors;
    }
    if (failed == asio::error::eof) {  // the client has disconnected: no answer
        c.stream.close();
        co_return;
    }
    if (failed)
        reply = redlock::problem_response(r, failed);
    if (stopping_)
        reply->keep_alive(false);
    if (r.method() == http::verb::head)  // keeps Content-Length
        reply->body().clear();
    c.stream.expires_after(patience);
    co_await http::async_write(c.stream, *reply, asio::redirect_error(asio::use_awaitable, failed));
    if (failed)
        c.stream.close();
}
//]

// Sends the state for the page as server-sent events, five times a second.
asio::awaitable<void> server::stream_events(connection& c, request const& r)
{
    error_code ec;
    http::response<http::empty_body> head(http::status::ok, r.version());
    head.set(http::field::content_type, "text/event-stream");
    head.set(http::field::cache_control, "no-store");
    head.keep_alive(false);
    http::response_serializer<http::empty_body> serializer(head);
    co_await http::async_write_header(c.stream, serializer, asio::redirect_error(asio::use_awaitable, ec));
    asio::steady_timer pause(c.stream.get_executor());
    while (!ec && !stopping_) {
        std::string event = ": no news\n\n";
        try {
            std::string const state = co_await shop_.state();
            if (!state.empty())  // the first state is not ready yet
                event = "event: state\ndata: " + state + "\n\n";
        } catch (std::exception const&) {  // for example, an error of the database: try again with the next event
        }
        c.stream.expires_after(patience);
        co_await asio::async_write(c.stream, asio::buffer(event), asio::redirect_error(asio::use_awaitable, ec));
        if (ec)
            co_return;
        pause.expires_after(200ms);
        co_await pause.async_wait(asio::redirect_error(asio::use_awaitable, ec));
    }
}

asio::awaitable<void> server::stop(std::chrono::milliseconds grace)
{
    stopping_ = true;
    asio::post(strand_, [this, grace] {
        error_code ignored;
        acceptor_.close(ignored);
        place_is_free_.cancel();
        for (auto const& c : connections_) {
            asio::post(c->stream.get_executor(), [c] {
                if (!c->works)
                    c->stream.close();  // no request is under way
            });
        }
        auto const timer = std::make_shared<asio::steady_timer>(strand_, grace);
        timer->async_wait([this, timer](error_code) {
            for (auto const& c : connections_) {
                asio::post(c->stream.get_executor(), [c] {
                    c->cancel.emit(asio::cancellation_type::terminal);
                    // If the client does not read the answer within a second, the connection is closed.
                    c->stream.expires_after(1s);
                });
            }
        });
    });
    co_await asio::co_spawn(
        strand_,
        [this]() -> asio::awaitable<void> {
            error_code ec;
            while (!connections_.empty())
                co_await all_gone_.async_wait(asio::redirect_error(asio::use_awaitable, ec));
        },
        asio::use_awaitable);
}

}  // namespace shop
