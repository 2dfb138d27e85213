// What is counted and told of a lock that is held.

#include "locks/explain.hpp"
#include "locks/held_lock.hpp"

#include <memory>
#include <string>
#include <utility>

namespace redlock::inline v0::detail {

void tell_extension(held_lock const& l, error_code ec, bool automatic) noexcept
try {
    auto const& events = l.state->events;
    if (!events || !l.validity.is(held_lock::condition::held))
        return;
    auto const now = l.state->now();
    auto const left = l.validity.left(now);
    if (!ec) {
        events.tell(&observer::extended,
                    {.when = now, .lock = l.number, .resources = l.resources, .automatic = automatic, .validity = left},
                    l.shared_from_this());
        return;
    }
    struct kept {
        std::string why;
        std::shared_ptr<held_lock const> names;
    };
    auto const& why = ec == errc::no_quorum ? l.lost_because() : std::string();
    auto const k = std::make_shared<kept const>(kept{why, l.shared_from_this()});
    events.tell(&observer::extension_failed,
                {.when = now,
                 .lock = l.number,
                 .resources = l.resources,
                 .automatic = automatic,
                 .reason = ec,
                 .why = k->why,
                 .validity = left},
                k);
} catch (...) {  // out of memory: an event less
}

// From then on nobody changes the words.
void tell_loss(held_lock const& l, clock::time_point now) noexcept
{
    bump(l.count[&lock_stats::lost]);
    l.count[&lock_stats::time_held].add(now - l.acquired);
    auto const& why = l.lost_because();
    l.state->log(log_level::warning, "lost {}: {}", std::string_view(shown_name(l.resources)), why);
    if (l.state->events)
        l.state->events.tell(&observer::lost,
                             {.when = now,
                              .lock = l.number,
                              .resources = l.resources,
                              .why = why,
                              .held_for = now - l.acquired},
                             l.shared_from_this());
}

void tell_end(held_lock const& l, clock::time_point now) noexcept
{
    bump(l.count[l.is_detached() ? &lock_stats::detached : &lock_stats::released]);
    l.count[&lock_stats::time_held].add(now - l.acquired);
    if (!l.is_detached())
        l.count[&lock_stats::validity_left].add(l.valid_until() - now);
    if (!l.state->events)
        return;
    auto const tell = [&]<class Event>(void (observer::*what)(Event const&)) {
        l.state->events.tell(what,
                             {.when = now,
                              .lock = l.number,
                              .resources = l.resources,
                              .held_for = now - l.acquired,
                              .validity = l.validity.left(now)},
                             l.shared_from_this());
    };
    if (l.is_detached())
        tell(&observer::detached);
    else
        tell(&observer::released);
}

}  // namespace redlock::detail
