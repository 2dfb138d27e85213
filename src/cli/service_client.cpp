#include "cli/service_client.hpp"

#include "cli/early_exit.hpp"
#include "cli/output.hpp"
#include "cli/service_connection.hpp"
#include "net/tls_settings.hpp"
#include "net/url.hpp"
#include "runtime/as_result.hpp"
#include "runtime/within.hpp"

#include <boost/asio/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/http/write.hpp>
#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

namespace redlock::cli {

namespace {

namespace http = boost::beast::http;
using std::chrono::milliseconds;

constexpr std::uint64_t body_max = 64 * 1024 * 1024;  // a page of a list has less
constexpr std::uint32_t header_max = 64 * 1024;       // the field Location has all names of a lock

http::request<http::string_body> message_of(service_request const& q, service_url const& to)
{
    http::request<http::string_body> m(q.method, q.target, 11);
    m.set(http::field::host, to.socket.empty() ? net::to_string({to.host, to.port}) : "localhost");
    m.set(http::field::accept, "application/json");
    m.set(http::field::connection, "close");
    if (!to.token.empty())
        m.set(http::field::authorization, "Bearer " + to.token);
    if (!q.if_match.empty())
        m.set(http::field::if_match, q.if_match);
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

// @p failure in words. The time limit is the only reason why an operation is cancelled and the caller goes on.
std::string words_of(error_code failure, milliseconds limit)
{
    return failure == asio::error::operation_aborted ? "no answer within " + in_words(limit) : failure.message();
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

}  // namespace

std::string service_answer::words() const
{
    if (!trouble.empty())
        return trouble;
    auto const detail = text_in(body, "detail");
    return fmt::format("{}: {} ({})", from, detail.empty() ? type : printable(detail), status);
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

service_client::service_client(asio::any_io_executor executor, settings const& s, std::string_view command)
    : executor_(std::move(executor)), urls_(s.services), connect_timeout_(s.locks.connect_timeout)
{
    for (auto const& u : urls_) {
        try {
            net::url host;
            host.host = u.host;
            tls_.push_back(u.has_tls ? net::tls_settings(host, s.locks.tls) : net::tls_settings());
        } catch (std::invalid_argument const& e) {
            throw early_exit(wrong_configuration, fmt::format("redlock {}: {}", command, e.what()));
        }
    }
}

service_client::~service_client() = default;

asio::awaitable<service_answer> service_client::ask_one(service_request const& q)
{
    auto const& to = urls_[current_];
    service_answer a{.from = to.name()};
    service_connection connection(executor_, to, tls_[current_]);
    auto limit = std::min(connect_timeout_, q.limit);
    error_code failure = co_await connection.open(limit);
    http::response_parser<http::string_body> answer;
    answer.body_limit(body_max);
    answer.header_limit(header_max);
    a.is_reached = !failure;
    if (!failure) {
        auto const message = message_of(q, to);
        limit = q.limit;
        a.sent = clock::now();
        auto const [unsent, sent] = co_await within(q.limit, http::async_write(connection, message, as_result));
        failure = unsent;
    }
    if (!failure) {
        boost::beast::flat_buffer input;
        auto const [unread, size] = co_await within(q.limit, http::async_read(connection, input, answer, as_result));
        failure = unread;
    }
    if (failure)
        a.trouble = words_of(failure, limit);
    else
        take(a, answer.get());
    if (is_no_http(failure) || (!failure && !a.trouble.empty()))
        a.is_reached = false;
    if (!a.trouble.empty())
        a.trouble = fmt::format("{}: {}", a.from, a.trouble);
    co_return a;
}

asio::awaitable<service_answer> service_client::ask(service_request const& q)
{
    std::string troubles;
    bool is_reached = false;
    service_answer a;
    for (std::size_t tried = 0; tried < urls_.size(); ++tried) {
        a = co_await ask_one(q);
        if (!a.is_of_no_use())
            co_return a;
        is_reached = is_reached || a.is_reached;
        troubles.append(troubles.empty() ? "no service answers: " : "; ").append(a.words());
        turn_to_next();
    }
    a.trouble = troubles;
    a.is_reached = is_reached;
    co_return a;
}

}  // namespace redlock::cli
