// Acquires a lock that may be upgraded.

#include "core/key.hpp"
#include "core/validity.hpp"
#include "locks/acquisition.hpp"
#include "locks/explain.hpp"
#include "locks/held_lock.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

namespace redlock::inline v1::locks {

namespace {

// Two readers that both wait to be the last would deadlock. So the right to wait for that is an ordinary lock, with one
// owner at a time. It is acquired first and given back first. In the order of names, it comes immediately before its
// lock. The owner of the right waits for the lock, so it must not queue behind a set that waits for the right, directly
// or not.
class upgradeable final : public detail::cancellable, public std::enable_shared_from_this<upgradeable> {
public:
    upgradeable(acquire_request r, detail::acquire_handler handler)
        : done(std::move(handler)),
          state_(r.manager.shared_from_this()),
          request_(std::move(r)),
          called_(state_->now()),
          give_up_at_(core::later(called_, request_.options.wait))
    {
    }

    void begin()
    {
        auto const right = core::upgrade_key(request_.key_of(request_.names().front()));
        auto how = request_.options;
        how.mode = mode::exclusive;
        how.renew = renewal::automatic;  // until the lock is given back, or lost
        how.max_hold = {};
        acquire(std::string(request_.name_of(right)), std::move(how), request_.holds_up_to, {},
                &upgradeable::has_right);
    }

    void request_cancel(asio::cancellation_type type) override
    {
        asio::dispatch(state_->strand(), [self = shared_from_this(), type] {
            self->cancelled_ = true;
            self->signal_.emit(type);
        });
    }

    detail::acquire_handler done;

private:
    using step = void (upgradeable::*)(detail::reported_error, lock_handle);

    void acquire(resource_set names, detail::call_options how, std::string const& holds_up_to, lock_handle right,
                 step next)
    try {
        auto ended = [self = shared_from_this(), next](detail::reported_error ec, lock_handle won) {
            (self.get()->*next)(std::move(ec), std::move(won));
        };
        auto const& strand = state_->strand();
        detail::acquire_handler handler(
            asio::bind_cancellation_slot(signal_.slot(), asio::bind_executor(strand, std::move(ended))), strand);
        acquisition::start({*state_, std::move(names), std::move(how), request_.explains, holds_up_to},
                           std::move(handler), std::move(right));
    } catch (...) {  // out of memory
        end(detail::reported_error(asio::error::no_memory), lock_handle());
    }

    void has_right(detail::reported_error ec, lock_handle won)
    {
        if (!ec && cancelled_)
            ec = detail::reported_error(asio::error::operation_aborted);
        if (ec)
            return end(std::move(ec), lock_handle());
        if (ec.report) {
            rounds_ = ec.report->rounds;
            second_rounds_ = ec.report->second_rounds;
        }
        detail::access::report_of(won).reset();  // the right is held as long as the lock
        auto how = request_.options;
        if (how.wait != wait_forever)
            how.wait = core::time_left(give_up_at_, state_->now());
        acquire(request_.resources(), std::move(how), request_.names().front(), std::move(won),
                &upgradeable::is_reader);
    }

    void is_reader(detail::reported_error ec, lock_handle won)
    {
        // The right may have been lost meanwhile, and somebody else may have it.
        if (!ec && !detail::access::handle_of(won)->lock.held_as.may_wait_to_be_alone()) {
            won = {};
            ec = detail::reported_error(errc::contended);
        }
        end(std::move(ec), std::move(won));
    }

    void end(detail::reported_error ec, lock_handle won)
    {
        give_report(ec, won, request_.options, request_.explains, [&] { return report(ec); });
        done(std::move(ec), std::move(won));
    }

    // Joins the reports of both acquisitions.
    attempt_report report(detail::reported_error const& ec) const
    {
        attempt_report r = ec.report ? *ec.report : attempt_report();
        if (r.outcome != ec || (ec && r.message.empty()))  // the error is not of an acquisition
            r = {.outcome = ec, .message = about(request_.resources(), "cannot hold") + ": " + explain(*state_, ec)};
        r.rounds += rounds_;
        r.second_rounds += second_rounds_;
        r.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(state_->now() - called_);
        return r;
    }

    std::shared_ptr<manager_state> const state_;
    acquire_request const request_;
    clock::time_point const called_;
    clock::time_point const give_up_at_;
    std::size_t rounds_ = 0;         ///< of the first acquisition
    std::size_t second_rounds_ = 0;  ///< of the first acquisition
    bool cancelled_ = false;
    asio::cancellation_signal signal_;
};

}  // namespace

void start_upgradeable(acquire_request request, detail::acquire_handler handler)
{
    auto const& strand = request.manager.strand();
    auto const u = std::make_shared<upgradeable>(std::move(request), std::move(handler));
    u->done.on_cancel(u);
    asio::dispatch(strand, [u] { u->begin(); });
}

}  // namespace redlock::locks
