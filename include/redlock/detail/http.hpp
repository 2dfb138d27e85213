#pragma once

#include <redlock/detail/body_run.hpp>
#include <redlock/detail/outcome.hpp>
#include <redlock/error.hpp>
#include <redlock/report.hpp>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/deferred.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/experimental/parallel_group.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/core/flat_buffer.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <exception>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>

namespace redlock::inline v1::detail {

inline constexpr auto as_tuple_awaitable = asio::as_tuple(asio::use_awaitable);

// A failed lock as an HTTP problem.
struct problem {
    unsigned status;
    char const* name;
    char const* title;
    char const* detail;
    std::chrono::milliseconds retry_after{0};  // zero: trying again is useless

    std::string json() const
    {
        auto text = std::string(R"({"type":"urn:redlock:)") + name + R"(","title":")" + title + R"(","status":)"
                    + std::to_string(status) + R"(,"detail":")" + detail + '"';
        if (retry_after.count() > 0)
            text += R"(,"retry_after_ms":)" + std::to_string(retry_after.count());
        return text + '}';
    }
};

// The times of the report, for the error of the response. This may be a later error, because the lock may have been
// lost.
inline std::chrono::milliseconds pause_after(error_code error, attempt_report const* told)
{
    attempt_report known;
    known.outcome = error;
    known.remaining = told ? told->remaining : known.remaining;
    known.quarantine = told ? told->quarantine : known.quarantine;
    return retry_after(known);
}

// Why the lock servers do not vote yet.
inline char const* detail_of_quarantine(attempt_report const& r)
{
    auto const has = [&](quarantine_reason why) {
        return std::any_of(r.nodes.begin(), r.nodes.end(), [why](node_report const& n) { return n.reason == why; });
    };
    if (has(quarantine_reason::promoted))
        return "The lock servers were promoted, and do not vote yet.";
    if (has(quarantine_reason::log_off))
        return "The log of the lock servers was switched off, so they do not vote yet.";
    if (has(quarantine_reason::fresh) && !has(quarantine_reason::restarted))
        return "The lock servers are new to the prefix, and do not vote yet. If all are newly installed: redlock nodes "
               "init.";
    return "The lock servers have restarted, and do not vote yet.";
}

inline problem problem_for(error_code error, bool waited, attempt_report const* told)
{
    if (error == boost::beast::error::timeout)
        return {504, "deadline", "The deadline has passed", "The work was stopped, because it took too long."};
    auto const known = outcome_of(error).http;
    problem p{known.status, known.name, known.title, known.detail};
    if (error == errc::contended && !waited) {
        p.status = 409;
        p.detail = "Another request works on the same thing. Try again in a moment.";
    }
    if (error == errc::quarantined && told && told->quarantine.count() > 0)
        p.detail = detail_of_quarantine(*told);
    if (p.status == 409 || p.status == 503)
        p.retry_after = pause_after(error, told);
    return p;
}

inline std::chrono::milliseconds milliseconds_in(std::string_view name, std::string_view value)
{
    long long count = 0;
    auto const [end, ec] = std::from_chars(value.data(), value.data() + value.size(), count);
    // A day is longer than any server lets a request run, and far from overflow.
    if (ec == std::errc::result_out_of_range && !value.starts_with('-'))
        return std::chrono::hours(24);
    if (ec != std::errc() || end != value.data() + value.size() || count < 1)
        throw std::invalid_argument(std::string(name) + " is \"" + std::string(value.substr(0, 32))
                                    + "\", but must be a number of milliseconds from 1 on");
    return std::min<std::chrono::milliseconds>(std::chrono::milliseconds(count), std::chrono::hours(24));
}

inline asio::steady_timer::time_point deadline_after(asio::steady_timer::time_point now, std::chrono::milliseconds cap)
{
    constexpr auto never = asio::steady_timer::time_point::max();
    return cap < std::chrono::floor<std::chrono::milliseconds>(never - now) ? now + cap : never;
}

// Ends when the peer has closed the connection, or when it is cancelled. Keeps what the peer sends meanwhile.
// @return whether the peer has closed the connection
inline asio::awaitable<bool> watch_peer(asio::ip::tcp::socket& socket, boost::beast::flat_buffer& input)
{
    std::size_t const input_max = std::min<std::size_t>(64 * 1024, input.max_size());
    while (input.size() < input_max) {
        std::tuple<error_code> const ready =
            co_await socket.async_wait(asio::socket_base::wait_read, as_tuple_awaitable);
        if (std::get<0>(ready))
            co_return false;
        error_code ec, ignored;
        bool const blocks = !socket.non_blocking();
        socket.non_blocking(true, ignored);
        // In small pieces: most clients send nothing, and there may be thousands of them.
        input.commit(socket.read_some(input.prepare(std::min<std::size_t>(input_max - input.size(), 2048)), ec));
        socket.non_blocking(!blocks, ignored);
        if (ec && ec != asio::error::would_block && ec != asio::error::interrupted)
            co_return true;
    }
    asio::steady_timer never(socket.get_executor(), asio::steady_timer::time_point::max());
    std::tuple<error_code> const cancelled = co_await never.async_wait(as_tuple_awaitable);
    static_cast<void>(cancelled);
    co_return false;
}

template <class T, class F>
asio::awaitable<T> run_request(asio::ip::tcp::socket& socket, boost::beast::flat_buffer& input,
                               asio::steady_timer::time_point deadline, F handler)
{
    asio::any_io_executor const executor = co_await asio::this_coro::executor;
    asio::steady_timer timer(executor, deadline);
    result_slot<T> result;
    std::tuple<std::array<std::size_t, 3>, std::exception_ptr, std::exception_ptr, bool, error_code> const ended =
        co_await asio::experimental::make_parallel_group(
            asio::co_spawn(executor, keep_result<T, asio::any_io_executor>(handler(), result), asio::deferred),
            asio::co_spawn(executor, watch_peer(socket, input), asio::deferred), timer.async_wait(asio::deferred))
            .async_wait(asio::experimental::wait_for_one(), asio::use_awaitable);

    auto const& failure = std::get<1>(ended);
    // The operation that ended first is the reason, unless the caller cancelled everything.
    if (failure && is_cancellation(failure)) {
        auto const first = std::get<0>(ended)[0];
        if (first == 1 && std::get<3>(ended))
            throw system_error(asio::error::eof, "redlock: the client has gone");
        if (first == 2 && !std::get<4>(ended))
            throw system_error(make_error_code(boost::beast::error::timeout),
                               "redlock: the request's deadline has passed");
    }
    if (failure)
        std::rethrow_exception(failure);
    if constexpr (!std::is_void_v<T>)
        co_return std::move(*result);
}

}  // namespace redlock::detail
