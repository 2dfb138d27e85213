#include "versus/loss_watch.hpp"

#include <algorithm>
#include <utility>

namespace redlock::versus {

void loss_watch::acquired(std::size_t worker, time_point at)
{
    bool twice = false;
    for (auto& other : workers_) {
        if (auto const noticed = std::exchange(other.noticed, {}))
            record(*noticed - at);
        if (&other == &workers_[worker] || other.now == state::outside)
            continue;
        twice = true;
        if (!other.taken)
            other.taken = at;
    }
    held_twice_ += twice;
    workers_[worker] = {.now = state::working};
}

void loss_watch::noticed(std::size_t worker, time_point at)
{
    auto& w = workers_[worker];
    if (w.taken)
        record(at - *w.taken);
    else
        w.noticed = at;
    w.now = state::outside;
}

void loss_watch::worked(std::size_t worker)
{
    auto& w = workers_[worker];
    never_ = never_ || w.taken;
    w.now = state::writing;
}

void loss_watch::left(std::size_t worker) { workers_[worker].now = state::outside; }

void loss_watch::record(duration d) { slowest_ = std::max(slowest_.value_or(d), d); }

}  // namespace redlock::versus
