// How one acquires what may be upgraded.

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

namespace redlock::inline v0::detail {

namespace {

// Two readers that both wait to be the last would wait for each other. So who may wait has a lock for that, as any other: one at a time. It is
// taken first, and given back first. In the order of names it comes immediately before its lock: who holds it, and waits for the lock, must not
// stand behind a set that waits for somebody who waits for the right.
class upgradeable final : public cancellable, public std::enable_shared_from_this<upgradeable> {
public:
    upgradeable(std::shared_ptr<manager_state> s, resource_set names, acquire_options options, acquire_handler handler, bool explains,
                std::string holds_up_to)
        : done(std::move(handler)),
          state_(std::move(s)),
          resources_(std::move(names)),
          options_(options),
          explains_(explains),
          holds_up_to_(std::move(holds_up_to)),
          called_(state_->now()),
          give_up_at_(core::later(called_, options.wait))
    {
    }

    void begin()
    {
        auto right = core::upgrade_key(state_->settings.prefix + resources_.names().front()).substr(state_->settings.prefix.size());
        auto how = options_;
        how.mode = mode::exclusive;
        how.renew = renewal::automatic;  // until the lock is given back, or lost
        how.max_hold = {};
        acquire(std::move(right), how, holds_up_to_, {}, [](upgradeable& self, reported_error ec, lock_handle won) { self.has_right(std::move(ec), std::move(won)); });
    }

    void request_cancel(asio::cancellation_type type) override
    {
        asio::dispatch(state_->strand(), [self = shared_from_this(), type] {
            self->cancelled_ = true;
            self->signal_.emit(type);
        });
    }

    acquire_handler done;

private:
    using step = void (*)(upgradeable&, reported_error, lock_handle);

    void acquire(resource_set names, acquire_options how, std::string const& holds_up_to, lock_handle right, step next)
    try {
        auto handler = asio::bind_cancellation_slot(signal_.slot(), asio::bind_executor(state_->strand(), [self = shared_from_this(), next](reported_error ec, lock_handle won) {
            next(*self, std::move(ec), std::move(won));
        }));
        how.report = options_.report ? &said_ : nullptr;  // the user's report is written once, at the end
        auto a = make_recycled<acquisition>(state_, std::move(names), how, acquire_handler(std::move(handler), state_->strand()), explains_, holds_up_to);
        a->right_to_upgrade = std::move(right);
        acquisition::start(std::move(a));
    } catch (...) {  // out of memory
        end(reported_error(asio::error::no_memory), lock_handle());
    }

    void has_right(reported_error ec, lock_handle won)
    {
        if (ec)
            return end(std::move(ec), lock_handle());
        if (cancelled_)
            return end(reported_error(asio::error::operation_aborted), lock_handle());
        rounds_ = said_.rounds;
        second_rounds_ = said_.second_rounds;
        auto how = options_;
        if (options_.wait != wait_forever)
            how.wait = core::time_left(give_up_at_, state_->now());
        acquire(resources_, how, resources_.names().front(), std::move(won), [](upgradeable& self, reported_error failure, lock_handle reader) { self.is_reader(std::move(failure), std::move(reader)); });
    }

    void is_reader(reported_error ec, lock_handle won)
    {
        if (!ec && !access::stake_of(won)->lock.may_wait_to_be_alone()) {  // somebody else may have the right by now
            won = {};
            ec = reported_error(errc::contended);
        }
        end(std::move(ec), std::move(won));
    }

    // Both acquisitions make one report.
    void end(reported_error ec, lock_handle won)
    {
        if (options_.report || (ec && explains_))
            tell(ec);
        done(std::move(ec), std::move(won));
    }

    void tell(reported_error& ec) noexcept
    {
        try {
            attempt_report r = options_.report ? std::move(said_) : ec.report ? *ec.report : attempt_report();
            if (r.outcome != ec || (ec && r.message.empty()))  // neither acquisition has failed
                r = {.outcome = ec, .message = about(resources_, "cannot hold") + ": " + ec.message()};
            r.rounds += rounds_;
            r.second_rounds += second_rounds_;
            r.elapsed = std::chrono::duration_cast<std::chrono::microseconds>(state_->now() - called_);
            if (ec && explains_)
                ec.report = std::make_shared<attempt_report const>(r);
            if (options_.report)
                *options_.report = std::move(r);
        } catch (...) {  // out of memory: the code must do
        }
    }

    std::shared_ptr<manager_state> const state_;
    resource_set const resources_;
    acquire_options const options_;
    bool const explains_;
    std::string const holds_up_to_;
    clock::time_point const called_;
    clock::time_point const give_up_at_;
    attempt_report said_;             ///< the report of the latest acquisition
    std::size_t rounds_ = 0;          ///< of the first acquisition
    std::size_t second_rounds_ = 0;   ///< likewise
    bool cancelled_ = false;
    asio::cancellation_signal signal_;
};

}  // namespace

void start_upgradeable(std::shared_ptr<manager_state> s, resource_set resources, acquire_options options, acquire_handler handler, bool explains,
                       std::string holds_up_to)
{
    auto u = std::make_shared<upgradeable>(s, std::move(resources), options, std::move(handler), explains, std::move(holds_up_to));
    u->done.on_cancel(u);
    asio::dispatch(s->strand(), [u] { u->begin(); });
}

}  // namespace redlock::detail
