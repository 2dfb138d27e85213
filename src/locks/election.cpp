#include <redlock/elect.hpp>

#include "core/validity.hpp"
#include "locks/check.hpp"
#include "locks/explain.hpp"
#include "locks/held_lock.hpp"
#include "locks/pause.hpp"
#include "quorum/verdicts.hpp"
#include "runtime/as_result.hpp"

#include <redlock/detail/outcome.hpp>
#include <redlock/lock_error.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/cancellation_state.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <fmt/format.h>

#include <optional>
#include <utility>

namespace redlock::inline v1::locks {

namespace {

using kind = election_event::kind;

bool lacks_nodes(error_code ec) { return detail::outcome_of(ec).kind == detail::outcome_kind::unavailable; }

/// The arguments of a call of `elect`, with copies of what the options name.
struct candidacy {
    std::string name;
    elect_options options;
    detail::call_options how;  ///< how the lock of each term is acquired
    std::function<void(election_event)> observe;
    detail::leader_body body;
};

/** One call of `elect`. The candidate and the body run on one strand of the caller's executor. The manager's strand
    posts there what the nodes answer, so the observer gets all events in one place, in order.

    The manager and the user's cancellation slot have only weak pointers to the candidate: the slot may be destroyed
    after the strand's execution context.
*/
class candidate final : public detail::cancellable, public std::enable_shared_from_this<candidate> {
public:
    candidate(asio::any_io_executor strand, std::shared_ptr<manager_state> s, candidacy c)
        : strand_(std::move(strand)),
          state_(std::move(s)),
          name_(std::move(c.name)),
          options_(c.options),
          how_(std::move(c.how)),
          observe_(std::move(c.observe)),
          body_(std::move(c.body))
    {
    }

    void start(detail::completion<void(std::exception_ptr)> done);
    void request_cancel(asio::cancellation_type) override;

private:
    class listener;

    struct term {
        std::uint64_t fencing_token = 0;
        std::optional<clock::time_point> began;  ///< empty: it does not lead
        clock::duration lasted{0};
        std::optional<elected> returned;
        std::exception_ptr failure;
    };

    /// A pause, and the event for the observer when the pause begins.
    struct planned_pause {
        core::pause_range range;
        std::optional<election_event> why;
    };

    static asio::awaitable<void> run(std::shared_ptr<candidate>);
    static asio::awaitable<void> stand_until_done(std::shared_ptr<candidate>);
    static asio::awaitable<attempt_report> lead_once(std::shared_ptr<candidate>);
    static asio::awaitable<void> run_body(std::shared_ptr<candidate>, lock&);
    static asio::awaitable<void> pause(std::shared_ptr<candidate>, planned_pause);
    static asio::awaitable<void> end_if_cancelled(std::shared_ptr<candidate>);

    bool done(attempt_report const& r) const { return !r.outcome && term_.returned == elected::done; }
    std::optional<planned_pause> after_term(attempt_report);
    planned_pause failed(std::exception_ptr);
    [[noreturn]] void end(error_code, std::string_view why) const;

    void stand();
    void nodes_have_said(error_code, std::string message);
    void ended(std::exception_ptr const&);
    election_event event(kind, error_code = {}, std::string message = {}) const;
    void tell(election_event) noexcept;

    asio::any_io_executor const strand_;
    std::shared_ptr<manager_state> const state_;
    std::string const name_;
    elect_options const options_;
    detail::call_options const how_;
    std::function<void(election_event)> const observe_;
    detail::leader_body const body_;

    detail::completion<void(std::exception_ptr)> done_;
    asio::cancellation_signal signal_;
    std::shared_ptr<queue_observer> listener_;
    term term_;                 ///< the latest term
    std::size_t failures_ = 0;  ///< consecutive failures
    kind told_ = kind::ended;   ///< the latest event that the observer got
    error_code told_error_;
};

/// Receives, on the manager's strand, what the nodes answered to an acquisition that goes on. The candidate cannot
/// learn that from the acquisition itself, which may wait forever.
class candidate::listener final : public queue_observer {
public:
    explicit listener(std::shared_ptr<candidate> const& c)
        : strand_(c->strand_), state_(*c->state_), name_(c->name_), options_(c->how_), candidate_(c)
    {
    }

    void met(error_code outcome, quorum::round const* asked) noexcept override
    {
        try {
            asio::post(strand_, [weak = candidate_, outcome, message = words_for(outcome, asked)]() mutable {
                if (auto const c = weak.lock();
                    c && (c->told_ == kind::standing || c->told_ == kind::waiting_for_nodes))
                    c->nodes_have_said(outcome, std::move(message));
            });
        } catch (...) {  // out of memory: drop the event
        }
    }

private:
    std::string words_for(error_code outcome, quorum::round const* asked) const
    {
        if (!lacks_nodes(outcome))
            return {};
        attempt_report r{.outcome = outcome};
        if (asked)
            r.nodes = quorum::report(*asked);
        if (outcome == errc::quarantined)
            r.quarantine = core::time_left(state_.quorum.nodes.quarantine_over(), state_.now());
        return explain(state_, name_, options_, r);
    }

