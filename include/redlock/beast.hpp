#pragma once

/** @file
    Locks in HTTP handlers with Boost.Beast: an error response for a failed lock, a deadline for each request, and
    cancellation when the client has gone. Optional: `redlock.hpp` does not include it. docs/http.md is the guide.
*/

#include <redlock/error.hpp>
#include <redlock/lock_error.hpp>
#include <redlock/options.hpp>
#include <redlock/report.hpp>

#include <redlock/detail/http.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace redlock::inline v1 {

/** Makes the error response to a request whose lock could not be acquired, or was lost.

    - 409 "The lock is held": @ref errc::contended , without a wait
    - 503 "The lock is held": @ref errc::contended , after a wait
    - 503 "Too few lock servers answer": @ref errc::no_quorum , @ref errc::validity_exhausted
    - 503 "Too few lock servers vote": @ref errc::quarantined
    - 503 "Too many requests for locks": @ref errc::overloaded
    - 503 "The lock was lost": @ref errc::lost , @ref errc::not_held
    - 503 "The server shuts down": `asio::error::operation_aborted`
    - 504 "The deadline has passed": `boost::beast::error::timeout`
    - 500 "The server is at fault": any other error

    The body is `application/problem+json` (RFC 9457): `type`, `title`, `status`, `detail`, and with 409 and 503
    `retry_after_ms`. That is the result of @ref retry_after, from @p report if there is one. With 503 the header field
   `Retry-After` is the same, rounded up to seconds: 1 to 75. The response contains nothing of the lock: no token, no
   owner, no address.

    @return the complete response, ready to be written; it refers to none of the arguments

    @throws std::exception if the system has no random numbers: see @ref retry_after

    @par Thread safety
    May be called from any thread; does not wait.

    @param to The request. Its version and keep-alive are used.
    @param error The error of the lock.
    @param tried The options with which the lock was tried: whether it waited.
    @param report The report of the acquisition (`lock::report`), or null.
*/
template <class Body, class Fields>
boost::beast::http::response<boost::beast::http::string_body> problem_response(
    boost::beast::http::request<Body, Fields> const& to, error_code error, acquire_options const& tried = {},
    std::shared_ptr<attempt_report const> const& report = {})
{
    namespace http = boost::beast::http;
    auto const p = detail::problem_for(error, tried.wait.count() > 0, report.get());
    http::response<http::string_body> answer(static_cast<http::status>(p.status), to.version());
    answer.keep_alive(to.keep_alive());
    answer.set(http::field::content_type, "application/problem+json");
    answer.set(http::field::cache_control, "no-store");
    if (p.status == 503)
        answer.set(http::field::retry_after,
                   std::to_string(std::chrono::ceil<std::chrono::seconds>(p.retry_after).count()));
    answer.body() = p.json();
    answer.prepare_payload();
    return answer;
}

/// Makes the error response for the exception of a lock, and uses its report.
template <class Body, class Fields>
boost::beast::http::response<boost::beast::http::string_body> problem_response(
    boost::beast::http::request<Body, Fields> const& to, lock_error const& failed, acquire_options const& tried = {})
{
    return problem_response(to, failed.code(), tried, std::make_shared<attempt_report const>(failed.report()));
}

/** The deadline of a request, for the wait, the work and the answer together.

    @par Thread safety
    A value: distinct objects are safe.
*/
class request_deadline {
public:
    /// The clock of the deadline. It stops while the machine sleeps.
    using clock = std::chrono::steady_clock;

    /// Makes a deadline @p cap from now.
    /// @param cap The time from now; more than zero. @ref wait_forever, or a time beyond the clock's end: no deadline.
    explicit request_deadline(std::chrono::milliseconds cap) : at_(detail::deadline_after(clock::now(), cap)) {}

    /** Makes a deadline from the server's @p cap, or less if the client asks for less in the header field @p name.

        @throws std::invalid_argument if the field exists, and is not a number of milliseconds from 1. Answer 400.

        @param asked The header of the request.
        @param cap The longest time from now; more than zero. @ref wait_forever : the client alone decides.
        @param name The name of the field, which has a number of milliseconds.
    */
    template <bool IsRequest, class Fields>
    request_deadline(boost::beast::http::header<IsRequest, Fields> const& asked, std::chrono::milliseconds cap,
                     std::string_view name = "Request-Timeout-Ms")
        : request_deadline(cap)
    {
        if (auto const field = asked.find(name); field != asked.end())
            at_ = std::min(at_, clock::now() + detail::milliseconds_in(name, field->value()));
    }

    /// The time of the deadline; the maximum: there is none.
    clock::time_point at() const noexcept { return at_; }

    /// Whether the deadline has passed, or less than 1 ms is left.
    bool passed() const noexcept { return left() <= std::chrono::milliseconds(0); }

    /// The time left, rounded down. Negative: the deadline has passed.
    std::chrono::milliseconds left() const noexcept
    {
        return std::chrono::floor<std::chrono::milliseconds>(at_ - clock::now());
    }

    /// The time left, less @p reserve for the work; at least 1 ms. For `acquire_options::wait`.
    std::chrono::milliseconds wait(std::chrono::milliseconds reserve = {}) const noexcept
    {
        auto const l = left();
        return l > reserve ? std::max(l - std::max(reserve, std::chrono::milliseconds(0)), std::chrono::milliseconds(1))
                           : std::chrono::milliseconds(1);
    }

private:
    clock::time_point at_;
};

/** Runs @p handler until it ends, the peer of @p socket has gone, or @p deadline has passed.

    In the last two cases the handler is cancelled, and `lock_manager::with_lock` in it releases its lock at once.

    While the handler runs, nobody else may read from @p socket. Data that the client sends early, its next requests,
    are kept in @p input, from which `http::async_read` takes them as usual. After 64 KiB of them, the peer is not
    watched any more until the handler has ended.

    A peer that shuts down its sending side counts as gone, although it may still read: HTTP clients that give up do
    that. The bytes on the socket must be HTTP itself. With TLS, they cannot be distinguished from the end of the
    connection.

    @par Completes
    when @p handler has ended, also after it was cancelled

    @return the result of @p handler, also if it ended before it noticed the cancellation: the work is then done

    @throws system_error with `asio::error::eof` : the peer has gone. There is nobody to answer.
    @throws system_error with `boost::beast::error::timeout` : the deadline has passed. @ref problem_response answers
    504.
    @throws whatever else @p handler throws

    @par Cancellation
    Terminal: cancels the handler.

    @par Lifetime
    @p socket and @p input must live until the operation has ended. @p handler is moved into it.

    @par Thread safety
    The caller must run on a strand, or on a context with one thread. Everything stays there.

    @param socket The connection to the client, with the request already read.
    @param input The buffer with which the requests of this connection are read.
    @param deadline The end of the request.
    @param handler Called without arguments; returns `awaitable<T>`.
*/
template <class F>
std::invoke_result_t<F&> run_request(asio::ip::tcp::socket& socket, boost::beast::flat_buffer& input,
                                     request_deadline deadline, F handler)
{
    using T = typename std::invoke_result_t<F&>::value_type;
    return detail::run_request<T>(socket, input, deadline.at(), std::move(handler));
}

}  // namespace redlock
