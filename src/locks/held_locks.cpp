#include "locks/held_locks.hpp"

#include "events/member_counters.hpp"

#include <algorithm>
#include <utility>

namespace redlock::inline v1::locks {

namespace {

constexpr std::size_t examined_max = 8;  // how many locks that share a resource are examined

}  // namespace

held_locks::held_locks(locks::waiters& w, quorum::cleaner& c, events::event_log& log, std::function<void()> released)
    : waiters_(w), cleaner_(c), log_(log), released_(std::move(released))
{
}

void held_locks::add(std::shared_ptr<held_lock_entry> h)
{
    try {
        for (auto const& resource : h->resources)
            add_to(resource, *h);
    } catch (...) {  // out of memory
        for (auto const& resource : h->resources)
            erase_from(resource, *h);
        throw;
    }
    all_.push_back(*h);
    events::bump<std::size_t>(held_now_, 1);
    events::bump(h->count[&lock_stats::acquired]);
    h->kept_ = std::move(h);
}

// The nodes have granted @p h, so they forgot any earlier lock that excludes it. Such a lock is removed here.
void held_locks::add_to(std::string const& resource, held_lock_entry& h)
{
    auto const [it, is_new] = held_.try_emplace(resource);
    auto& there = it->second;
    if (!is_new)
        name_after(it, resource);
    there.alone = nullptr;
    if (h.grant()->mode == mode::shared) {
        there.others.push_front(h);
        there.wanted += h.is_wanted() ? 1 : 0;
        return;
    }
    there.keep_out.clear();
    there.others.clear();
    there.wanted = 0;
    there.alone = &h;
}

// The map's key is a view of the name in one of the held locks. @return whether @p h was there
bool held_locks::erase_from(std::string const& resource, held_lock_entry& h) noexcept
{
    auto const it = held_.find(resource);
    if (it == held_.end() || (it->second.alone != &h && !h.sharer::is_linked()))
        return false;
    auto& there = it->second;
    if (there.alone == &h) {
        there.alone = nullptr;
    } else {
        h.sharer::unlink();
        there.wanted -= h.is_wanted() ? 1 : 0;
    }
    if (there.empty()) {
        held_.erase(it);
    } else if (it->first.data() == resource.data()) {
        name_after(
            it,
            entry_of(there.keep_out.empty() ? there.others.front() : there.keep_out.front()).resources.names().front());
    }
    return true;
}

// Replaces the key by @p name: the same text, in a lock that stays.
void held_locks::name_after(by_resource::iterator it, std::string_view name) noexcept
{
    auto node = held_.extract(it);
    node.key() = name;
    held_.insert(std::move(node));
}

void held_locks::set_free(held_lock_entry& h, clock::time_point now)
{
    events::bump<std::size_t>(held_now_, -1);
    for (auto const& resource : h.resources) {
        if (!erase_from(resource, h))
            continue;
        auto const* const others = find(resource);
        if (!others && waiters_.freed(resource, now)) {
            h.grant()->hands_over = false;  // the next holder ends the hand-overs
            if (log_.observed())
                log_.tell(&observer::handed_over, {.when = now, .lock = h.number, .resource = resource}, h.kept_);
        }
        if (others)  // no node notifies this manager of its own changes
            find_excluding(*others, [](auto& other) { return other.others_changed(), false; });
    }
}

void held_locks::remove(held_lock_entry& h)
{
    all_.erase(all_.iterator_to(h));
    h.kept_.reset();
}

void held_locks::give_away(held_lock_entry& h) noexcept
{
    auto const keep = h.kept_;
    if (!h.give_back())
        return;
    try {
        if (h.leaves_keys())
            h.grant()->withdraw();  // a key that is set from now on would belong to nobody
        else
            cleaner_.clean_up(h.grant(), h.longest_ttl());
        released_();
    } catch (...) {  // out of memory: the key stays until its ttl is over
    }
}

held_locks::holders const* held_locks::find(std::string_view resource) const
{
    auto const it = held_.find(resource);
    return it == held_.end() ? nullptr : &it->second;
}

held_lock_entry& held_locks::entry_of(sharer const& s) noexcept
{
    return static_cast<held_lock_entry&>(const_cast<sharer&>(s));
}

// Returns the first lock that can exclude readers and meets the condition, or null.
template <class Condition>
held_lock_entry* held_locks::find_excluding(holders const& there, Condition is_it)
{
    if (there.alone)
        return is_it(*there.alone) ? there.alone : nullptr;
    auto const it = std::ranges::find_if(there.keep_out, [&](auto& s) { return is_it(entry_of(s)); });
    return it == there.keep_out.end() ? nullptr : &entry_of(*it);
}

// Thousands may share a resource, so this examines only a few. The waiter looks again when those have ended.
std::optional<clock::time_point> held_locks::held_until(std::span<std::string const> resources,
                                                        redlock::mode wanted) const
{
    std::optional<clock::time_point> until;
    auto const see = [&](held_lock_entry const& h) { until = std::max(until, std::optional(h.valid_until())); };
    for (auto const& resource : resources) {
        auto const* const there = find(resource);
        if (!there)
            continue;
        find_excluding(*there, [&](auto& h) {
            if (h.held() && (wanted == mode::exclusive || h.keeps_readers_out()))
                see(h);
            return false;
        });
        auto left = examined_max;
        for (auto it = there->others.begin(); wanted == mode::exclusive && left > 0 && it != there->others.end();
             ++it) {
            if (auto const& h = entry_of(*it); h.held()) {
                see(h);
                --left;
            }
        }
    }
    return until;
}

bool held_locks::held_alone(resource_set const& resources) const
{
    return std::any_of(resources.begin(), resources.end(), [this](auto& resource) {
        auto const* const there = find(resource);
        return there && find_excluding(*there, [](auto& h) { return h.held() && h.mode() == mode::exclusive; });
    });
}

bool held_locks::upgrade_waits(std::string_view resource) const
{
    auto const* const there = find(resource);
    return there && find_excluding(*there, [](auto& h) {
               return h.held() && h.keeps_readers_out() && h.mode() != mode::exclusive;
           });
}

// Examines only the latest locks. If none can be joined, the caller acquires a lock of its own, which is then the
// latest.
std::shared_ptr<handle_state> held_locks::join(std::string const& resource, acquire_options const& options,
                                               clock::time_point called, bool passes) const
{
    auto const* const there = find(resource);
    if (!there || (!passes && there->wanted > 0) || upgrade_waits(resource))
        return nullptr;
    auto left = examined_max;
    for (auto it = there->others.begin(); left > 0 && it != there->others.end(); ++it, --left) {
        if (auto more = entry_of(*it).join(options, called))
            return more;
    }
    return nullptr;
}

void held_locks::changed(core::watched what, std::size_t node, std::string_view resource)
{
    auto const* const there = find(resource);
    if (!there || (what != core::watched::lock && what != core::watched::readers))
        return;
    find_excluding(*there, [&](auto& h) {
        if (what == core::watched::lock)
            h.key_may_be_gone(node);
        h.others_changed();
        return false;
    });
    for (auto it = there->others.begin(); what == core::watched::lock && it != there->others.end(); ++it)
        entry_of(*it).key_may_be_gone(node);
}

void held_locks::changed_mode(held_lock_entry& h)
{
    auto const it = held_.find(h.resources.names().front());
    if (it == held_.end() || !h.sharer::is_linked())
        return;
    h.sharer::unlink();
    (h.keeps_readers_out() ? it->second.keep_out : it->second.others).push_front(h);
}

void held_locks::tell_to_stop() noexcept
{
    for (auto it = all_.begin(); it != all_.end();) {
        auto const h = (it++)->kept_;
        h->stop();
    }
}

void held_locks::abandon()
{
    while (!all_.empty()) {
        auto const h = std::exchange(all_.front().kept_, nullptr);
        all_.pop_front();
        h->abandon();
    }
    held_.clear();
}

}  // namespace redlock::locks
