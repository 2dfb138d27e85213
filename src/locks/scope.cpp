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
    auto handles = std::make_shared<scope_share>(shared_from_this());
    known_.push_back({s->lock.weak_from_this(), handles});
    s->belongs_to(std::move(handles));
    for (auto const& tell : observers_)
        tell();
}

std::shared_ptr<held_lock> scope_state::known_lock::if_held() const
{
    auto const mine = handles.lock();
    auto l = lock.lock();
    return l && mine && mine->handles.any() && l->held() ? l : nullptr;
}

std::vector<lock_handle> scope_state::handles_on(resource_set const& names)
{
    std::erase_if(known_, [](auto& k) { return !k.if_held(); });
    std::vector<lock_handle> handles;
    for (auto const& k : known_) {
        auto const l = k.if_held();
        auto const is_wanted = [&](auto& name) { return std::binary_search(names.begin(), names.end(), name); };
        if (!l || std::none_of(l->resources.begin(), l->resources.end(), is_wanted))
            continue;
        if (auto more = l->another(k.handles.lock()))
            handles.push_back(access::make_handle(std::move(more)));
    }
    return handles;
}

std::string scope_state::holds_up_to() const
{
    std::string last;
    for (auto const& k : known_) {
        if (auto const l = k.if_held())
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
