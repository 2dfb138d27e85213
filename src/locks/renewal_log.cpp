#include "locks/renewal_log.hpp"

#include <memory>
#include <string>
#include <utility>

namespace redlock::inline v1::locks {

namespace {

// If renewals fail and recover again and again, the log gets at most one pair of lines in this time.
constexpr std::chrono::seconds at_least{1};

}  // namespace

void renewal_log::failed(bool& note, std::uint64_t lock, resource_set const& resources, std::string_view why) noexcept
{
    if (!std::exchange(note, true))
        ++failing_;
    if (!std::exchange(told_, true))
        begin_to_fail(lock, resources, why);
    ++failures_;
}

void renewal_log::begin_to_fail(std::uint64_t lock, resource_set const& resources, std::string_view why) noexcept
{
    since_ = runtime_.now();
    failures_ = lost_ = 0;
    struct kept {
        resource_set names;
        std::string why;
    };
    try {
        auto const k = std::make_shared<kept const>(kept{resources, std::string(why)});
        log_.announce(&observer::renewals_failing, {.when = since_, .lock = lock, .resources = k->names, .why = k->why},
                      k);
    } catch (...) {  // out of memory: drop the event
    }
}

void renewal_log::succeeded(bool& note) noexcept
{
    ended(note, false);
    if (told_ && failing_ == 0 && runtime_.now() - since_ >= at_least)
        are_well();
}

void renewal_log::are_well() noexcept
{
    told_ = false;
    auto const now = runtime_.now();
    log_.announce(&observer::renewals_well, {.when = now, .after = now - since_, .failures = failures_, .lost = lost_},
                  {});
}

void renewal_log::ended(bool& note, bool lost) noexcept
{
    if (std::exchange(note, false))
        --failing_;
    if (lost)
        ++lost_;
}

}  // namespace redlock::locks
