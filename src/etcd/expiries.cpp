#include "etcd/expiries.hpp"

#include <algorithm>

namespace redlock::etcd_v3 {

void expiries::keep(leased const& l, clock::time_point until, std::chrono::milliseconds ttl)
{
    auto const known = known_.emplace(l, entry{until, ttl}).first;
    auto& [key, e] = *known;
    order_.erase({e.until, &key});
    e = {std::max(e.until, until), std::max(e.ttl, ttl)};
    order_.emplace(e.until, &key);
}

void expiries::forget(leased const& l)
{
    auto const known = known_.find(l);
    if (known == known_.end())
        return;
    order_.erase({known->second.until, &known->first});
    known_.erase(known);
}

void expiries::clear()
{
    order_.clear();
    known_.clear();
}

clock::time_point expiries::until(leased const& l) const
{
    auto const known = known_.find(l);
    return known == known_.end() ? clock::time_point::min() : known->second.until;
}

std::chrono::milliseconds expiries::ttl(leased const& l) const
{
    auto const known = known_.find(l);
    return known == known_.end() ? std::chrono::milliseconds(0) : known->second.ttl;
}

clock::time_point expiries::next() const
{
    return order_.empty() ? clock::time_point::max() : order_.begin()->first;
}

std::vector<leased> expiries::take_due(clock::time_point now)
{
    std::vector<leased> due;
    while (!order_.empty() && order_.begin()->first <= now) {
        due.push_back(*order_.begin()->second);
        order_.erase(order_.begin());
    }
    return due;
}

std::vector<std::string> expiries::locks() const
{
    std::vector<std::string> keys;
    for (auto const& [l, e] : known_) {
        if (l.what == leased::kind::lock)
            keys.push_back(l.key);
    }
    return keys;
}

}  // namespace redlock::etcd_v3
