#include "fault/arbiter.hpp"

#include <algorithm>
#include <vector>

namespace redlock::test {

arbiter::record arbiter::stop()
{
    requests_.stop();
    for (auto const& c : counters_) {
        record_.acknowledged += c.acknowledged;
        record_.lost += c.acknowledged - c.value;
        if (fenced_)
            inspect_order(c);
    }
    return record_;
}

answer arbiter::decide(request const& r)
{
    auto& c = counters_.at(r.counter);
    bool const entering = r.what == request::kind::enter;
    if (entering) {
        c.entries.emplace(r.acquisition, r);
        auto const owner = c.owner.emplace(r.token, r.acquisition).first->second;
        record_.twice += fenced_ && (r.token == 0 || owner != r.acquisition);
    }
    if (fenced_ && (entering ? r.token < c.fence : r.token != c.fence)) {
        ++record_.refused;
        return {false, c.value};
    }
    record_.stale += r.acquired < c.latest_began;
    if (entering) {
        c.fence = r.token;
        c.latest_began = std::max(c.latest_began, r.began);
    } else {
        c.value = r.value;
        ++c.acknowledged;
    }
    return {true, c.value};
}

// A token must be above that of each acquisition that was over before its own began.
void arbiter::inspect_order(counter const& c)
{
    std::vector<request> by_begin;
    for (auto const& e : c.entries)
        by_begin.push_back(e.second);
    auto by_end = by_begin;
    std::sort(by_begin.begin(), by_begin.end(), [](auto& a, auto& b) { return a.began < b.began; });
    std::sort(by_end.begin(), by_end.end(), [](auto& a, auto& b) { return a.acquired < b.acquired; });
    std::uint64_t highest = 0;
    auto over = by_end.begin();
    for (auto const& r : by_begin) {
        for (; over != by_end.end() && over->acquired < r.began; ++over)
            highest = std::max(highest, over->token);
        record_.falling += r.token <= highest;
    }
}

}  // namespace redlock::test
