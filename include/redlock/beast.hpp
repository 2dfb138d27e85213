#pragma once

/** @file
    Locks in HTTP handlers on Boost.Beast: a failed lock as a response, a deadline for each request, and the end of the work when
    the client has gone. Optional: `redlock.hpp` does not include it. docs/http.md is the guide.
*/

#include <redlock/error.hpp>
#include <redlock/options.hpp>

#include <redlock/detail/http.hpp>

#include <boost/asio/ip/tcp.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace redlock {

/** What to answer to a request whose lock could not be had, or was lost.

    | error                                     | status | title                     | Retry-After |
    |-------------------------------------------|--------|---------------------------|-------------|
    | @ref errc::contended, without a wait      | 409    | Somebody else is at it    |             |
    | @ref errc::contended, after a wait        | 503    | Somebody else is at it    | yes         |
    | @ref errc::no_quorum, validity_exhausted  | 503    | Locks are out of order    | yes         |
    | @ref errc::quarantined                    | 503    | Locks are out of order    | yes         |
    | @ref errc::lost, not_held                 | 503    | The lock was lost         | yes         |
    | `boost::beast::error::timeout`            | 504    | The deadline has passed   |             |
    | `asio::error::operation_aborted`          | 503    | The server shuts down     | yes         |
    | any other                                 | 500    | The server is at fault    |             |

    The body is `application/problem+json` (RFC 9457): `type`, `title`, `status`, `detail`, and with 409 and 503 `retry_after_ms`: that
    is @ref retry_after, of the report in @p tried if there is one. `Retry-After` is the same, rounded up to seconds, so 1 at least and
    75 at most. Nothing of the lock is in it: no token, no owner, no address.

    @param to the request; version and keep-alive are taken from it
    @param tried the options with which the lock was tried; `report` tells more, if it is set
*/
template <class Body, class Fields>
boost::beast::http::response<boost::beast::http::string_body> problem_response(boost::beast::http::request<Body, Fields> const& to, error_code error,
                                                                              acquire_options const& tried = {})
{
    namespace http = boost::beast::http;
    auto const p = detail::problem_for(error, tried);
    http::response<http::string_body> answer(static_cast<http::status>(p.status), to.version());
    answer.keep_alive(to.keep_alive());
    answer.set(http::field::content_type, "application/problem+json");
    answer.set(http::field::cache_control, "no-store");
    if (p.status == 503)
        answer.set(http::field::retry_after, std::to_string(std::chrono::ceil<std::chrono::seconds>(p.retry_after).count()));
    answer.body() = p.json();
    answer.prepare_payload();
    return answer;
}

/** For how long a request may be worked at: one deadline for the wait, for the work and for the answer.

    @par Thread safety
    A value: distinct objects are safe.
*/
class request_deadline {
public:
    using clock = std::chrono::steady_clock;

    /// @param cap from now; more than zero. @ref wait_forever, or what is beyond the end of time: there is none.
    explicit request_deadline(std::chrono::milliseconds cap) : at_(detail::deadline_after(clock::now(), cap)) {}

    /** The server's @p cap, or less if the client asks for less: in the header @p name, as milliseconds.

        @throws std::invalid_argument the header is there, and is no number of milliseconds from 1 on. Answer 400.
    */
    template <bool IsRequest, class Fields>
    request_deadline(boost::beast::http::header<IsRequest, Fields> const& asked, std::chrono::milliseconds cap,
                     std::string_view name = "Request-Timeout-Ms")
        : request_deadline(cap)
    {
        if (auto const field = asked.find(name); field != asked.end())
            at_ = std::min(at_, clock::now() + detail::milliseconds_in(name, field->value()));
    }

    clock::time_point at() const noexcept { return at_; }
    bool passed() const noexcept { return left() <= std::chrono::milliseconds(0); }

    /// Rounded down; negative when it has passed.
    std::chrono::milliseconds left() const noexcept
    {
        return std::chrono::floor<std::chrono::milliseconds>(at_ - clock::now());
    }

    /// For `acquire_options::wait`: what is left, less @p reserve for the work; 1 ms at least.
    std::chrono::milliseconds wait(std::chrono::milliseconds reserve = {}) const noexcept
    {
        auto const l = left();
        return l > reserve ? std::max(l - std::max(reserve, std::chrono::milliseconds(0)), std::chrono::milliseconds(1)) : std::chrono::milliseconds(1);
    }

private:
    clock::time_point at_;
};

/** Runs @p handler until it ends, @p socket's peer has gone, or @p deadline has passed. What ends first cancels the handler, and
    `lock_manager::with_lock` in it gives its lock back at once.

    Meanwhile nobody else reads from @p socket. What a client sends early, its next requests, is kept in @p input, from which
    `http::async_read` takes it as usual; after 64 KiB of that the peer is not watched any more, until the handler has ended.
    A peer that shuts down its sending side counts as gone, although it may still read: so do HTTP clients that give up.
    The bytes on the socket must be HTTP itself: with TLS they cannot be told apart from its end.

    @return what @p handler returns, also if it had ended before it noticed the cancellation: what is done is done

    @throws system_error with `asio::error::eof` : the peer has gone. There is nobody to answer.
    @throws system_error with `boost::beast::error::timeout` : the deadline has passed. @ref problem_response answers 504.
    @throws whatever else @p handler throws

    @par Cancellation
    Terminal: cancels the handler.

    @par Lifetime
    @p socket and @p input must live until it has ended; @p handler is moved into it.

    @par Thread safety
    The caller runs on a strand, or on a context with one thread; all of it stays there.

    @param handler called without arguments; returns `awaitable<T>`
*/
template <class F>
std::invoke_result_t<F&> run_request(asio::ip::tcp::socket& socket, boost::beast::flat_buffer& input, request_deadline deadline,
                                     F handler)
{
    using T = typename std::invoke_result_t<F&>::value_type;
    return detail::run_request<T>(socket, input, deadline.at(), std::move(handler));
}

}  // namespace redlock
