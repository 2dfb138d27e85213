#include "locks/look/watched_lock.hpp"

#include "core/quorum.hpp"

#include <boost/asio/error.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <map>
#include <utility>

namespace redlock::inline v1::locks {

namespace {

using namespace std::chrono_literals;

constexpr auto look_pause = 10ms;     // between two looks, however often the lock changes
constexpr auto look_interval = 1s;    // if too few nodes notify
constexpr auto look_at_free = 250ms;  // if they do not notify because the lock is free
constexpr auto look_anyway = 10s;     // if a majority notifies
constexpr auto after_expiry = 10ms;   // servers report whole milliseconds, and their clocks drift

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

}  // namespace

void lock_watchers::changed(std::string_view resource)
{
    if (auto const found = all_.find(resource); found != all_.end())
        found->second->changed();
}

void lock_watchers::all_changed()
{
    for (auto const& [resource, lock] : all_)
        lock->changed();
}

watched_lock::watched_lock(std::shared_ptr<manager_state> s, std::string resource)
    : waiting_operation(std::move(s)), resource_(std::move(resource))
{
}

std::shared_ptr<watched_lock> watched_lock::of(std::shared_ptr<manager_state> const& s, std::string const& resource)
{
    auto& all = s->watchers.all_;
    auto known = all.find(resource);
    if (known == all.end())
        known = all.emplace(resource, std::make_shared<watched_lock>(s, resource)).first;
    return known->second;
}

bool watched_lock::is_deserted() const { return joined_.empty() && asked_.empty() && told_.empty(); }

watched_lock::place::place(std::shared_ptr<manager_state> const& s, std::string const& resource, lock_watch& w)
    : lock_(of(s, resource)), watch_(w)
{
    lock_->joined_.push_back(w);
    if (std::exchange(lock_->looks_, true))
        lock_->changed();
    else
        s->operations.run(lock_, look_repeatedly(lock_));
}

watched_lock::place::~place()
{
    auto& l = *lock_;
    watch_.unlink();
    if (l.is_deserted() && !l.state_->abandoned())
        l.changed();
}

runtime::task<error_code> watched_lock::look_repeatedly(std::shared_ptr<watched_lock> self)
{
    auto& state = *self->state_;
    state.operations.enter(*self);
    while (!self->stopped()) {
        auto const begun = state.now();
        auto const answers = quorum::make_round(state.quorum, to_inspect(state, self->resource_, true));
        self->changed_ = false;
        self->asked_.splice(self->asked_.end(), self->joined_);
        co_await self->gather(*answers);
        if (self->cancelled_)
            break;
        auto const now = summary_of(*answers, self->resource_);
        if (is_known(now) && is_certain(now))
            self->tell(now);
        auto const next = self->next_look(*answers, now);
        while (!self->stopped() && state.now() < (self->changed_ ? begun + look_pause : next))
            co_await self->sleep(self->changed_ ? begun + look_pause : next);
        if (self->is_deserted())  // only now, because those who were told may soon wait again
            co_return error_code();
    }
    co_return asio::error::operation_aborted;
}

// Those who know the holders hear only of others. A watch may leave when it is told.
void watched_lock::tell(lock_info const& now)
{
    auto holds = holds_in(now);
    is_new_ = holds != holds_;
    if (is_new_)
        asked_.splice(asked_.end(), told_);
    holds_ = std::move(holds);
    while (!asked_.empty()) {
        auto& w = asked_.front();
        asked_.pop_front();
        told_.push_back(w);
        w.looked(now, *holds_);
    }
}

clock::time_point watched_lock::next_look(quorum::round const& answers, lock_info const& now) const
{
    auto const notify = std::ranges::count_if(answers.ballots, [](auto& b) { return b.reply.watched; });
    bool const is_notified = static_cast<std::size_t>(notify) >= core::majority(now.nodes.size());
    // A change between an answer and the request for notifications is seen at the next look.
    auto const latest = state_->now()
                        + (is_notified && !is_new_ ? clock::duration(look_anyway)
                           : now.locked            ? clock::duration(look_interval)
                                                   : clock::duration(look_at_free));
    return now.locked && now.remaining < look_anyway ? std::min(latest, state_->now() + now.remaining + after_expiry)
                                                     : latest;
}

void watched_lock::changed()
{
    if (!std::exchange(changed_, true))
        wake();
}

void watched_lock::complete(error_code ec)
{
    auto const keep = shared_from_this();
    looks_ = false;
    state_->watchers.all_.erase(resource_);
    for (auto* const l : {&joined_, &asked_, &told_}) {
        while (!l->empty()) {
            auto& w = l->front();
            l->pop_front();
            w.ended(ec);
        }
    }
}

}  // namespace redlock::locks
