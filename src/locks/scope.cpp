#include "locks/scope.hpp"

#include <algorithm>

namespace redlock::detail {

std::shared_ptr<scope_state> make_scope(std::shared_ptr<manager_state> m)
{
    return std::make_shared<scope_state>(std::move(m));
}

asio::any_io_executor executor_of(std::shared_ptr<scope_state> const& s) noexcept
{
    return executor_of(s->manager);
}

void scope_state::add(lock_handle const& won)
{
    auto const& s = access::stake_of(won);
    known_.push_back({s->lock.weak_from_this(), std::make_shared<handle_count>()});
    s->belongs_to(known_.back().handles);
}

std::vector<lock_handle> scope_state::handles_on(resource_set const& names)
{
    auto const is_held = [](known_lock const& k) {
        auto const l = k.lock.lock();
        return l && k.handles->any() && l->held();
    };
    std::erase_if(known_, [&](auto& k) { return !is_held(k); });

    std::vector<lock_handle> handles;
    for (auto const& k : known_) {
        auto const l = k.lock.lock();
        auto const is_wanted = [&](auto& name) { return std::binary_search(names.begin(), names.end(), name); };
        if (!l || std::none_of(l->resources.begin(), l->resources.end(), is_wanted))
            continue;
        if (auto more = l->another(k.handles))
            handles.push_back(access::make_handle(std::move(more)));
    }
    return handles;
}

std::string scope_state::holds_up_to() const
{
    std::string last;
    for (auto const& k : known_) {
        if (auto const l = k.lock.lock(); l && k.handles->any() && l->held())
            last = std::max(last, l->resources.names().back());
    }
    return last;
}

scope_state::turn::~turn()
{
    all_.turns_.erase(at_);
    for (auto const& wake : all_.turns_)
        wake();
}

}  // namespace redlock::detail
