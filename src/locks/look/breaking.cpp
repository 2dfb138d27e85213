#include "core/key.hpp"
#include "locks/check.hpp"
#include "locks/look/lock_summary.hpp"
#include "locks/asking_operation.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <set>
#include <tuple>
#include <utility>

namespace redlock::inline v1::locks {

namespace {

// If a majority has one value, a minority may have that of a client which is acquiring the lock right now.
std::set<hold> holds_to_delete(lock_info const& seen)
{
    auto values = exclusive_hold(seen);
    for (auto const& n : seen.nodes) {
        if (!seen.locked && n.locked && n.mode == mode::exclusive && !n.value.empty())
            values.emplace(mode::exclusive, n.value);
    }
    for (auto const& r : seen.readers)
        values.emplace(mode::shared, r.value);
    return values;
}

/// One call of `lock_manager::async_break`.
class breaking final : public asking_operation<breaking> {
public:
    breaking(std::shared_ptr<manager_state> s, lock_info seen, detail::completion<void(error_code, break_info)> handler)
        : asking_operation(std::move(s)), done(std::move(handler)), seen_(std::move(seen))
    {
    }

    static runtime::task<error_code> delete_seen(std::shared_ptr<breaking> self)
    {
        auto& state = *self->state_;
        state.operations.enter(*self);
        if (self->stopped())
            co_return asio::error::operation_aborted;
        auto const values = holds_to_delete(self->seen_);
        if (!check_resource(self->seen_.resource, state.settings.prefix).empty() || values.empty())
            co_return errc::invalid_argument;
        if (state.settings.read_only)
            co_return errc::unsupported;

        for (auto const& [how, value] : values) {
            auto const release = self->release_of(how, value);
            co_await self->gather(*release);
            if (self->cancelled_)
                co_return asio::error::operation_aborted;
            self->add(*release);
        }
        self->count_deleted();
        co_return self->outcome();
    }

    void complete(error_code ec) { done(ec, std::move(result_)); }

    void cancel(asio::cancellation_type type) override
    {
        if (runtime::may_leave_traces(type))
            asking_operation::cancel(type);
    }

    detail::completion<void(error_code, break_info)> done;

private:
    // The holder may have a renewal under way, which would set the key again. So the release leaves a tombstone, as for
    // an unanswered request of this manager on another connection.
    std::shared_ptr<quorum::round> release_of(mode how, std::string const& value)
    {
        auto& state = *state_;
        quorum::key_list keys{state.settings.prefix + seen_.resource};
        auto const taken = detail::make_recycled<quorum::grant>(std::move(keys), value, state.quorum.nodes.size(), how);
        taken->taken_over();
        taken->hands_over = true;  // the holder may have announced its own waiters
        for (std::size_t i = 0; core::is_token(value) && i < taken->nodes(); ++i)
            taken->repeat_unanswered(i, std::numeric_limits<std::uint32_t>::max());
        auto release = state.cleaner.make_release(taken, state.settings.max_ttl);
        release->waits_for_all = true;
        return release;
    }

    void add(quorum::round const& release)
    {
        result_.resource = seen_.resource;
        result_.nodes.resize(release.ballots.size());
        for (auto const& b : release.ballots) {
            auto& n = result_.nodes[b.node];
            n.name = state_->quorum.nodes[b.node].name();
            n.deleted = n.deleted || (b.answered && b.reply.vote == vote::granted);
            if (!b.answered || b.reply.vote == vote::unknown) {
                n.error = b.reply.error ? b.reply.error : make_error_code(errc::node_timeout);
                n.message = b.reply.text;
                if (!state_->quorum.nodes[b.node].ready())  // then the release waits for a connection
                    std::tie(n.error, n.message) = state_->quorum.nodes.latest_error(b.node);
            }
        }
    }

    void count_deleted()
    {
        result_.deleted = count([](auto& n) { return n.deleted; });
    }

    template <class Is>
    std::size_t count(Is is) const
    {
        return static_cast<std::size_t>(std::ranges::count_if(result_.nodes, is));
    }

    error_code outcome() const
    {
        if (count([](auto& n) { return !n.error; }) < core::majority(result_.nodes.size()))
            return errc::no_quorum;
        return result_.deleted > 0 ? error_code() : make_error_code(errc::not_held);
    }

    lock_info const seen_;
    break_info result_;
};

}  // namespace

void start_break(std::shared_ptr<manager_state> s, lock_info seen, detail::break_handler handler)
{
    breaking::start(breaking::delete_seen, std::move(s), std::move(seen), std::move(handler));
}

}  // namespace redlock::locks
