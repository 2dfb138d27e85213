#pragma once

#include <redlock/detail/api.hpp>
#include <redlock/error.hpp>
#include <redlock/report.hpp>

#include <boost/version.hpp>
#if BOOST_VERSION >= 108700
#include <boost/asio/disposition.hpp>
#endif

#include <exception>
#include <memory>
#include <utility>

namespace redlock::inline v1 {

/** Why a lock could not be acquired, or why `lock_manager::with_lock` could not run its body to the end under it.

    Thrown by `with_lock`, and by `lock_manager::async_acquire` and `async_resume` with the tokens `asio::deferred`,
    `asio::use_awaitable` and `asio::use_future`. Other tokens that throw, such as `asio::spawn`'s yield context, throw
    a plain `system_error`. Before Boost 1.87, `asio::deferred` does so, too, unless it is the default token.

    Its code is that of `lock_manager::async_acquire`. For a body, it is also @ref errc::lost or @ref errc::not_held.
    `what()` is the message of the report. It names the resource, what went wrong, how many nodes voted, and why others
    did not.

    @par Thread safety
    Const functions of shared objects are safe. Copies share one report.
*/
class REDLOCK_API lock_error : public system_error {
public:
    /// Makes an exception with the outcome and the message of @p report.
    explicit lock_error(attempt_report report) : lock_error(std::make_shared<attempt_report const>(std::move(report)))
    {
    }
    /// Makes an exception with the outcome and the message of @p report, which is not copied and not null.
    explicit lock_error(std::shared_ptr<attempt_report const> report)
        : system_error(report->outcome), report_(std::move(report))
    {
    }

    /// The message of the report.
    char const* what() const noexcept override { return report_->message.c_str(); }

    /// The course of the acquisition. For a lock that was lost, only outcome and message are set.
    attempt_report const& report() const noexcept { return *report_; }

private:
    std::shared_ptr<attempt_report const> report_;  // shared, because an exception must be copied without a throw
};

namespace detail {

/// The error of an acquisition where a token may throw it: it becomes a @ref lock_error.
struct reported_error : error_code {
    reported_error() noexcept = default;
    reported_error(error_code ec, std::shared_ptr<attempt_report const> r = {}) noexcept
        : error_code(ec), report(std::move(r))
    {
    }
    reported_error(errc e) noexcept : error_code(e) {}

    /// Null after success.
    explicit operator std::exception_ptr() const
    {
        if (!failed())
            return nullptr;
        return report ? std::make_exception_ptr(lock_error(report)) : std::make_exception_ptr(system_error(*this));
    }

    std::shared_ptr<attempt_report const> report;  ///< null: nobody wants one, or memory ran out
};

}  // namespace detail
}  // namespace redlock

#if BOOST_VERSION >= 108700
template <>
struct boost::asio::disposition_traits<redlock::detail::reported_error> {
    static bool not_an_error(redlock::detail::reported_error const& e) noexcept { return !e.failed(); }
    [[noreturn]] static void throw_exception(redlock::detail::reported_error const& e)
    {
        std::rethrow_exception(std::exception_ptr(e));
    }
    static std::exception_ptr to_exception_ptr(redlock::detail::reported_error const& e) noexcept
    {
        return std::exception_ptr(e);
    }
};
#endif
