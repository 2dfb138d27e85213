#include "core/backoff.hpp"
#include "core/validity.hpp"
#include "locks/acquisition.hpp"
#include "locks/check.hpp"
#include "locks/explain.hpp"
#include "locks/held_lock.hpp"
#include "locks/scopes/scope_state.hpp"
#include "locks/waiting_operation.hpp"

#include <redlock/lock_error.hpp>

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>

namespace redlock::inline v1::locks {

namespace {

std::string shown(std::string_view resource) { return std::string(events::shown_name(resource)); }

/// One call of `lock_scope::async_acquire`.
class scope_acquisition final : public waiting_operation<scope_acquisition> {
public:
    scope_acquisition(std::shared_ptr<scope_state> s, acquire_request r, detail::acquire_handler handler)
        : waiting_operation(s->manager),
          done(std::move(handler)),
          scope_(std::move(s)),
          request_(std::move(r)),
          called_(state_->now())
    {
    }

    static runtime::task<error_code> run(std::shared_ptr<scope_acquisition>);

    void cancel(asio::cancellation_type) override;
    void complete(error_code);

    detail::acquire_handler done;

private:
    static runtime::task<void> wait_for_turn(std::shared_ptr<scope_acquisition>, std::optional<scope_state::turn>&);
    static runtime::task<error_code> acquire_rest(std::shared_ptr<scope_acquisition>);
    static runtime::task<error_code> extend_if_too_short(std::shared_ptr<scope_acquisition>, lock_handle const& part);

    void look_what_is_held();
    bool is_complete() const noexcept { return rest_.size() == 0; }
    std::string refusal() const;
    std::string shown_part(lock_handle const&) const;
    void put_together();

    /// Starts an operation by @p start, which gets the handler, and waits for its end.
    template <class Handler, class Result, class Start>
    auto ask(Result result, Start start)
    {
        return runtime::suspend_into(sleeper_, [this, result, start] {
            asks_ = true;
            auto ended = [self = shared_from_this(), result](auto... given) {
                self->asks_ = false;
                result(std::move(given)...);
                std::move(self->sleeper_).resume();
            };
            auto const& strand = state_->strand();
            start(Handler(asio::bind_cancellation_slot(signal_.slot(), asio::bind_executor(strand, std::move(ended))),
                          strand));
        });
    }

    std::shared_ptr<scope_state> const scope_;
    acquire_request const request_;
    clock::time_point const called_;

