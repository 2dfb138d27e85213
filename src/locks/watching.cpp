#include "core/quorum.hpp"
#include "locks/check.hpp"
#include "locks/lock_summary.hpp"
#include "locks/lock_watchers.hpp"
#include "locks/waiting_operation.hpp"

#include <redlock/clock.hpp>

#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace redlock::inline v0::locks {

namespace {

using namespace std::chrono_literals;

constexpr auto look_pause = 10ms;    // between two looks, however often the lock changes
constexpr auto look_interval = 1s;   // if too few nodes notify
constexpr auto look_anyway = 10s;    // if a majority notifies
constexpr auto after_expiry = 10ms;  // servers report whole milliseconds, and their clocks drift

// Whether the nodes that did not answer cannot change which holder has a majority.
bool is_certain(lock_info const& info)
{
    std::map<std::string, std::size_t> votes{{std::string(), 0}};
    std::size_t unknown = 0;
    for (auto const& n : info.nodes) {
        unknown += n.error ? 1 : 0;
        if (n.locked)
            ++votes[n.value];
    }
    auto const needed = core::majority(info.nodes.size());
    return info.locked || std::ranges::none_of(votes, [&](auto& v) { return v.second + unknown >= needed; });
}

/// One call of `lock_manager::async_watch`.
class watching final : public waiting_operation<watching>, lock_watcher {
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
        lock_watchers::place const place(state.watchers, resource, *self);
        while (!self->stopped()) {
            auto const begun = state.now();
            auto const answers = make_inspection(state, resource);
            answers->watch();
            self->changed_ = false;
            co_await self->gather(*answers);
            if (self->cancelled_)
                break;
            auto now = summary_of(*answers, resource);
            if (self->shows_change(now)) {
                self->info_ = std::move(now);
                co_return error_code();
            }
            auto const next = self->next_look(*answers, now);
            while (!self->stopped() && state.now() < (self->changed_ ? begun + look_pause : next))
                co_await self->sleep(self->changed_ ? begun + look_pause : next);
        }
        co_return asio::error::operation_aborted;
    }

    void complete(error_code ec) { done(ec, std::move(info_)); }

    detail::inspect_handler done;

private:
    void changed() override
    {
        if (!std::exchange(changed_, true))
            wake();
    }

    bool shows_change(lock_info const& now)
    {
        if (!is_known(now) || !is_certain(now))
            return false;
        auto holds = holds_in(now);
        if (seen_)
            return holds != *seen_;
        seen_ = std::move(holds);
        return false;
    }

    clock::time_point next_look(quorum::round const& answers, lock_info const& now) const
    {
        auto const notify = std::ranges::count_if(answers.ballots, [](auto& b) { return b.reply.watched; });
        bool const is_notified = static_cast<std::size_t>(notify) >= core::majority(now.nodes.size());
        auto const latest = state_->now() + (is_notified ? look_anyway : clock::duration(look_interval));
        return now.locked && now.remaining < look_anyway
                   ? std::min(latest, state_->now() + now.remaining + after_expiry)
                   : latest;
    }

    lock_info info_;
    std::optional<std::set<hold>> seen_;
    bool changed_ = false;  ///< since the latest look has begun
};

void start(std::shared_ptr<manager_state> s, lock_info before, std::optional<std::set<hold>> seen,
           detail::inspect_handler handler)
{
    if (s->abandoned())
        return handler(asio::error::operation_aborted, std::move(before));
    auto w = std::make_shared<watching>(s, std::move(before), std::move(seen), std::move(handler));
    w->done.on_cancel(w);
    s->operations.run(w, watching::wait_for_change(w));
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
