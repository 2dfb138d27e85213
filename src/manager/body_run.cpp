#include <redlock/detail/body_run.hpp>

#include "manager/acquisition.hpp"
#include "manager/held_lock.hpp"

#include <redlock/lock_error.hpp>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>

#include <utility>

namespace redlock::detail {

namespace {

std::exception_ptr cancellation()
{
    return std::make_exception_ptr(system_error(asio::error::operation_aborted));
}

}  // namespace

body_run::body_run(asio::any_io_executor strand) : strand_(std::move(strand)) {}

body_run::~body_run() = default;

// A handler on the strand, which the present cancellation signal reaches.
template <class Completion, class F>
Completion body_run::on_strand(F f)
{
    return Completion(asio::bind_cancellation_slot(slot(), asio::bind_executor(strand_, std::move(f))), strand_);
}

void body_run::start(std::shared_ptr<engine> e, std::string resource, acquire_options options)
{
    engine_ = std::move(e);
    resource_ = std::move(resource);
    options_ = options;
    asio::dispatch(strand_, [self = shared_from_this()] {
        if (self->cancelled_)
            return self->complete(cancellation());
        auto how = self->options_;
        bool const reports_success = how.report != nullptr;
        if (!reports_success)
            how.report = &self->report_;
        start_acquire(self->engine_, self->resource_, how, self->on_strand<acquire_handler>([self](error_code ec, lock_handle won) {
            self->acquired(ec, std::move(won));
        }), reports_success);
    });
}

void body_run::request_cancel(asio::cancellation_type type)
{
    asio::dispatch(strand_, [self = shared_from_this(), type] {
        self->cancelled_ = true;
        self->signal_.emit(type);
    });
}

void body_run::acquired(error_code ec, lock_handle won)
{
    if (options_.report)
        report_ = *options_.report;
    if (ec)
        return complete(failure(ec));
    held() = std::move(won);
    if (cancelled_) {
        held() = {};
        return complete(cancellation());
    }
    auto const& lock = access::held(held());
    asio::dispatch(lock->engine->strand(), [lock] { lock->runs_body(); });
    // Without the signal: it ends with the lock, and not before.
    start_wait_lost(lock, error_handler(asio::bind_executor(strand_, [self = shared_from_this()](error_code why) {
        self->wait_ended(why);
    }), strand_));
    try {
        spawn();
    } catch (...) {
        ended(std::current_exception());
    }
}

// The lock was lost, or the manager stops: then it keeps the lock until the body has ended.
void body_run::wait_ended(error_code why)
{
    if (ended_)
        return;
    lost_ = why == errc::lost;
    signal_.emit(asio::cancellation_type::all);
}

void body_run::ended(std::exception_ptr failure)
{
    ended_ = true;
    failure_ = std::move(failure);
    if (cancelled_) {
        held() = {};  // at once; the release goes on in the background
        return released({});
    }
    start_release(access::held(held()), on_strand<error_handler>([self = shared_from_this()](error_code ec) { self->released(ec); }));
}

void body_run::released(error_code ec)
{
    if (failure_ && !(lost_ && is_cancellation(failure_)))
        return complete(std::exchange(failure_, nullptr));
    // A lock that a majority did not know any more when it was given back protected nothing at the end.
    complete(lost_ || ec == errc::not_held ? failure(errc::lost) : nullptr);
}

std::exception_ptr end_of(engine const& e, std::string const& resource, acquire_options const& options)
{
    if (!e.abandoned())
        return {};
    error_code const ec = asio::error::operation_aborted;
    auto const what = explain(e, resource, options, ec);
    attempt_report report{.outcome = ec, .message = what + ": " + ec.message()};
    if (options.report)
        *options.report = report;
    return std::make_exception_ptr(lock_error(ec, what, std::move(report)));
}

std::exception_ptr body_run::failure(error_code ec) const
{
    auto report = report_;
    if (ec == errc::lost)
        report = {.outcome = ec, .message = "lost"};
    return std::make_exception_ptr(lock_error(ec, explain(*engine_, resource_, options_, ec), std::move(report)));
}

}  // namespace redlock::detail