    std::vector<lock_handle> parts_;  ///< what the scope holds
    resource_set rest_;               ///< what the scope does not hold
    detail::reported_error asked_;    ///< the outcome of acquiring @ref rest_
    bool has_asked_ = false;
    std::string why_;  ///< why it failed, if the code alone does not tell
    lock_handle won_;
    bool asks_ = false;  ///< waits for another operation, which @ref signal_ cancels
    asio::cancellation_signal signal_;
};

runtime::task<error_code> scope_acquisition::run(std::shared_ptr<scope_acquisition> self)
{
    auto& a = *self;
    a.state_->operations.enter(a);
    a.look_what_is_held();
    std::optional<scope_state::turn> turn;
    if (!a.is_complete())
        co_await wait_for_turn(self, turn);
    if (a.stopped())
        co_return asio::error::operation_aborted;
    if (a.why_ = a.refusal(); !a.why_.empty())
        co_return errc::invalid_argument;

    auto const held = a.parts_.size();
    if (!a.is_complete()) {
        if (auto const ec = co_await acquire_rest(self))
            co_return ec;
    }
    for (std::size_t i = 0; i < held; ++i) {
        if (auto const ec = co_await extend_if_too_short(self, a.parts_[i]))
            co_return ec;
    }
    a.put_together();
    co_return error_code();
}

// An earlier acquisition in the scope may acquire the same names. Then the scope wakes this one, too.
runtime::task<void> scope_acquisition::wait_for_turn(std::shared_ptr<scope_acquisition> self,
                                                     std::optional<scope_state::turn>& turn)
{
    auto& a = *self;
    turn.emplace(*a.scope_, a.request_.resources(), [&a] {
        if (!a.asks_)
            a.wake();
    });
    while (!turn->has_come() && !a.is_complete() && !a.stopped()) {
        co_await a.sleep(clock::time_point::max());
        a.look_what_is_held();
    }
}

// The old handles are dropped only after the new ones exist, so that the locks stay held.
void scope_acquisition::look_what_is_held()
{
    auto found = scope_->possession_of(request_.resources());
    auto const before = std::exchange(parts_, std::move(found.handles));
    rest_ = resource_set(std::move(found.rest));
}

// Returns the first wanted name of a held lock.
std::string scope_acquisition::shown_part(lock_handle const& part) const
{
    auto const is_wanted = [this](auto& name) { return std::ranges::binary_search(request_.resources(), name); };
    return shown(*std::ranges::find_if(part.resources(), is_wanted));
}

// Returns why this acquisition is refused, for people; empty: it is not.
std::string scope_acquisition::refusal() const
{
    for (auto const& p : parts_) {
        // Shared even if it is upgraded: it may be downgraded.
        bool const is_shared = detail::access::handle_of(p)->lock.grant()->mode == mode::shared;
        if (is_shared && request_.options.mode != mode::shared
            && (request_.options.mode == mode::exclusive || request_.options.mode != p.mode()))
            return fmt::format("the scope shares \"{}\", and waiting for the other readers would deadlock with a "
                               "reader that waits in the same way: "
                               "release the lock first, or acquire it exclusively from the beginning",
                               shown_part(p));
    }
    if (state_->settings.fencing && parts_.size() + (is_complete() ? 0 : 1) > 1)
        return fmt::format("the scope holds \"{}\" already, with a fencing token of its own, and a handle has only "
                           "one token: acquire each resource by its own call",
                           shown_part(parts_.front()));
    auto const held = scope_->holds_up_to();
    if (is_complete() || request_.options.wait.count() == 0 || held < rest_.names().front())
        return {};
    return fmt::format(
        "waiting for \"{0}\" while the scope holds \"{1}\" would deadlock with an owner that holds "
        "\"{0}\" and waits for \"{1}\": acquire both at once, or in the order of their names, or do not wait",
        shown(rest_.names().front()), shown(held));
}

runtime::task<error_code> scope_acquisition::acquire_rest(std::shared_ptr<scope_acquisition> self)
{
    auto& a = *self;
    a.has_asked_ = true;
    auto rest = a.request_;
    rest.wanted = a.rest_;
    rest.holds_up_to = a.scope_->holds_up_to();
    auto const result = [&a](detail::reported_error ec, lock_handle won) {
        a.asked_ = std::move(ec);
        a.won_ = std::move(won);
    };
    co_await a.ask<detail::acquire_handler>(
        result, [&rest](detail::acquire_handler handler) { start_acquire(std::move(rest), std::move(handler)); });
    if (!a.asked_) {
        a.scope_->add(a.won_);
        a.parts_.push_back(std::move(a.won_));
    }
    co_return a.asked_;
}

// Extends a held lock, so that it lasts as long as a new lock would.
runtime::task<error_code> scope_acquisition::extend_if_too_short(std::shared_ptr<scope_acquisition> self,
                                                                 lock_handle const& part)
{
    auto& a = *self;
    auto const& by = detail::access::handle_of(part);
    auto& held = by->lock;
    auto const give_up_at = core::later(a.state_->now(), a.request_.options.wait);
    held.note_expiry(a.state_->now());
    auto ec = held.why_not_held();
    for (std::size_t tried = 1; !ec && !held.lasts_for(a.request_.options.ttl, a.request_.options.renew); ++tried) {
        if (a.stopped())
            co_return asio::error::operation_aborted;
        co_await a.ask<detail::error_handler>(
            [&ec](error_code outcome) { ec = outcome; },
            [&a, &by](detail::error_handler handler) { start_extend(by, a.request_.options.ttl, std::move(handler)); });
        auto const now = a.state_->now();
        if (ec != errc::no_quorum || now >= give_up_at)
            break;
        auto const again = std::min(now + core::pause_after(tried, a.state_->runtime.random()[0]), give_up_at);
        co_await a.sleep(again);
        held.note_expiry(a.state_->now());
        ec = held.why_not_held();
    }
    if (!ec && a.request_.options.renew == renewal::automatic)
        held.renew_for(a.request_.options.ttl);
    if (ec == errc::lost || ec == errc::no_quorum)
        a.why_ =
            fmt::format("{}: the scope holds \"{}\", and {}", ec.message(), a.shown_part(part), held.lost_because());
    co_return ec;
}

void scope_acquisition::put_together()
{
    if (parts_.size() == 1 && detail::access::handle_of(parts_.front())->resources() == request_.resources())
        won_ = std::move(parts_.front());
    else
        won_ =
            detail::access::make_handle(detail::make_recycled<handle_state>(request_.resources(), std::move(parts_)));
}

void scope_acquisition::cancel(asio::cancellation_type type)
{
    cancelled_ = cancelled_ || !asks_ || runtime::may_leave_traces(type);
    if (asks_)
        signal_.emit(type);
    else
        wake();
}

void scope_acquisition::complete(error_code ec)
{
    parts_.clear();
    if (ec)
        won_ = {};  // memory ran out after the nodes had granted it
    auto const elapsed = std::chrono::duration_cast<std::chrono::microseconds>(state_->now() - called_);
    bool const was_told = has_asked_ && ec == asked_;
    detail::reported_error outcome = was_told ? std::move(asked_) : detail::reported_error(ec);
    give_report(outcome, won_, request_.options, request_.explains, [&] {
        attempt_report r{.outcome = ec};
        if (was_told && outcome.report)
            r = *outcome.report;
        else if (ec)
            r.message = about(request_.resources(), "cannot hold") + ": "
                        + (why_.empty() ? explain(*state_, ec) : why_);
        else
            r.message = "held already";
        r.elapsed = elapsed;
        return r;
    });
    done(std::move(outcome), std::move(won_));
}

}  // namespace

void start_acquire_in_scope(std::shared_ptr<scope_state> s, detail::selection wanted, detail::call_options options,
                            detail::acquire_handler handler, bool explains)
{
    auto& m = *s->manager;  // the operation keeps it
    acquire_request request{m, std::move(wanted), std::move(options), explains};
    if (m.abandoned() || !check(request.wanted, request.options, m.settings).empty()
        || !m.quorum.nodes.check_ttl(request.options.ttl).empty())
        return start_acquire(std::move(request), std::move(handler));  // it reports the problem
    auto a = detail::make_recycled<scope_acquisition>(std::move(s), std::move(request), std::move(handler));
    a->done.on_cancel(a);
    m.operations.run(a, scope_acquisition::run(a));
}

}  // namespace redlock::locks
