#include <redlock/detail/body_run.hpp>

#include "locks/acquisition.hpp"
#include "locks/explain.hpp"
#include "locks/held_lock.hpp"

#include <redlock/lock_error.hpp>

#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>

#include <utility>

namespace redlock::inline v1::detail {

namespace {

std::exception_ptr cancellation() { return std::make_exception_ptr(system_error(asio::error::operation_aborted)); }

}  // namespace

body_run::body_run(asio::any_io_executor strand) : strand_(std::move(strand)) {}

body_run::~body_run() = default;

// A handler on the strand that the current cancellation signal reaches.
template <class Completion, class F>
Completion body_run::on_strand(F f)
{
    return Completion(asio::bind_cancellation_slot(slot(), asio::bind_executor(strand_, std::move(f))), strand_);
}

void body_run::start(lock_source from, selection selected, call_options options)
{
    source_ = std::move(from);
    selected_ = std::move(selected);
    options_ = std::move(options);
    if (options_.renew == renewal::unset)
        options_.renew = renewal::automatic;
    asio::dispatch(strand_, [self = shared_from_this()] {
        if (self->cancelled_)
            return self->complete(cancellation());
        auto won = [self](reported_error ec, lock_handle lock) { self->acquired(std::move(ec), std::move(lock)); };
        auto handler = self->on_strand<acquire_handler>(std::move(won));
        if (self->source_.scope)
            locks::start_acquire_in_scope(self->source_.scope, self->selected_.resources, std::move(self->options_),
                                          std::move(handler), true);
        else
            locks::start_acquire(self->source_.manager, self->selected_, std::move(self->options_), std::move(handler),
                                 true);
    });
}

void body_run::request_cancel(asio::cancellation_type type)
{
    asio::dispatch(strand_, [self = shared_from_this(), type] {
        self->cancelled_ = true;
        self->signal_.emit(type);
    });
}

void body_run::acquired(reported_error ec, lock_handle won)
{
    if (ec)
        return complete(std::exception_ptr(ec));
    held() = std::move(won);
    if (cancelled_) {
        held() = {};
        return complete(cancellation());
    }
    auto const& handle = access::handle_of(held());
    if (selected_.wants_one_of_several())
        selected_ = handle->lock.resources;  // messages name the resource that was won
    asio::dispatch(handle->lock.state->strand(), [handle] { locks::runs_body(*handle); });
    // The cancellation signal does not reach this wait, because it must last until the lock ends.
    start_wait_lost(handle,
                    error_handler(asio::bind_executor(strand_, [self = shared_from_this(), handle](
                                                                   error_code why) { self->wait_ended(*handle, why); }),
                                  strand_));
    try {
        spawn();
    } catch (...) {
        ended(std::current_exception());
    }
}

void body_run::spawn_on(asio::any_io_executor const& on, asio::awaitable<void> body)
{
    asio::co_spawn(on, std::move(body), asio::bind_cancellation_slot(slot(), asio::bind_executor(on, end())));
}

// The wait ends if the lock was lost, if the body released the lock, or if the manager stops. A manager that stops
// keeps the lock until the body has ended.
void body_run::wait_ended(locks::handle_state const& s, error_code why)
{
    if (ended_)
        return;
    lost_ = why == errc::lost;
    if (lost_)
        why_ = s.lost_because();
    released_itself_ = s.given_back();
    stopped_ = !lost_ && !released_itself_;
    signal_.emit(asio::cancellation_type::all);
}

void body_run::ended(std::exception_ptr failure)
{
    ended_ = true;
    failure_ = std::move(failure);
    auto const handle = access::handle_of(held());
    if (cancelled_) {
        held() = {};  // the release goes on in the background
        return released({});
    }
    released_itself_ = released_itself_ || (!lost_ && (!handle || handle->given_back()));
    if (released_itself_ && (!failure_ || is_cancellation(failure_)))
        return complete(failure_of(errc::not_held,
                                   "the body released or moved the lock; with_lock releases it when the body ends"));
    locks::start_release(handle, on_strand<error_handler>([self = shared_from_this(), handle](error_code ec) {
                             if (handle && self->why_.empty())
                                 self->why_ = handle->lost_because();
                             self->released(ec);
                         }));
}

void body_run::released(error_code ec)
{
    if (failure_ && stopped_ && is_cancellation(failure_))
        return complete(failure_of(asio::error::operation_aborted, locks::was_shut_down));
    if (failure_ && !(lost_ && is_cancellation(failure_)))
        return complete(std::exchange(failure_, nullptr));
    // If a majority no longer knew the lock when it was released, it protected nothing at the end of the body.
    auto const why = why_.empty() ? "when it was released, a majority of the nodes no longer had it"
                                  : std::string_view(why_);
    complete(lost_ || ec == errc::not_held ? failure_of(errc::lost, why) : nullptr);
}

std::exception_ptr body_run::failure_of(error_code ec, std::string_view why) const
{
    auto const what = ec == errc::lost ? "lost, while a body ran under it," : "a body did not end under";
    attempt_report report{.outcome = ec, .message = locks::about(selected_, what) + ": " + std::string(why)};
    return std::make_exception_ptr(lock_error(std::move(report)));
}

std::exception_ptr end_of(locks::manager_state const& s, selection const& selected)
{
    if (!s.abandoned())
        return {};
    return std::make_exception_ptr(lock_error(locks::report_of_end(s, selected, "cannot hold")));
}

}  // namespace redlock::detail
