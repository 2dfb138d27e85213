// The statistics and events of held locks.

#include "locks/held_lock.hpp"

#include <memory>
#include <string>
#include <utility>

namespace redlock::inline v1::locks {

void tell_extension(held_lock const& l, error_code ec, bool automatic, std::chrono::nanoseconds slack) noexcept
try {
    auto& log = l.state->log;
    bool const has_line = ec && automatic;
    if (!l.validity.is(held_lock::condition::held) || !(has_line || log.observed()))
        return;
    auto const now = l.state->now();
    auto const left = l.validity.left(now);
    if (!ec) {
        log.tell(&observer::extended,
                 {.when = now,
                  .lock = l.number,
                  .resources = l.resources,
                  .automatic = automatic,
                  .validity = left,
                  .slack = slack},
                 l.shared_from_this());
        return;
    }
    struct kept {
        std::string why;
        std::shared_ptr<held_lock const> names;
    };
    auto const& why = ec == errc::no_quorum ? l.lost_because() : std::string();
    auto const k = std::make_shared<kept const>(kept{why, l.shared_from_this()});
    events::extension_failed const e{.when = now,
                                     .lock = l.number,
                                     .resources = l.resources,
                                     .automatic = automatic,
                                     .reason = ec,
                                     .why = k->why,
                                     .validity = left};
    if (automatic)
        log.announce(&observer::extension_failed, e, k);
    else
        log.tell(&observer::extension_failed, e, k);
} catch (...) {  // out of memory: drop the event
}

// The event views `lost_because()`, which nobody changes after the loss.
void tell_loss(held_lock const& l, loss reason, clock::time_point now) noexcept
{
    events::bump(l.count[&lock_stats::lost]);
    events::bump(reason == loss::refused    ? l.count[&lock_stats::lost_refused]
                 : reason == loss::max_hold ? l.count[&lock_stats::lost_max_hold]
                                            : l.count[&lock_stats::lost_expired]);
    l.count[&lock_stats::time_held].add(now - l.acquired);
    l.state->log.announce(&observer::lost,
                          {.when = now,
                           .lock = l.number,
                           .resources = l.resources,
                           .why = l.lost_because(),
                           .held_for = now - l.acquired,
                           .reason = reason,
                           .owner = l.state->owner},
                          l.shared_from_this());
}

void tell_end(held_lock const& l, clock::time_point now) noexcept
{
    events::bump(l.is_detached() ? l.count[&lock_stats::detached] : l.count[&lock_stats::released]);
    l.count[&lock_stats::time_held].add(now - l.acquired);
    if (!l.is_detached())
        l.count[&lock_stats::validity_left].add(l.valid_until() - now);
    if (!l.state->log.observed())
        return;
    auto const tell = [&]<class Event>(void (observer::*what)(Event const&)) {
        l.state->log.tell(what,
                          {.when = now,
                           .lock = l.number,
                           .resources = l.resources,
                           .held_for = now - l.acquired,
                           .validity = l.validity.left(now),
                           .owner = l.state->owner},
                          l.shared_from_this());
    };
    if (l.is_detached())
        tell(&observer::detached);
    else
        tell(&observer::released);
}

}  // namespace redlock::locks
