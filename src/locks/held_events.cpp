// What is counted and told of a lock that is held.

#include "locks/explain.hpp"
#include "locks/held_lock.hpp"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>

namespace redlock::inline v0::detail {

clock::duration held_lock::validity(clock::time_point now) const noexcept
{
    return std::max(valid_until() - now, clock::duration::zero());
}

void held_lock::tell_extension(error_code ec, bool automatic) const noexcept
try {
    if (!state->events || condition_.load(std::memory_order_acquire) != condition::held)
        return;
    auto const now = state->now();
    if (!ec) {
        state->events.tell(&observer::extended,
                           {.when = now, .lock = number, .resources = resources, .automatic = automatic, .validity = validity(now)},
                           shared_from_this());
        return;
    }
    struct kept {
        std::string why;
        std::shared_ptr<held_lock const> names;
    };
    auto const k = std::make_shared<kept const>(kept{ec == errc::no_quorum ? trouble_ : std::string(), shared_from_this()});
    state->events.tell(&observer::extension_failed,
                       {.when = now,
                        .lock = number,
                        .resources = resources,
                        .automatic = automatic,
                        .reason = ec,
                        .why = k->why,
                        .validity = validity(now)},
                       k);
} catch (...) {  // out of memory: an event less
}

// From then on nobody changes the words.
void held_lock::tell_loss(clock::time_point now) noexcept
{
    bump(count[&lock_stats::lost]);
    count[&lock_stats::time_held].add(now - acquired_);
    state->log(log_level::warning, "lost {}: {}", std::string_view(shown_name(resources)), trouble_);
    if (state->events)
        state->events.tell(&observer::lost,
                           {.when = now, .lock = number, .resources = resources, .why = trouble_, .held_for = now - acquired_},
                           shared_from_this());
}

void held_lock::tell_end(clock::time_point now) noexcept
{
    bump(count[is_detached() ? &lock_stats::detached : &lock_stats::released]);
    count[&lock_stats::time_held].add(now - acquired_);
    if (!is_detached())
        count[&lock_stats::validity_left].add(valid_until() - now);
    if (!state->events)
        return;
    if (is_detached())
        state->events.tell(&observer::detached,
                           {.when = now, .lock = number, .resources = resources, .held_for = now - acquired_, .validity = validity(now)},
                           shared_from_this());
    else
        state->events.tell(&observer::released,
                           {.when = now, .lock = number, .resources = resources, .held_for = now - acquired_, .validity = validity(now)},
                           shared_from_this());
}

}  // namespace redlock::detail
