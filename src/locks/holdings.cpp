#include "locks/holdings.hpp"

#include "runtime/counter.hpp"

#include <algorithm>
#include <iterator>

namespace redlock::detail {

holdings::holdings(detail::waiters& w, detail::cleaner& c, user_observer const& events, std::function<void()> released)
    : waiters_(w), cleaner_(c), events_(events), released_(std::move(released))
{
}

void holdings::add(std::shared_ptr<holding> h)
{
    // The key is the lock's own; one that the servers forgot may still be there under the same name.
    try {
        for (auto const& resource : h->resources) {
            for (auto [it, end] = held_.equal_range(resource); it != end;)
                it = h->grant()->mode == mode::shared && it->second->grant()->mode == mode::shared ? std::next(it) : held_.erase(it);
            held_.emplace(resource, h.get());
        }
    } catch (...) {  // out of memory
        std::erase_if(held_, [&](auto& known) { return known.second == h.get(); });
        throw;
    }
    all_.push_back(*h);
    bump<std::size_t>(held_now_, 1);
    bump(h->count.acquired);
    h->kept_ = std::move(h);
}

void holdings::set_free(holding& h, clock::time_point now)
{
    bump<std::size_t>(held_now_, -1);
    for (auto const& resource : h.resources) {
        auto const [begin, end] = held_.equal_range(resource);
        auto const it = std::find_if(begin, end, [&](auto& known) { return known.second == &h; });
        if (it == end)
            continue;
        bool const was_the_last = std::next(begin) == end;
        held_.erase(it);
        if (was_the_last && waiters_.freed(resource, now)) {
            h.grant()->hands_on = false;  // it is the next one's to end
            if (events_)
                events_.tell(&observer::handed_over, {.when = now, .lock = h.number, .resource = resource}, h.kept_);
        }
        for (auto* const other : was_the_last ? of({}) : of(resource))  // no node tells us of what we do ourselves
            other->others_changed();
    }
}

void holdings::remove(holding& h)
{
    all_.erase(all_.iterator_to(h));
    h.kept_.reset();
}

void holdings::give_away(holding& h) noexcept
{
    auto const keep = h.kept_;
    if (!h.let_go())
        return;
    try {
        if (h.is_detached())
            h.grant()->withdraw();  // a key that is set from now on nobody may know of
        else
            cleaner_.clean_up(h.grant(), h.longest_ttl());
        released_();
    } catch (...) {  // out of memory: the key stays until its ttl is over
    }
}

std::optional<clock::time_point> holdings::held_until(std::span<std::string const> resources, redlock::mode wanted) const
{
    std::optional<clock::time_point> until;
    for (auto const& resource : resources) {
        for (auto const* const h : of(resource)) {
            if (h->held() && (wanted == mode::exclusive || h->keeps_readers_out()))
                until = std::max(until, std::optional(h->valid_until()));
        }
    }
    return until;
}

bool holdings::held_alone(resource_set const& resources) const
{
    return std::any_of(resources.begin(), resources.end(), [this](auto& resource) {
        return std::ranges::any_of(of(resource), [](auto* h) { return h->held() && h->mode() == mode::exclusive; });
    });
}

bool holdings::upgrade_waits(std::string_view resource) const
{
    return std::ranges::any_of(of(resource), [](auto* h) { return h->held() && h->keeps_readers_out() && h->mode() != mode::exclusive; });
}

std::shared_ptr<stake> holdings::join(std::string const& resource, acquire_options const& options, clock::time_point called, bool passes) const
{
    if (!passes && std::ranges::any_of(of(resource), [](auto* h) { return h->is_wanted(); }))
        return nullptr;
    for (auto* const h : of(resource)) {
        if (auto more = h->join(options, called))
            return more;
    }
    return nullptr;
}

void holdings::changed(core::watched what, std::size_t node, std::string_view resource)
{
    for (auto* const h : of(resource)) {
        if (what == core::watched::lock)
            h->may_be_gone(node);
        if (what == core::watched::lock || what == core::watched::readers)
            h->others_changed();
    }
}

void holdings::tell_to_stop() noexcept
{
    for (auto it = all_.begin(); it != all_.end();) {
        auto const h = (it++)->kept_;
        h->told_to_stop();
    }
}

void holdings::abandon()
{
    while (!all_.empty()) {
        auto const h = std::exchange(all_.front().kept_, nullptr);
        all_.pop_front();
        h->abandon();
    }
    held_.clear();
}

}  // namespace redlock::detail
