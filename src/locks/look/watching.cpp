#include "locks/check.hpp"
#include "locks/look/watched_lock.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/error.hpp>

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace redlock::inline v1::locks {

namespace {

/// One call of `lock_manager::async_watch`.
class watching final : public waiting_operation<watching>, lock_watch {
public:
    /// @param seen empty: the first look shows it
    watching(std::shared_ptr<manager_state> s, lock_info before, std::optional<std::set<hold>> seen,
             detail::inspect_handler handler)
        : waiting_operation(std::move(s)), done(std::move(handler)), info_(std::move(before)), seen_(std::move(seen))
    {
    }

    static runtime::task<error_code> wait_for_change(std::shared_ptr<watching> self)
    {
        auto& state = *self->state_;
        state.operations.enter(*self);
        auto const resource = self->info_.resource;
        if (!self->stopped() && !check_resource(resource, state.settings.prefix).empty())
            co_return errc::invalid_argument;
        if (self->stopped())
            co_return asio::error::operation_aborted;
        watched_lock::place const place(self->state_, resource, *self);
        while (!self->stopped() && !self->outcome_)
            co_await self->sleep(clock::time_point::max());
        co_return self->outcome_.value_or(asio::error::operation_aborted);
    }

    void complete(error_code ec) { done(ec, std::move(info_)); }

    detail::inspect_handler done;

private:
    void looked(lock_info const& now, std::set<hold> const& holds) override
    {
        if (!seen_)
            seen_ = holds;
        if (holds == *seen_)
            return;
        info_ = now;
        ended(error_code());
    }

    void ended(error_code ec) override
    {
        if (!outcome_)
            outcome_ = ec;
        wake();
    }

    lock_info info_;
    std::optional<std::set<hold>> seen_;
    std::optional<error_code> outcome_;
};

void start(std::shared_ptr<manager_state> s, lock_info before, std::optional<std::set<hold>> seen,
           detail::inspect_handler handler)
{
    watching::start(watching::wait_for_change, std::move(s), std::move(before), std::move(seen), std::move(handler));
}

}  // namespace

void start_watch(std::shared_ptr<manager_state> s, lock_info seen, detail::inspect_handler handler)
{
    auto holds = holds_in(seen);
    start(std::move(s), std::move(seen), std::move(holds), std::move(handler));
}

void start_watch(std::shared_ptr<manager_state> s, std::string resource, detail::inspect_handler handler)
{
    start(std::move(s), lock_info{.resource = std::move(resource)}, std::nullopt, std::move(handler));
}

}  // namespace redlock::locks
