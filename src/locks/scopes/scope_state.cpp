#include "locks/scopes/scope_state.hpp"

#include <algorithm>
#include <iterator>
#include <set>

namespace redlock::inline v1::locks {

std::shared_ptr<scope_state> make_scope(std::shared_ptr<manager_state> m)
{
    return std::make_shared<scope_state>(std::move(m));
}

asio::any_io_executor executor_of(std::shared_ptr<scope_state> const& s) noexcept { return executor_of(s->manager); }

void scope_state::add(lock_handle const& won)
{
    auto const& s = detail::access::handle_of(won);
    auto handles = std::make_shared<scope_share>(shared_from_this());
    forget_others();
    for (auto const& name : s->lock.resources)
        known_.insert_or_assign(name, known_lock{s->lock.weak_from_this(), handles});
    s->belongs_to(std::move(handles));

    std::set<turn*> woken;  // each turn once, even if it wants several of the names
    for (auto const& name : s->lock.resources) {
        auto const [begin, end] = wanted_.equal_range(name);
        std::transform(begin, end, std::inserter(woken, woken.end()), [](auto& entry) { return entry.second; });
    }
    for (auto* const t : woken)
        t->wake_();
    auto const last = observers_.lower_bound(s->lock.resources.names().back());
    for (auto it = observers_.begin(); it != last; ++it)
        it->second();
}

void scope_state::forget_others()
{
    if (known_.size() < forget_at_)
        return;
    std::erase_if(known_, [](auto& k) { return !k.second.if_held(); });
    forget_at_ = std::max<std::size_t>(64, 2 * known_.size());
}

std::shared_ptr<held_lock> scope_state::known_lock::if_held() const
{
    auto const mine = handles.lock();
    auto l = lock.lock();
    return l && mine && mine->handles.any() && l->held() ? l : nullptr;
}

scope_state::possession scope_state::possession_of(resource_set const& names)
{
    possession all;
    std::map<held_lock const*, bool> seen;  // each lock that was found, and whether it got a handle
    for (auto const& name : names) {
        auto const known = known_.find(name);
        auto const l = known == known_.end() ? nullptr : known->second.if_held();
        if (!l) {
            if (known != known_.end())
                known_.erase(known);
            all.rest.push_back(name);
            continue;
        }
        auto const [it, is_new] = seen.try_emplace(l.get(), false);
        if (is_new) {
            if (auto more = l->another_handle(known->second.handles.lock())) {
                all.handles.push_back(detail::access::make_handle(std::move(more)));
                it->second = true;
            }
        }
        if (!it->second)
            all.rest.push_back(name);
    }
    return all;
}

std::string scope_state::holds_up_to()
{
    while (!known_.empty()) {
        auto const last = std::prev(known_.end());
        if (last->second.if_held())
            return last->first;
        known_.erase(last);
    }
    return {};
}

scope_state::turn::turn(scope_state& all, resource_set const& names, std::function<void()> wake)
    : all_(all), wake_(std::move(wake)), at_(all.turns_.insert(all.turns_.end(), this))
{
    try {
        entries_.reserve(names.size());
        for (auto const& name : names)
            entries_.push_back(all_.wanted_.emplace(name, this));
    } catch (...) {  // out of memory
        leave();
        throw;
    }
}

scope_state::turn::~turn()
{
    bool const had_come = has_come();
    leave();
    if (had_come && !all_.turns_.empty())
        all_.turns_.front()->wake_();
}

void scope_state::turn::leave() noexcept
{
    for (auto const& entry : entries_)
        all_.wanted_.erase(entry);
    all_.turns_.erase(at_);
}

}  // namespace redlock::locks
