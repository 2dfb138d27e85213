#include "tools/redlock/locks/service_exchange.hpp"

#include "tools/redlock/args/output.hpp"
#include "tools/redlock/locks/service_connection.hpp"
#include "net/url.hpp"
#include "runtime/as_result.hpp"

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/format.h>

#include <utility>

namespace redlock::cli {

namespace {

namespace http = boost::beast::http;
using std::chrono::milliseconds;

constexpr std::uint32_t header_max = 64 * 1024;  // the field Location has all names of a lock
constexpr std::size_t words_max = 1000;          // bytes of an answer that people read

http::request<http::string_body> message_of(service_request const& q, service_url const& to)
{
    http::request<http::string_body> m(q.method, q.target, 11);
    m.set(http::field::host, to.socket.empty() ? net::to_string({to.host, to.port}) : "localhost");
    m.set(http::field::accept, "application/json");
    if (!to.token.empty())
        m.set(http::field::authorization, "Bearer " + to.token);
    if (!q.if_match.empty())
        m.set(http::field::if_match, q.if_match);
    if (!q.idempotency_key.empty())
        m.set("Idempotency-Key", q.idempotency_key);
    if (!q.body.empty()) {
        m.set(http::field::content_type, "application/json");
        m.body() = boost::json::serialize(q.body);
    }
    m.prepare_payload();
    return m;
}

std::string text_in(boost::json::object const& o, std::string_view name)
{
    auto const* const value = o.if_contains(name);
    return value && value->is_string() ? std::string(value->get_string()) : std::string();
}

// Whether the other side does not speak HTTP. A service that ends in the middle of an answer does.
bool is_no_http(error_code failure)
{
    return failure.category() == make_error_code(http::error::end_of_stream).category()
           && failure != http::error::end_of_stream && failure != http::error::partial_message;
}

void take(service_answer& a, http::response<http::string_body> const& m)
{
    a.status = m.result_int();
    a.etag = std::string(m[http::field::etag]);
    if (m.body().empty() && a.status == 204)
        return;
    error_code ec;
    auto document = boost::json::parse(m.body(), ec);
    if (ec || !document.is_object()) {
        a.trouble = fmt::format("the answer with status {} is no JSON object, so this is no redlock serve", a.status);
        return;
    }
    a.body = std::move(document.get_object());
    a.type = text_in(a.body, "type");
    if (a.status >= 300 && !a.type.starts_with("urn:redlock:"))
        a.trouble = fmt::format("the answer with status {} has no type of redlock serve", a.status);
}

asio::awaitable<error_code> exchange(service_connection& connection, service_instance const& to,
                                     service_request const& q, service_answer& a)
{
    http::response_parser<http::string_body> answer;
    answer.body_limit(q.answer_max);
    answer.header_limit(header_max);
    auto const message = message_of(q, to.url);
    a.sent = clock::now();
    auto const [unsent, sent] = co_await http::async_write(connection, message, runtime::as_result);
    if (unsent)
        co_return unsent;
    boost::beast::flat_buffer input;
    auto const [unread, size] = co_await http::async_read(connection, input, answer, runtime::as_result);
    connection.is_kept = !unread && answer.keep_alive() && input.size() == 0;
    a.is_reached = true;
    if (!unread)
        take(a, answer.get());
    co_return unread;
}

}  // namespace

std::string service_answer::words() const
{
    auto const in_front = from.empty() ? std::string() : from + ": ";
    if (!trouble.empty())
        return in_front + trouble;
    auto const detail = text_in(body, "detail");
    auto const& told = detail.empty() ? type : detail;
    return fmt::format("{}{}{} ({})", in_front, printable(std::string_view(told).substr(0, words_max)),
                       told.size() > words_max ? "…" : "", status);
}

exit_status status_of(service_answer const& a)
{
    if (!a.trouble.empty() || a.is("urn:redlock:unavailable") || a.is("urn:redlock:stopping") || a.status == 504)
        return no_quorum;
    if (a.status == 401 || a.status == 403)
        return no_permission;
    if (a.status == 409 || a.status == 429 || a.status == 503)
        return busy;
    if (a.status == 400 || a.status == 413 || a.status == 431)
        return wrong_usage;
    return a.status == 404 || a.status == 412 ? no : failed;
}

asio::awaitable<void> exchange(asio::any_io_executor executor, service_instance& to, service_request const& q,
                               milliseconds connect_limit, service_answer& a)
{
    auto connection = q.method == http::verb::post ? nullptr : std::exchange(to.idle, nullptr);
    error_code failure = connection ? co_await exchange(*connection, to, q, a) : http::error::end_of_stream;
    if (failure) {
        a.may_be_second = a.may_be_second || connection;
        connection = std::make_shared<service_connection>(std::move(executor), to.url, to.tls);
        a.trouble = co_await connection->open(connect_limit);
        a.is_reached = a.trouble.empty();
        if (!a.is_reached)
            co_return;
        failure = co_await exchange(*connection, to, q, a);
    }
    if (failure)
        a.trouble = failure.message();
    else if (connection->is_kept)
        to.idle = std::move(connection);
    if (is_no_http(failure) || (!failure && !a.trouble.empty()))
        a.is_reached = false;
}

}  // namespace redlock::cli