    asio::any_io_executor const strand_;
    manager_state const& state_;  // the caller, so it is alive
    std::string const name_;
    detail::call_options const options_;
    std::weak_ptr<candidate> const candidate_;
};

void candidate::start(detail::completion<void(std::exception_ptr)> done)
{
    done_ = std::move(done);
    done_.on_cancel(weak_from_this());
    auto ended = [self = shared_from_this()](std::exception_ptr failure) { self->done_(std::move(failure)); };
    asio::co_spawn(strand_, run(shared_from_this()),
                   asio::bind_cancellation_slot(signal_.slot(), asio::bind_executor(strand_, std::move(ended))));
}

void candidate::request_cancel(asio::cancellation_type type)
{
    asio::dispatch(strand_, [self = shared_from_this(), type] { self->signal_.emit(type); });
}

asio::awaitable<void> candidate::run(std::shared_ptr<candidate> self)
{
    // Accepts each cancellation type that the caller's coroutine lets through.
    co_await asio::this_coro::reset_cancellation_state(asio::enable_total_cancellation());
    co_await asio::this_coro::throw_if_cancelled(false);
    self->listener_ = std::make_shared<listener>(self);
    std::exception_ptr failure;
    try {
        co_await stand_until_done(self);
    } catch (...) {
        failure = std::current_exception();
    }
    self->ended(failure);
    if (failure)
        std::rethrow_exception(failure);
}

asio::awaitable<void> candidate::stand_until_done(std::shared_ptr<candidate> self)
{
    auto& c = *self;
    for (;;) {
        c.stand();
        co_await end_if_cancelled(self);  // the observer may have cancelled it
        auto outcome = co_await lead_once(self);
        if (c.done(outcome))
            co_return;
        co_await end_if_cancelled(self);
        if (auto pause_first = c.after_term(std::move(outcome)))
            co_await pause(self, std::move(*pause_first));
    }
}

// Waits until it is elected, and leads. @return why it could not lead to the end; no error if it did
asio::awaitable<attempt_report> candidate::lead_once(std::shared_ptr<candidate> self)
{
    auto body = [self](lock& l) { return run_body(self, l); };
    attempt_report outcome;
    try {
        // g++ 12 needs names for the awaitable and for the body.
        auto leading = detail::await_body<lock>(self->state_, self->name_, self->how_, std::move(body));
        co_await std::move(leading);
    } catch (lock_error const& e) {
        outcome = e.report();
    } catch (system_error const& e) {
        outcome.outcome = e.code();
        outcome.message = e.what();
    }
    co_return outcome;
}

asio::awaitable<void> candidate::run_body(std::shared_ptr<candidate> self, lock& l)
{
    auto& c = *self;
    c.term_.fencing_token = l.fencing_token();
    c.term_.began = c.state_->now();
    c.tell(c.event(kind::elected));
    try {
        c.term_.returned = co_await c.body_(l);
    } catch (...) {
        // Not thrown here: `with_lock` must report a loss, whatever the body throws.
        c.term_.failure = std::current_exception();
    }
    c.term_.lasted = c.state_->now() - *c.term_.began;
    auto const handle = detail::access::handle_of(l);
    if (handle && c.term_.returned == elected::done && c.options_.at_least.count() > 0)
        asio::dispatch(c.state_->strand(), [handle, d = c.options_.at_least] { handle->lock.stay_for(d); });
}

// Returns the pause before the next candidacy; empty: no pause. Throws if the election must end.
std::optional<candidate::planned_pause> candidate::after_term(attempt_report r)
{
    if (term_.began && term_.lasted >= options_.stable)
        failures_ = 0;
    auto const pause_min = options_.pause_min;
    if (!r.outcome)
        return term_.failure ? failed(term_.failure) : planned_pause{{pause_min, pause_min}, event(kind::stepped_down)};
    if (r.outcome == errc::not_held)
        return failed(std::make_exception_ptr(lock_error(std::move(r))));
    if (r.outcome == errc::lost) {
        auto e = event(kind::lost, r.outcome, std::move(r.message));
        if (term_.failure && !detail::is_cancellation(term_.failure))
            e.exception = term_.failure;
        tell(std::move(e));
        return std::nullopt;
    }
    if (lacks_nodes(r.outcome)) {
        nodes_have_said(r.outcome, std::move(r.message));
        return planned_pause{{pause_min, std::min(2 * pause_min, options_.pause_max)}, std::nullopt};
    }
    if (r.outcome == asio::error::operation_aborted)
        end(r.outcome, was_shut_down);
    if (r.outcome == errc::contended)
        r.message +=
            fmt::format("; wait is {} ms, with wait_forever it would stand until it is elected", options_.wait.count());
    throw lock_error(std::move(r));
}

candidate::planned_pause candidate::failed(std::exception_ptr failure)
{
    auto e = event(kind::failed);
    e.exception = std::move(failure);
    return {core::pause_after_failure(++failures_, options_.pause_min, options_.pause_max), std::move(e)};
}

asio::awaitable<void> candidate::pause(std::shared_ptr<candidate> self, planned_pause r)
{
    co_await end_if_cancelled(self);
    // If the manager has stopped, no pause begins and the observer gets no event: a body that threw because of the stop
    // has not failed.
    auto begun = [on = self->strand_, weak = self->weak_from_this(),
                  why = std::move(r.why)](std::chrono::milliseconds length) {
        if (!why)
            return;
        asio::post(on, [weak, e = *why, length]() mutable {
            e.pause = length;
            if (auto const c = weak.lock())
                c->tell(std::move(e));
        });
    };
    auto start = [range = r.range, begun = std::move(begun)](auto const& state, detail::error_handler handler) {
        start_pause(state, range, begun, std::move(handler));
    };
    auto waiting = detail::initiate<void(error_code)>::on<detail::error_handler, decltype(runtime::as_result)>(
        self->state_, std::move(start), runtime::as_result);
    auto const [ec] = co_await std::move(waiting);
    co_await end_if_cancelled(self);
    if (ec)
        self->end(ec, ec == asio::error::operation_aborted ? std::string(was_shut_down) : ec.message());
}

asio::awaitable<void> candidate::end_if_cancelled(std::shared_ptr<candidate> self)
{
    auto const state = co_await asio::this_coro::cancellation_state;
    if (state.cancelled() != asio::cancellation_type::none)
        self->end(asio::error::operation_aborted, "it was cancelled");
}

void candidate::end(error_code ec, std::string_view why) const
{
    throw lock_error(
        attempt_report{.outcome = ec, .message = fmt::format("{}: {}", about(name_, "no longer stands for"), why)});
}

void candidate::stand()
{
    term_ = {};
    if (told_ != kind::waiting_for_nodes)
        tell(event(kind::standing));
    asio::dispatch(state_->strand(), [state = state_, name = name_, weak = std::weak_ptr<queue_observer>(listener_)] {
        state->waiters.observe(name, weak);
    });
}

// Tells the observer when the nodes cannot elect anybody, when the reason for that changes, and when they can again.
// Each of these is told only once.
void candidate::nodes_have_said(error_code ec, std::string message)
{
    if (!lacks_nodes(ec)) {
        if (told_ == kind::waiting_for_nodes)
            tell(event(kind::standing));
    } else if (told_ != kind::waiting_for_nodes || told_error_ != ec) {
        tell(event(kind::waiting_for_nodes, ec, std::move(message)));
    }
}

void candidate::ended(std::exception_ptr const& failure)
{
    auto e = event(kind::ended);
    try {
        if (failure)
            std::rethrow_exception(failure);
    } catch (system_error const& why) {
        e.error = why.code();
        e.message = why.what();
    } catch (...) {
        e.error = make_error_code(boost::system::errc::not_enough_memory);
        e.message = e.error.message();
    }
    if (told_ == kind::elected && term_.failure && !detail::is_cancellation(term_.failure))
        e.exception = term_.failure;
    tell(std::move(e));
}

election_event candidate::event(kind what, error_code ec, std::string message) const
{
    return {
        .what = what, .name = name_, .fencing_token = term_.fencing_token, .error = ec, .message = std::move(message)};
}

void candidate::tell(election_event e) noexcept
{
    told_ = e.what;
    told_error_ = e.error;
    try {
        if (observe_)
            observe_(std::move(e));
    } catch (...) {  // ignored, like exceptions of a log function
    }
}

asio::awaitable<void> stand(std::shared_ptr<manager_state> state, candidacy given)
{
    if (auto const wrong = check(given.options, state->settings); !wrong.empty())
        throw lock_error(attempt_report{.outcome = errc::invalid_argument,
                                        .message = about(given.name, "cannot stand for") + ": " + wrong});
    auto strand = detail::strand_of<asio::any_io_executor>(co_await asio::this_coro::executor);
    auto c = std::make_shared<candidate>(std::move(strand), state, std::move(given));
    auto start = [](auto const&, std::shared_ptr<candidate> who, detail::completion<void(std::exception_ptr)> done) {
        who->start(std::move(done));
    };
    asio::use_awaitable_t<> const token;
    auto standing =
        detail::initiate<void(std::exception_ptr)>::on<detail::completion<void(std::exception_ptr)>, decltype(token)>(
            state, start, token, std::move(c));
    co_await std::move(standing);  // the candidate completes it; this frame must not keep the candidate
}

}  // namespace

// Not itself a coroutine: a coroutine begins when it is awaited, and what the options name may be gone by then.
asio::awaitable<void> stand_for(std::shared_ptr<manager_state> state, std::string name, elect_options options,
                                detail::leader_body body)
{
    candidacy c{std::move(name), options, lock_of(options), options.observe.copy(), std::move(body)};
    c.options.group = c.how.group;
    c.options.note = c.how.note;
    c.options.observe = {};
    return stand(std::move(state), std::move(c));
}

}  // namespace redlock::locks
